// Package marker finds the sync markers: the full green before the measured content and the full
// red after it. It also finds the frames at which a measure begins and ends.
//
// A [Detector] gets every frame of a recording in order, with its change. It returns one [Window]
// for each green that a red follows. [Find] does so for a recording, and a live rig frame by frame.
// Measures work within a window. If no red comes, [FindStill] finds the end of the content.
//
// # Definitions
//
//	g  Green  last frame of the held green
//	s  Start  first frame that differs from the held green; a torn green counts
//	e  End    last content frame without any red
//	r  Red    first full red frame
//	R  Region common part of the green's and the red's box
//
// A pixel is green if its green exceeds red and blue by at least [chroma]. Its red and blue must
// differ by little. Red is defined likewise. Only colour differences matter. So full range, limited
// range, a range compressed twice (30…218) and noise of ±6 all pass. A marker is full if at least
// 99 % of a region's pixels have its colour. It is held if it is full in at least 3 frames. Its
// region is its bounding box.
//
// If the frames of a held green are equal, it ends with the first change of its box. If its frames
// differ, they have noise. Then pixels are counted that differ from its mean colour by more than
// [Options.Tolerance]. The green ends with the first frame that has more of them than before.
//
// A red that is in some rows only is torn. Up to 3 such frames before r belong to neither content
// nor marker. A full-width red that lasts longer is content.
//
// # Bars that slide
//
// While green is held, its box may change, since a browser's bars come and go. The last box that
// was the same in 3 frames counts. A frame in which the green has lost its edge begins the content,
// unless the green is held again. It must then be in the same box, or in one with at least three
// quarters of the previous one.
//
// A red may leave free an edge of R, from side to side. It is accepted if it is held and no other
// red comes before the next green or the end. R is then the common part of both boxes: outside of
// it, a bar at one end would be measured as content. s is the first frame that differs anywhere in
// the green's box. Each of these is a warning of the window.
//
// # Codes
//
// A page may draw copy 0 of the code strip on its markers ([strip.MarkerCode]). If it can be read,
// its place counts neither for a full marker nor as a change. The window contains the code. With
// [Options.Nonce] a marker of another run is refused.
//
// # Losses
//
// Missing frames are reported where they widen a bound: before s and before r. [Find] treats
// unreadable frames as missing, and reports that.
//
// # Cost and ownership
//
// Most frames are decided from their changes. Pixels are read where a marker may be, come or go;
// looks.go explains how. So a page with a video costs some five decoded frames. Noise, or a picture
// that moves as a whole, costs each frame. The package keeps no frame and does not allocate per
// frame. A Detector belongs to one goroutine.
package marker
