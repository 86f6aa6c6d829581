// Package site serves our own test pages: small, embedded, each with a manifest of its truth.
//
// A page stands green, plays its content, and stands red, as the sync markers of the
// measures want it; while it plays, the code strip in it says which of its frames is shown. When it
// is done it reports to the site what it drew and when, and gets the next page of the
// playlist in return, so that one browser plays a whole run by itself.
//
// Place in the flow: the program makes a [Site] for a run, serves it ([Over]), gives the browser
// [Server.URL], and takes one [Report] per page from [Site.Next]. Reports carry times on the rig's
// clock: before the green, a page asks the site for the time, and each answer bounds the offset
// between the two clocks.
//
// The geometry of the strip belongs to whoever decodes it and comes in as a JSON value
// ([Options.Strip]) that is handed to the pages as it is.
//
// # The pages and their truth
//
// What a page will draw is in its manifest ([Page]); what it has drawn, picture by picture, in its
// report ([Truth]); what it says of itself, right or wrong, are the report's claims. An id of the
// strip stands for a picture that differs from the one before.
//
//	framerate    a new picture in every animation frame, in every second, in an uneven known order, and in every
//	             third while callbacks are claimed as frames; on a canvas, by CSS, in a video, by WebGL
//	load         blocks, letters, a spinner and a late picture in known steps; counts the pixels that are final
//	gallery      47 pictures, each shown when it has come over the network; counts the pixels that are final
//	tearing      pairwise disjoint images drawn by elements, a canvas, a video, and all three at once
//	checkerboard tiles that show a grid of two colours until they are painted; counts the pixels of the grid
//	animation    everything moves, with soft edges
//	zoom         a landscape that is moved and enlarged by known steps
//	window       the same in each size that its window gets; it draws no markers
//	pingpong, typing, hover, scroll
//	             pages that wait for input and answer it: when they were told, and which picture was the answer ([Report].Answers)
//
// On the tearing pages, each layer draws the copies of the strip that lie in it, a video into its
// own pictures. So a frame whose copies disagree shows parts of two pictures, whatever way each
// layer took to the screen; and what one copy says is true of the rows around it.
//
// # The code on the markers
//
// With [Options.MarkCode], green and red carry copy 0 of the strip, at the top of the region and
// nowhere else, which is less than one part in a hundred of the marker. Of its numbers, id and
// clock are those of [MarkCode], that is of the run's nonce; the free bits are the page number
// times 256, plus [MarkGreen] or [MarkRed]. The code is there from the first frame in which the
// page has its script, and goes with the green: a marker may be seen without it shortly before.
//
// # What is trusted
//
// Nothing that comes from the browser. Requests are matched against a fixed table of names (there
// is no path to traverse), bodies are bounded, reports are checked field by field, and count only
// with the run's nonce, once, and in the order of the playlist. What a report *claims* stays a
// claim: it is kept beside what was measured and never replaces it.
//
// A Site is safe for use from several goroutines and starts none.
package site
