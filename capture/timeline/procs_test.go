package timeline

import (
	"runtime"
	"sync"
	"testing"
)

// TestAddProcs: what several ask for at once adds up, and goes again.
func TestAddProcs(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				AddProcs(2)
				AddProcs(-2)
			}
			AddProcs(1)
		})
	}
	all.Wait()
	if n := runtime.GOMAXPROCS(0); n != before+4 {
		t.Errorf("Go has %d processors, want %d", n, before+4)
	}
	if AddProcs(-4); runtime.GOMAXPROCS(0) != before {
		t.Errorf("Go has %d processors, had %d", runtime.GOMAXPROCS(0), before)
	}
}
