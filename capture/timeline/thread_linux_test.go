package timeline

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFavourThread: a favoured thread goes before ordinary ones, and what it starts does not. The
// system grants no deadline where those of other programs have the processors.
func TestFavourThread(t *testing.T) {
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a deadline needs root")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with this goroutine
		if err := FavourThread(); err != nil {
			t.Error(err)
		}
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil || attr.Policy != unix.SCHED_DEADLINE && attr.Policy != unix.SCHED_FIFO ||
			attr.Flags&unix.SCHED_FLAG_RESET_ON_FORK == 0 {
			t.Errorf("%+v, %v", attr, err)
		}
	}()
	<-done
}
