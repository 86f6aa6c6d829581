// Package marker finds the sync markers: the full green before and the full red after what is
// measured, and in between the frames at which a measure begins and ends.
//
// Place in the flow: a [Detector] is fed every frame of a recording in order, with how it changed, and returns one
// [Window] for each green that a red follows. Measures work within a window.
//
// # Definitions
//
//	g  Green  last frame of the held green
//	s  Start  first frame that differs from the held green; a torn green counts
//	e  End    last content frame without any red
//	r  Red    first full red frame
//	R  Region bounding box of the green, the same in at least 3 frames
//
// A pixel is green if its green stands out of red and blue by at least [chroma] and red and blue
// differ by little; red likewise. That looks at colour differences only, so that full range, limited
// range, a range compressed twice (30…218) and noise of ±6 pass alike. A marker is full if at
// least 99 % of R's pixels have its colour, and held if it is full in at least 3 frames.
//
// A held green whose frames are equal bit by bit ends with the first frame that changes anything in R. If its
// frames differ from each other there is noise, and it ends with the first frame in which more pixels
// than before stray from its mean colour by more than [Options.Tolerance].
//
// A red that appears in rows and not yet everywhere is torn; up to 3 such frames before r belong
// to neither content nor marker. Full-width red that stands longer is content.
//
// # Cost and ownership
//
// A frame that did not change costs nothing; one that did is sampled, and read whole only if the
// samples leave a marker possible. Nothing keeps a frame, nothing is allocated per frame. A Detector belongs to one
// goroutine.
package marker
