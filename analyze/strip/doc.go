// Package strip reads the code strip that our test pages and scenes draw into every frame, and
// accounts for what it says.
//
// The strip makes a page's own count of its frames visible to the recorder: a frame that was drawn
// and never reached the screen, one that was seen twice, one of which only a few rows were seen,
// all follow from it without trusting anybody's clock. It is read from frames as they were
// captured; it never counts as content.
//
// # Geometry (normative)
//
// Within a content region of width W and height H pixels:
//
//	cell   = W/100 rounded down, at least 2, at most 8 pixels: side of a square cell
//	copies = 5, each one row of 96 cells, its left edge at the region's left edge
//	top(k) = k·(H − cell)/4 rounded down, k = 0…4: first row of copy k
//
// so copy 0 touches the top of the region and copy 4 its bottom. W must be at least 192 and H at
// least 5·cell. A white cell is a one, a black cell a zero. The cells of a copy, left to right,
// numbers with their most significant bit first:
//
//	 0…7   lead   10110010
//	 8…31  id     number of the drawn frame, counted by the page from 0, modulo 2²⁴
//	32…55  clock  the page's clock in milliseconds, modulo 2²⁴
//	56…71  free   page number (8 bits), then 8 bits for other data
//	72…87  crc    CRC-16/CCITT-FALSE (polynomial 0x1021, start 0xffff) over cells 8…71 as 8 bytes
//	88…95  tail   01001101, the lead inverted
//
// All copies of one drawn frame are equal. On the sync markers no strip is drawn, but copy 0 may
// be, alone, with the run's [MarkerCode]. [Spec] is the same as JSON, for pages.
//
// # Finding it
//
// A [Decoder] looks where the geometry says, in a picture that comes as it was drawn. A [Finder]
// looks for copies in a picture that was scaled, shifted or cropped on its way, and says where they
// are; [Placed] then reads them there, frame after frame.
//
// # Parts
//
// A recording can be read in parts on several goroutines: each part has an [Account] of its own,
// and [Account.Merge] joins them in the order of frames, as if one account had taken all.
//
// # Ownership
//
// A [Decoder], a [Finder], a [Placed] and an [Account] belong to one goroutine each; a [Reading] is
// valid until the decoder's next Read. Nothing here keeps a frame. Frames are outside input: any
// bytes may come, none may panic.
package strip
