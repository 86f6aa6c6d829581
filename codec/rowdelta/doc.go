// Package rowdelta describes a frame as its difference from the frame before it, row by row,
// without losing a bit.
//
// What a screen shows is mostly what it showed a frame ago, in the same place or some rows further
// up. So each row is one of three things:
//
//   - Same: equal to the same row of the frame before. Costs nothing.
//   - Copied: equal to another row of the frame before (scrolling, panning, page flips). Costs a
//     reference. Rows are found through a hash of each row and confirmed by comparing bytes.
//   - New: of it only the spans of bytes that changed are stored.
//
// The pieces, in the order in which a frame meets them:
//
//  1. A [Scan] compares each row with the frame before, [Encoder.EncodeScanned] fills a [Delta]
//     with what is then left to find: runs of rows and their spans. [Encoder.Encode] does both.
//  2. [Delta.Append] writes a delta as a few bytes, [Delta.Parse] reads and checks them.
//  3. [Delta.Blocks] cuts the stored spans into blocks of at most [BlockSize] bytes; [Pack]
//     compresses one with LZ4, harder or faster as the pressure asks, [Unpack] restores it.
//  4. [Places] follows where the bytes of each row lie. It needs deltas only, no pixels: the
//     writer's checkpoints are such a table, and a reader finds any frame by applying deltas to one
//     and then fetching just the blocks that count.
//
// The package knows nothing of files. Encoder, Delta and Places are used by one goroutine at a
// time, different rows of a Scan by several; Pack and Unpack keep no state. Nothing allocates once
// buffers have grown to the format's size.
//
// Note: XOR of changed spans before LZ4 was rejected: on text and flat colour it destroys the
// repeats that LZ4 lives on.
package rowdelta
