// Package recorder connects the parts: it opens sources by URI and records them into files.
//
// It stands in the program, between the command line and the packages that do the work. Its
// data goes
//
//	capture.Source → ringbuf.Ring → pump → recording.Writer
//
// with one goroutine for the source and one for the pump. The writer has workers of its own.
// [Record] makes one recording, [RecordAll] several at once.
//
// A recorder is one recording. It goes through stages, one for each format that the signal has: a
// ring, a run of the source and of the pump, a segment of the file. The pump's account goes on from
// stage to stage.
//
// A [Watcher] is shown the frames while they are recorded, on a goroutine of its own, with the
// changes that the writer has found. It can cost slots of the ring; before it can cost a frame it
// is given up.
//
// # Ownership
//
// Record owns the rings' memory, its goroutines and the file from its call to its return; the
// source stays the caller's, who closes it. Nothing of a recording runs on after Record. Never is
// there more than one ring for a source.
//
// # Invariants
//
//   - stored + missing = last − first + 1 in sequence numbers, for every recording, whatever
//     happened to it. Record counts both sides on its own and fails if they differ.
//   - Each missing frame has a cause.
//   - The pump allocates nothing per frame.
//   - Stopping, in any way, loses nothing that the source had committed to the ring.
package recorder
