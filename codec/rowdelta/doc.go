// Package rowdelta describes a frame as its difference from the previous frame, row by row, without
// loss.
//
// A screen mostly shows the rows of the previous frame, in the same place or some rows further up.
// So each row is one of three kinds:
//
//   - Same: equal to the same row of the previous frame. It costs nothing.
//   - Copied: equal to another row of the previous frame (scrolling, panning, page flips). It costs
//     a reference. A hash of each row finds it, and comparing bytes confirms it.
//   - New: only the changed spans of bytes are stored. Spans that the previous frame had elsewhere
//     cost a reference too: a sideways scroll, a dragged window.
//
// The parts, in the order in which a frame passes them:
//
//  1. A [Scan] compares each row with the previous frame. [Encoder.EncodeScanned] then fills a
//     [Delta] with the runs of rows and their spans. [Encoder.Encode] does both.
//  2. [Delta.Append] writes a delta as a few bytes. [Delta.Parse] reads and checks them.
//  3. [Delta.Blocks] cuts the stored spans into blocks of at most [BlockSize] bytes. [Pack]
//     compresses one with LZ4, with more or less effort by pressure. [Unpack] restores it.
//  4. [Places] tracks the places of each row's bytes. It needs deltas only, not pixels. The
//     writer's checkpoints are such a table. A reader applies deltas to one and then reads only the
//     necessary blocks.
//
// The package does not use files. Encoder, Delta and Places are used by one goroutine at a time.
// Several may use different rows of a Scan. Pack and Unpack keep no state. After buffers have grown
// to the format's size, the package does not allocate.
//
// Note: XOR of changed spans before LZ4 was rejected. On text and flat colour it destroys the
// repeats that LZ4 needs.
package rowdelta
