package rig

import (
	"runtime"

	"github.com/eideticker/eideticker/capture"
)

// spareProcs are how many more threads may run Go code than the program may use processors while a clocked source records. Compression keeps
// every processor busy for milliseconds at a time; with a thread to spare it is the kernel, which favours whoever
// sleeps most, that finds the source a processor when its tick comes, and not Go's scheduler when somebody yields.
const spareProcs = 4

// runSource runs the source. One on the clock gets a thread of its own, ahead of all others where that is permitted.
func runSource(info capture.Info, run func() error) error {
	if !info.Clocked {
		return run()
	}
	was := runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + spareProcs)
	defer runtime.GOMAXPROCS(was)
	runtime.LockOSThread()
	// The thread is not unlocked: it ends with this goroutine and takes its priority along.
	favourThread()
	return run()
}
