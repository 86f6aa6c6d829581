package link

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOwnThreads: the first thread, which does not end, is never put into a namespace.
func TestOwnThreads(t *testing.T) {
	for range 50 {
		var all sync.WaitGroup
		for range 20 {
			all.Add(1)
			go onOwnThread(func() {
				defer all.Done()
				if unix.Gettid() == unix.Getpid() {
					t.Error("it is the first thread")
				}
			})
		}
		all.Wait()
	}
}
