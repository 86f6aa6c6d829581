// Package daemon is a running rig. It queues jobs on devices, runs them one at a time on each, and
// reports events.
//
// A job is a test's runs, a recording without a test, or a new analysis. Jobs come from package
// api, and their results go to package store. Packages session, recorder and runfolder do the work,
// as on the command line. The daemon waits for a device that another program has locked.
//
// # Persistent state
//
// jobs.json has the queue, and devices.json the problems of devices. Each is written whole before
// the change is reported. A job is removed from the queue before it begins. So a job that a crash
// ended does not begin again by itself, and its runs are marked as interrupted. Events are in
// memory. events.json has a number above all event numbers so far. So numbers rise over a restart,
// even if the clock was set back.
//
// # Order
//
// The owners of jobs that wait for a device take turns. Jobs of one owner begin in the order of
// their arrival. A job that needs several devices holds its turn on all of them. Analyses begin
// when no test runs, and tests wait for a running analysis.
//
// One mutex guards all state. It is not held while waiting. All goroutines belong to Run, which
// returns after the last of them.
package daemon
