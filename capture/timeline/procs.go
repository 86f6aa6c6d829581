package timeline

import (
	"runtime"
	"sync"
)

// procs guards that Go's processors are counted and set: the runtime does only either.
var procs sync.Mutex

// AddProcs has Go run so many more threads at once, or fewer again. A thread that keeps a time and
// comes back from the kernel waits for one of Go's processors; if others have all of them, and are
// not run themselves since the machine is busy, it waits for them, whatever its own priority is.
func AddProcs(more int) {
	procs.Lock()
	defer procs.Unlock()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + more)
}
