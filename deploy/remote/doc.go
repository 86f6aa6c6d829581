// Package remote plays tests on a rig, or on any device of a fleet.
//
// [Start] queues a job on a rig, and [Submit] on the hub of a fleet. Follow reports its progress
// until it has ended. [Job.Fetch] gets the results of its runs in the layout of a set's folder. So
// they can be judged and printed like local runs. [Push] and [Pull] move whole runs.
//
// A rig or a hub that rejects a call returns an api.Error.
package remote
