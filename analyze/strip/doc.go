// Package strip reads the code strip that test pages and scenes draw into every frame, and accounts
// for its ids.
//
// The strip shows the page's own count of its frames to the recorder. It reveals drawn frames that
// never reached the screen, were seen twice, or were seen in a few rows only. This needs no trusted
// clock. The strip is read from frames as captured. It never counts as content.
//
// # Geometry (normative)
//
// Within a content region of width W and height H pixels:
//
//	cell   = W/100 rounded down, at least 2, at most 8 pixels: side of a square cell
//	copies = 5, each one row of 96 cells, its left edge at the region's left edge
//	top(k) = k·(H − cell)/4 rounded down, k = 0…4: first row of copy k
//
// Copy 0 touches the top of the region and copy 4 its bottom. W must be at least 192 and H at least
// 5·cell. A white cell is a one, a black cell a zero. These are the cells of a copy, left to right.
// Numbers have their most significant bit first.
//
//	 0…7   lead   10110010;
//	 8…31  id     number of the drawn frame, counted by the page from 0, modulo 2²⁴;
//	32…55  clock  the page's clock in milliseconds, modulo 2²⁴;
//	56…71  free   page number (8 bits), then 8 bits for other data;
//	72…87  crc    CRC-16/CCITT-FALSE (polynomial 0x1021, start 0xffff) over cells 8…71 as 8 bytes;
//	88…95  tail   01001101, the lead inverted.
//
// All copies of one drawn frame are equal. The sync markers have no strip, but may have copy 0
// alone, with the run's [MarkerCode]. [Spec] is the same as JSON, for pages.
//
// # Finding the strip
//
// A [Decoder] reads the places of the geometry, in a picture that arrives as it was drawn. A
// [Finder] finds copies in a picture that was scaled, shifted or cropped, and returns their places.
// [Placed] then reads them there, frame after frame.
//
// # Parts
//
// A recording can be read in parts on several goroutines. Each part has an [Account] of its own.
// [Account.Merge] joins them in the order of frames, and equals one account of all.
//
// # Ownership
//
// A [Decoder], a [Finder], a [Placed] and an [Account] belong to one goroutine each. A [Reading] is
// valid until the decoder's next Read. The package keeps no frames. Frames are untrusted input: any
// bytes may come, and none may panic.
package strip
