// Package raw delivers frames from plain files and pipes: raw bytes, and Y4M. It writes Y4M too.
//
// It stands at the very beginning of the flow, beside the other sources, and is not on a
// clock: every frame is delivered, and a slow disk slows the reading. Frame n has sequence
// number n and the time n × period on the file's own clock.
//
// Frames are read straight into the ring's slots. A regular file is measured before anything is
// recorded: one that is not made of whole frames is refused by Open. A pipe cannot be measured;
// when it ends inside a frame, the whole frames before are delivered and Run returns an error that
// wraps io.ErrUnexpectedEOF.
//
// # Y4M
//
// A stream is one header line, and for each frame a line and the planes without padding. Both lines
// can carry what pixels don't tell: interlacing, aspect, colour tags. To write the same file again
// they are kept as metadata [HeaderMetadata]: a JSON string with the header line, followed, if any
// frame's line is not plain "FRAME", by a line feed and the frames' lines, one for each frame from
// the first on; the last one also stands for all frames after it. No line feed stands at the end.
//
// Of a pipe only the first frame's line is known beforehand. Where a later one differs from it an
// event [FrameLineEvent] is sent.
//
// The package starts no goroutine. A source's methods belong to one.
package raw
