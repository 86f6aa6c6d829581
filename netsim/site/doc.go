// Package site serves our own test pages. They are small and embedded, and each has a manifest of
// its truth.
//
// A page shows green, plays its content and shows red, the sync markers of the measures. While it
// plays, its code strip identifies each frame. Afterwards it reports to the site what it drew and
// when. It gets the next page of the playlist in return, so one browser plays a whole run by
// itself.
//
// The program makes a [Site] for a run, serves it ([Over]) and gives the browser [Server.URL]. It
// takes one [Report] per page from [Site.Next]. Reports carry times on the rig's clock. Before the
// green, a page asks the site for the time. Each answer bounds the offset between the two clocks.
//
// The decoder owns the strip's geometry. It is passed as a JSON value ([Options.Strip]), which the
// pages get unchanged.
//
// # The pages and their truth
//
// A page's manifest ([Page]) describes its planned drawing. Its report has the drawn pictures
// ([Truth]) and the page's own claims, right or wrong. An id of the strip is a picture that differs
// from the previous one.
//
//	framerate    a new picture in every animation frame, in every second one, in an uneven known
//	             order, and in every third while callbacks are claimed as frames;
//	             on a canvas, by CSS, in a video and by WebGL;
//	load         blocks, letters, a spinner and a late picture in known steps; counts final pixels;
//	gallery      47 pictures, each shown when it has arrived; counts final pixels;
//	tearing      a set of pairwise disjoint images (tearingImage) drawn by elements, a canvas,
//	             a video, and all three in bands;
//	checkerboard tiles that show a grid of two colours until they are painted; counts grid pixels;
//	animation    everything moves, with soft edges;
//	zoom         a landscape that is moved and enlarged by known steps;
//	window       the same in each size that its window gets; it draws no markers;
//	pingpong, typing, hover, scroll
//	             pages that wait for input and answer it. They report the input's time and the
//	             picture that was the answer ([Report].Answers).
//
// On the tearing pages, each layer draws its own copies of the strip. A video has them in its
// pictures. So a frame whose copies disagree shows parts of two pictures, whatever way each layer
// took to the screen. A copy's id is true for the rows around it.
//
// # The code on the markers
//
// With [Options.MarkCode], green and red carry copy 0 of the strip, at the top of the region only.
// That is less than one part in a hundred of the marker. Its id and clock are those of [MarkCode],
// from the run's nonce. The free bits are the page number times 256, plus [MarkGreen] or [MarkRed].
// The code appears with the first frame in which the page has its script, and goes with the green.
// A marker may be seen without it shortly before.
//
// # Trust
//
// Data from the browser is untrusted. Requests are matched against a fixed table of names, so paths
// cannot be traversed. Bodies are bounded, and reports are checked field by field. A report counts
// only with the run's nonce, once, and in the order of the playlist. A *claim* of a report stays a
// claim: it is kept beside the measured value and never replaces it.
//
// A Site is safe for use from several goroutines and starts none.
package site
