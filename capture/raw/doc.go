// Package raw reads frames from plain files and pipes: raw bytes and Y4M. It also writes Y4M.
//
// It is a source without a clock: every frame is delivered, and a slow disk slows the reading.
// Frame n has sequence number n and the time n × period on the file's own clock.
//
// Frames are read directly into the ring's slots. Open rejects a regular file whose size is not a
// whole number of frames. A pipe has no known size. If it ends inside a frame, the whole frames
// before are delivered and Run returns an error that wraps io.ErrUnexpectedEOF.
//
// # Y4M
//
// A stream is one header line, then for each frame a line and the planes without padding. The lines
// can carry facts that pixels do not: interlacing, aspect and colour tags. They are kept as
// metadata [HeaderMetadata], so that the same file can be written again.
//
// The metadata is a JSON string with the header line. If any frame's line is not plain "FRAME", a
// line feed and the lines of all frames follow. The last line also applies to all later frames. The
// string does not end with a line feed.
//
// Of a pipe, only the first frame's line is known before the run. A later line that differs is sent
// as an event frameLineEvent.
//
// The package starts no goroutine. A source's methods belong to one goroutine.
package raw
