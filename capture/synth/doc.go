// Package synth is a source that plays scripted scenes whose answers are known.
//
// It stands where a capture card would. Every scene is a pure function of a seed and a
// frame number, and tells its [Truth]: which frames differ from the one before,
// where a frame is torn, how much of it is a checkerboard, when a ping is
// answered. The recording carries that as the metadata "synth.truth", so that a
// measure can be held against what it should have found.
//
// # How a frame comes about
//
//  1. Open draws what the scene needs into sheets, in the source's own pixel format:
//     a tall page, the pictures of a video, a caret.
//  2. For frame n the scene lists blits: which rectangle of which sheet goes where.
//  3. Playing carries the list out: mostly one large copy of memory, so that a
//     recorder is measured and not this package.
//
// The truth about changes comes from the same lists. Two frames are compared only in
// rows that differing blits touch, and only up to the first difference, which is
// quick enough for Open; the tests hold it against whole frames.
//
// # Time
//
// With pace=realtime frame n is on the screen from start + n·period on, computed from the
// rational rate and never summed up. A frame that is drawn late keeps its time, as in a card's
// buffer; one for which a card would have had no buffer left is missed, its sequence number spent.
// Without it, frames come as fast as the ring takes them, on a clock of their own that starts at 0.
//
// # Padding
//
// Where the stride is longer than a row, byte i of a row's padding is 0xA5 XOR i, in every row
// of every frame. Alpha is 255 and X is 0, but both are random in the scene noise.
//
// # Ownership
//
// A Source owns its sheets until Close. Run writes only into the slots it acquires, starts
// no goroutine, and allocates nothing per frame. A Source belongs to one goroutine.
package synth
