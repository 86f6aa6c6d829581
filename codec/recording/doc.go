// Package recording is the .eid file: frames, gaps, events and metadata on one clock, in one
// append-only file that checks itself, is readable while it grows and can be repaired in place.
// FORMAT.md defines every byte of it.
//
// A frame's way to disk:
//
//  1. [Writer.WriteFrame] compares it with the frame before (package rowdelta), its rows shared out
//     among the processors, and plans a record. This is the only step in which frames wait for each
//     other.
//  2. Packers compress the record's blocks, several at once.
//  3. The committer puts records into the file in the order in which they were planned. It alone
//     knows where a block lies, so it writes the tables: checkpoints, indexes, the directory.
//  4. The sink writes large aligned buffers, past the page cache where it can, and makes them
//     durable twice a second, or when asked.
//
// And back:
//
//   - [Open] reads the indexes, then scans what was written after the last one. No pixel is
//     touched.
//   - [Reader.Image] finds where each row of one frame lies, from the checkpoint before it and the
//     deltas since, and fetches just those blocks.
//   - [Reader.Play] decodes frames in turn; [Reader.Timeline] goes through their changes without
//     decoding.
//   - [Verify] reads everything; [Repair] makes a recording that was not closed complete again.
//
// What keeps data safe: a flush always fills its last block of 4096 bytes, so nothing that was made
// durable is ever written again; each record carries its own offset and the file's tag, so stale
// bytes are not taken for it; each sync record says what was durable before it, so recovery reads
// only what came after. A reader trusts no number in a file before it has been held against a
// checksum and a limit.
package recording
