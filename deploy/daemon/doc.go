// Package daemon is a rig at work: it queues jobs on devices, carries them out one at a time on
// each, and tells what happens.
//
// A job is a test's runs, a recording without a test, or a new analysis. Jobs come from package api
// and end in package store; what they do in between is that of packages session, rig and analysis,
// as on the command line. A device that another program has locked is waited for.
//
// # What is kept
//
// The queue stands in jobs.json, and what is the matter with devices in devices.json, each written
// whole before the change is told. A job is taken out of the queue before it begins: one that a
// crash ended does not begin again by itself, its runs say that they were interrupted. Events
// themselves are in memory; events.json has a number above all that they were given, so that
// numbers rise over a restart also where the clock was set back.
//
// # Order
//
// The jobs that wait for a device begin in turns of their owners, and in the order in which they
// came of one owner. A job that needs several devices holds its turn on all of them. Analyses begin
// when no test runs, and tests wait for the analysis that has begun.
//
// All state is guarded by one mutex, which is never held while something is waited for. All
// goroutines belong to Run, which returns after the last of them.
package daemon
