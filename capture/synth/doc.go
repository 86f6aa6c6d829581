// Package synth is a source that plays scripted scenes with known answers.
//
// It replaces a capture card. Every scene is a pure function of a seed and a frame number, and
// states its [Truth]: the changed frames, torn frames, checkerboard areas and ping answers. The
// recording carries it as the metadata "synth.truth", to compare measures with.
//
// # How a frame is made
//
//  1. Open draws the scene's parts into sheets, in the source's own pixel format: a tall page, the
//     pictures of a video, a caret.
//  2. For frame n the scene lists blits. A blit names a rectangle of a sheet and its place.
//  3. Playing carries the list out. This is mostly one large copy of memory, so a benchmark
//     measures the recorder and not this package.
//
// The truth about changes comes from the same lists. Two frames are compared only in rows that
// differing blits touch, up to the first difference. That is fast enough for Open. The tests
// compare it with whole frames.
//
// # Time
//
// With pace=realtime, frame n is on the screen from start + n·period on. The time is computed from
// the rational rate and not summed up. A frame that is drawn late keeps its time, as in a card's
// buffer. A frame for which a card would have had no buffer left is missed, and its sequence number
// is spent. With pace=steady, no frame is missed. A late frame delays the rest, and a scene waits
// for its reader. All keep their times. Otherwise frames come as fast as the ring takes them. Their
// clock starts at 0.
//
// # Padding
//
// If the stride is longer than a row, byte i of a row's padding is 0xA5 XOR i. Alpha is 255 and X
// is 0. Both are random in the scene noise.
//
// # Ownership
//
// A Source owns its sheets until Close. Run writes only into the slots it acquires, starts no
// goroutine and does not allocate per frame. A Source belongs to one goroutine.
package synth
