// Package render makes pictures of frames and measures, graphs, and video that every player plays.
//
// It is the last stage. Callers that read a recording pass images and results. Its output is not
// measured: a video is compressed with loss and scaled down.
//
//	frames                  WritePNG, Video, WritePair (two runs side by side), Filmstrip
//	a frame and evidence    EvidencePicture: tears, checkerboard
//	how often pixels change HeatPicture, HeatDifference; WriteNPY, WriteDifferenceNPY for the numbers
//	series                  ProgressGraph, FrameTimeGraph: SVG and PNG
//
// A [Video] has a constant rate, that of the signal: each slot is one period. A missing frame gets
// a hatched slot, so that time in the video is time on the screen. NAME.mp4.json beside NAME.mp4
// maps slots to captured frames ([Map], pairMap). Keyframes come every second. The text of a
// video about its frames ([Overlay]) is in a bar below them and hides no pixel.
//
// The package is pure Go. eideticker-media encodes videos: it gets the changes of each slot, scales
// and encodes it. Without that program [NewVideo] and [WritePair] return an error that wraps
// errors.ErrUnsupported.
//
// Images are read during a call and not kept. Memory does not grow with the number of frames,
// except for the index of a video in eideticker-media. A Video or Filmstrip belongs to one
// goroutine. A Video must be closed. Functions may be called from several goroutines.
package render
