package x11

import (
	"net"
	"sync"
	"sync/atomic"

	"github.com/eideticker/eideticker/capture/timeline"
)

// wire is the socket of a display. While it is corked, written data waits, so that simultaneous
// actions leave as one.
type wire struct {
	net.Conn
	read atomic.Int64 // when something was read last

	mu      sync.Mutex
	corked  bool
	waiting []byte
}

func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.corked {
		w.waiting = append(w.waiting, p...)
		return len(p), nil
	}
	return w.Conn.Write(p)
}

// Read records when it returned. The library's goroutine reads at once. A goroutine that waits for
// the data may also have to wait for a processor.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.read.Store(int64(timeline.Monotonic().Now()))
	return n, err
}

func (w *wire) cork() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.corked = true
}

// flush writes the waiting data, and returns when it began to.
func (w *wire) flush() (timeline.Time, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.waiting
	w.waiting, w.corked = w.waiting[:0], false
	began := timeline.Monotonic().Now()
	_, err := w.Conn.Write(b)
	return began, err
}
