// Package session makes runs of tests on devices. [Run] prepares device, network and pages, plays
// the test while it records the screen, and measures the recording into a run folder. [RunSet]
// repeats a test, on several browsers or devices in turn.
//
// It stands between the commands that run tests and the packages that do the work. It does not
// print. It reports progress through [runfolder.Progress].
//
// # A run folder
//
//	run.json       test, device and outcome ([Record]); written when a run begins and ends
//	recording.eid  every frame; inputs and observations are events on the frames' clock
//	results.json   the measured values
//	report.html    the same for people, with pictures/ and video.mp4
//	log.txt        one line for each thing that happened
//
// A set is a folder of run folders: run-01, run-02, and so on. With several browsers or devices, it
// has such a folder for each. Comparisons skip the folders "rejected", "failed" and "warm-up" in
// them. set.json has the order of the runs.
//
// # Failure
//
// A run that fails keeps all that there is: run.json has the reason, the recording is closed, the
// log is complete. Browser, profile and display end with every run. A device is locked while it is
// in use ([Lock]).
package session
