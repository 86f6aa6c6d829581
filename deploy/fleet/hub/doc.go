// Package hub runs the queue of a fleet.
//
// A job is an entry in the bucket "jobs" of a [bus.Hub]. Its life is queued → assigned → running →
// ended. Each arrow is one write that names the revision before it, so that the write of a stale
// leader fails. A [Hub] holds all jobs in memory and changes its copy after the write.
//
// A rig polls. The answer has the attempts that it should do and the results that are stored. All
// messages may be lost, repeated and late:
//
//   - An attempt is named JOB.N. A rig does it once, and reports it until its result is stored.
//   - The first attempt that ends ok wins. Others are superseded. An ended job does not change.
//   - A rig is away after a lease without a poll. Its attempts are lost after their estimate and
//     [Options].LostAfter. Lost attempts and faults of the lab are tried again.
//
// Recordings stay on rigs. The hub has a light folder of each set, see [Hub.Handler].
package hub
