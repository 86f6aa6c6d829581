package link

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUrge: all threads have the priority, those that begin later too, and none has it afterwards but those that are to.
func TestUrge(t *testing.T) {
	old := urgentThreads(t) // of a test before, which may be about to end
	p := openPacket(t, Conditions{})
	before := urgentThreads(t)
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	back, err := Urge()
	if errors.Is(err, os.ErrPermission) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	began := make(chan int)
	over := make(chan struct{})
	go func() {
		runtime.LockOSThread() // not given back: it ends
		began <- unix.Gettid()
		<-over
	}()
	id := <-began
	urgent := urgentThreads(t)
	if !urgent[id] || !urgent[os.Getpid()] {
		t.Errorf("of threads %d and %d these have the priority: %v", id, os.Getpid(), urgent)
	}
	back()
	after := urgentThreads(t)
	close(over)
	for id := range before {
		if !after[id] && !old[id] {
			t.Errorf("thread %d of the line has no priority any more", id)
		}
	}
	for id := range after {
		if !before[id] {
			t.Errorf("thread %d still has a priority", id)
		}
	}
	if now, err := unix.Getpriority(unix.PRIO_PROCESS, os.Getpid()); err != nil || now != nice {
		t.Errorf("the nice value is %d, and was %d; %v", 20-now, 20-nice, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}
