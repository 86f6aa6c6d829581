// Package recording is the .eid file: frames, gaps, events and metadata on one clock. The file is
// append-only and checks itself. It is readable while it grows and can be repaired in place.
// FORMAT.md defines every byte of it.
//
// A frame's way to disk:
//
//  1. [Writer.WriteFrame] compares it with the previous frame (package rowdelta) and plans a
//     record. The processors share its rows. Only in this step do frames wait for each other.
//  2. Packers compress the record's blocks, several at once.
//  3. The committer puts records into the file in planned order. It alone knows the offsets of
//     blocks, so it writes the tables: checkpoints, indexes and the directory.
//  4. The sink writes large aligned buffers, past the page cache if possible. It makes them durable
//     twice a second, or on request.
//
// And back:
//
//   - [Open] reads the indexes, then scans the records after the last one. It reads no pixel.
//   - [Reader.Image] finds the blocks of one frame's rows, from the checkpoint before it and the
//     deltas since. It reads just those blocks.
//   - [Reader.Play] decodes frames in turn. [Reader.Timeline] iterates over their changes without
//     decoding.
//   - [Verify] reads everything. [Repair] completes a recording that was not closed.
//
// These rules keep data safe. A flush always fills its last block of 4096 bytes, so durable bytes
// are never written again. Each record carries its own offset and the file's tag, so stale bytes
// are not read as a record. Each sync record states the durable size before it, so recovery reads
// only later bytes. A reader uses a number from a file only after checking it against a checksum
// and a limit.
package recording
