// Package ringbuf holds captured frames in memory between the source that writes them and the
// stages that read them.
//
// A source commits frames into a [Ring]. The recorder takes every frame as a [Lease] (a [Lossless]
// reader). A preview takes the newest one (a [Latest] reader). Frames are not copied: a lease is
// the slot that the source wrote.
//
// # Flow
//
//  1. The writer takes a free slot: TryAcquire for a source on the signal's clock, which must not
//     wait, and Acquire for others.
//  2. It fills Slot.Bytes and commits. The frame gets its position: 0, 1, 2, …
//  3. Each reader's Next returns leases in the order of their positions.
//  4. The last Release gives the slot back.
//
// # Slots and order
//
// A ring whose head cannot pass its slowest lease stalls when one preview keeps one old frame. Here
// the published order is a circular array of slot numbers, and free slots have a list of their own.
// A lease that is kept long costs only its own slot. Later frames use other slots.
//
// # Ownership
//
// The memory belongs to the caller of [New] and must outlive every slot and lease. A slot's bytes
// belong to the writer from acquire to Commit or Abandon. From then on they are read-only, and
// stable until the last lease of that frame is released. The ring itself keeps the newest frame, so
// that a Latest reader always finds one.
//
// The writer side belongs to one goroutine at a time: TryAcquire, Acquire, the methods of Slot, and
// Ring.Close. Next belongs to one goroutine per reader. All other methods may be called from any
// goroutine. A lease may be released by another goroutine than the one that took it.
//
// # Invariants
//
//   - TryAcquire and Commit never wait for another goroutine, allocate, or take a lock of this
//     package. See bell for the cost of waking a reader.
//   - A Lossless reader gets every frame committed between its start and its end once, in order.
//   - A Latest reader gets rising positions.
//   - Each refused TryAcquire is one loss. The next committed frame counts it in LostBefore, or
//     Stats in Trailing. It has one named cause in [Stats].
//   - Misuse (a second Commit or Release, reading a released lease) panics. It cannot be detected
//     once the same reader has the same slot again.
//
// Note: a channel of buffers and a ring behind a mutex were rejected. Both hand over an empty frame
// in less time: with one reader, a fifth and a half less. For frames of 1 MiB the times are equal;
// BenchmarkHandover compares the three. But with both, the writer takes a lock on every frame that
// readers take too. The mutex ring stalls behind its slowest lease. Neither can name the holder of
// the slots when a frame was lost.
//
// The package starts no goroutine and does not log.
package ringbuf
