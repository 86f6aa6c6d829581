// Package render makes what people look at: pictures of single frames, and a video that plays
// anywhere.
//
// Place in the flow: last. It is given images, one after the other, by whoever reads a recording; it never
// sees a path to one, and nothing is measured from what it makes: a video is compressed with loss and
// scaled down.
//
// A [Video] has a constant rate, that of the signal: each slot is one period. A frame that is missing from the
// recording gets a hatched slot, so that time in the video is time on the screen. Beside NAME.mp4
// stands NAME.mp4.json, which says which captured frame each slot shows ([Map]).
//
// Pictures are pure Go. Videos need OpenCV, so cgo; without it [NewVideo] returns an error that
// wraps errors.ErrUnsupported.
//
// Images are read while Add or WritePNG runs and not kept. A Video belongs to one goroutine and must be
// closed.
package render
