package timeline

import (
	"runtime"
	"sync"
)

// procs guards that Go's processors are counted and set: the runtime does only either.
var procs sync.Mutex

// AddProcs changes the number of threads that Go runs at once by more, which may be negative. A
// thread that returns from the kernel waits for one of Go's processors. On a busy machine the
// threads that hold them may not run, so it waits whatever its own priority is. An extra processor
// avoids that wait.
func AddProcs(more int) {
	procs.Lock()
	defer procs.Unlock()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + more)
}
