// Package session makes runs: it takes a device, has package controller run a test on it while
// package rig records, has package analysis measure what was recorded, and keeps all of it in a run
// folder. Repeats of a test, with several browsers or devices in turn, are a set.
//
// Place in the flow: between the commands that run tests (run, and a daemon's queue) and the
// packages that do the work. It prints nothing; who calls is told through [Told].
//
// # A run folder
//
//	run.json       what was run, where and how it ended ([Record]); written when the run begins, and again when it has ended
//	recording.eid  every frame, and what was sent and seen, as events on the frames' clock
//	results.json   what was measured
//	report.html    the same for people, with pictures/ and video.mp4
//	log.txt        what happened, a line each
//
// A set is a folder of run folders: run-01, run-02 and so on, or, with several browsers or devices,
// a folder of such for each. Runs that do not count stand in folders below, "rejected" and
// "warm-up", where comparisons do not look. set.json says in which order they were made.
//
// # Failure
//
// A run that fails keeps what there is: run.json says "failed" and why, the recording is closed,
// the log is whole. Nothing is left running, whatever went wrong: the browser, its profile and the
// display go with the run. A device is locked while it is used ([Lock]).
package session
