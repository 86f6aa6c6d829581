// Package ringbuf holds captured frames in memory between the source that
// writes them and the stages that read them.
//
// It stands between capture and codec: a source commits frames into a [Ring], the
// recorder takes every one of them as a [Lease] (a [Lossless] reader), a preview takes
// whatever is newest (a [Latest] reader). Nothing is copied on the way: a lease is the
// slot that the source wrote.
//
// # Flow
//
//  1. The writer takes a free slot: TryAcquire for a source that runs on the
//     signal's clock and must never wait, Acquire for one that can.
//  2. It fills Slot.Bytes and commits, which gives the frame its position: 0, 1, 2, …
//  3. Each reader's Next hands out leases in the order of their positions.
//  4. The last Release gives the slot back.
//
// # Slots and order are apart
//
// A ring whose head may not pass its slowest lease stalls as a whole when one preview
// keeps one old frame. Here the published order is a circular array of slot numbers,
// and free slots stand in a list of their own. A lease that is kept long costs the
// slot it holds and nothing else: later frames go to other slots.
//
// # Ownership
//
// The memory belongs to whoever called [New] and must outlive every slot and lease
// taken from it. A slot's bytes belong to the writer from acquire to Commit or
// Abandon. From then on they are read-only, and stay as they are until the last lease
// of that frame is released. The ring itself keeps the newest frame, so that a Latest
// reader always finds one.
//
// The writer side (TryAcquire, Acquire, the methods of Slot, Ring.Close) belongs to one
// goroutine at a time. Next belongs to one goroutine per reader. Everything else may
// be called from any goroutine; a lease may be released by another than took it.
//
// # Invariants
//
//   - TryAcquire and Commit never wait for another goroutine, never allocate and take
//     no lock of this package. See bell for what waking a reader costs.
//   - A Lossless reader gets every frame committed between its start and its end,
//     each once, in order.
//   - A Latest reader gets rising positions.
//   - Each refused TryAcquire is one loss. It stands in the LostBefore of the next
//     committed frame, or in Stats.Trailing, and has one named cause in [Stats].
//   - Misuse (a second Commit, a second Release, a look into a released lease) panics. It can't be
//     told from use once the same slot has come round to the same reader again.
//
// Note: a channel of buffers and a ring behind a mutex were rejected, though both hand over an
// empty frame in less time, with one reader a fifth and a half less. BenchmarkHandover runs the
// three side by side; for frames of 1 MiB there is no difference. With both the writer takes a lock
// on every frame that readers take too, the mutex ring stalls behind its slowest lease, and neither
// can say who held the slots when a frame was lost.
//
// The package starts no goroutine and logs nothing.
package ringbuf
