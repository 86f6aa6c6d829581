// Package marker finds the sync markers: the full green before and the full red after what is
// measured, and in between the frames at which a measure begins and ends.
//
// Place in the flow: a [Detector] is given every frame of a recording in order, with how it
// changed, and returns one [Window] for each green that a red follows; [Find] does so for a
// recording, and a live rig frame by frame. Measures work within a window. Where no red comes,
// [FindStill] says where the content ends.
//
// # Definitions
//
//	g  Green  last frame of the held green
//	s  Start  first frame that differs from the held green; a torn green counts
//	e  End    last content frame without any red
//	r  Red    first full red frame
//	R  Region what the green covers and the red covers, too
//
// A pixel is green if its green stands out of red and blue by at least [chroma] and red and blue
// differ by little; red likewise. That looks at colour differences only, so that full range,
// limited range, a range compressed twice (30…218) and noise of ±6 pass alike. A marker is full if
// at least 99 % of a region's pixels have its colour, and held if it is full in at least 3 frames.
// Its region is its bounding box.
//
// A held green whose frames are equal bit by bit ends with the first frame that changes anything in
// its box. If its frames differ from each other there is noise, and it ends with the first frame in
// which more pixels than before stray from its mean colour by more than [Options.Tolerance].
//
// A red that appears in rows and not yet everywhere is torn; up to 3 such frames before r belong
// to neither content nor marker. Full-width red that stands longer is content.
//
// # Bars that slide
//
// While green is held, its box may change: a browser's bars come and go. What counts is the box
// that was last the same in 3 frames. A frame in which the green has lost its edge begins the
// content, unless the green is held again, in another box with at least three quarters of the one
// before or in the same. A red that leaves free an edge of R, from side to side, is believed if it
// is held and no other red comes before the next green or the end. Then R is what lies in both
// boxes: outside of it the bar that stands at one end would be measured as content. s is the first
// frame that differs anywhere in the green's box. Each of these is a warning of the window.
//
// # Codes
//
// A page may draw copy 0 of the code strip on its markers ([strip.MarkerCode]). Where it can be
// read its place counts neither for a full marker nor as a change, and what it says stands in the
// window. With [Options.Nonce] a marker of another run is refused.
//
// # Losses
//
// Frames that are missing are told where they widen a bound: before s and before r. [Find] takes
// frames that cannot be read for missing, and says so.
//
// # Cost and ownership
//
// Most frames are decided from their changes. Pixels are asked for where a marker may be, come or
// go; looks.go tells how that is known. So a page that plays a video costs some five decoded
// frames, and noise or a picture that moves as a whole each frame. Nothing keeps a frame, nothing
// is allocated per frame. A Detector belongs to one goroutine.
package marker
