// Package recorder opens sources by URI and records them into files.
//
// The command line calls it. Its data goes
//
//	capture.Source → ringbuf.Ring → pump → recording.Writer
//
// with one goroutine for the source and one for the pump. The writer has workers of its own.
// [Record] makes one recording, [RecordAll] several at once.
//
// A recorder is one recording. It runs a stage for each format of the signal: a ring, a run of the
// source and of the pump, and a segment of the file. The pump's account continues from stage to
// stage.
//
// A [Watcher] gets the frames while they are recorded, with the changes that the writer found. It
// has a goroutine of its own. It can occupy slots of the ring. It is given up before it can cost a
// frame.
//
// # Ownership
//
// Record owns the rings' memory, its goroutines and the file from its call to its return. The
// caller owns the source and closes it. A recording leaves nothing running after Record. A source
// never has more than one ring.
//
// # Invariants
//
//   - stored + missing = last − first + 1 in sequence numbers, for every recording. Record counts
//     both sides on its own and fails if they differ.
//   - Each missing frame has a cause.
//   - The pump does not allocate per frame.
//   - Stopping, in any way, keeps every frame that the source had committed to the ring.
package recorder
