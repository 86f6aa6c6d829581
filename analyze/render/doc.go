// Package render makes what people look at: pictures of frames and of measures, graphs, and video
// that plays anywhere.
//
// Place in the flow: last. It is given images and results by whoever reads a recording; it never
// sees a path to one, and nothing is measured from what it makes: a video is compressed with loss
// and scaled down.
//
//	frames                  WritePNG, Video, WritePair (two runs beside each other), Filmstrip
//	a frame and evidence    EvidencePicture: tears, checkerboard
//	how often pixels change HeatPicture, HeatDifference; WriteNPY and WriteDifferenceNPY for the numbers
//	series                  ProgressGraph, FrameTimeGraph: SVG and PNG
//
// A [Video] has a constant rate, that of the signal: each slot is one period. A frame that is
// missing from the recording gets a hatched slot, so that time in the video is time on the screen.
// Beside NAME.mp4 stands NAME.mp4.json, which says which captured frame each slot shows ([Map],
// [PairMap]). Keyframes come every second. What a video says about its frames ([Overlay]) stands in
// a bar below them and hides nothing.
//
// The package is pure Go. eideticker-media encodes videos: it gets what changes of each slot,
// scales and encodes it. Without that program [NewVideo] and [WritePair] return an error that wraps
// errors.ErrUnsupported.
//
// Images are read while a call runs and not kept, and no memory grows with the number of frames,
// except for the index of a video in eideticker-media. A Video or Filmstrip belongs to one
// goroutine. A Video must be closed. Functions may be called from several goroutines.
package render
