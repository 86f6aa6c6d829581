package replay

import (
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// tape holds a response's body between the site and the device. Data is taken and kept at once. So
// the times are the site's also if the device reads slowly. A body that becomes too long is still
// passed on. The site then waits for the device.
type tape struct {
	limits Limits
	memory *atomic.Int64 // left of what all tapes together may hold

	mu      sync.Mutex
	changed sync.Cond
	b       []byte // from byte dropped on
	dropped int64
	taken   int64 // by the device
	held    int64 // of memory
	kept    bool  // b is all that came
	ended   bool
	over    time.Duration // when that was, since the first byte
	err     error         // why the data is incomplete
	gone    bool          // the device takes no more
	chunks  []Chunk
}

const (
	// sameChunk is how close together reads are one: one packet of the site's, in several records
	// of TLS.
	sameChunk = 200 * time.Microsecond
	// maxAhead bounds the data in memory that is not kept.
	maxAhead = 1 << 20
)

func newTape(l Limits, memory *atomic.Int64) *tape {
	t := &tape{limits: l, memory: memory, kept: true}
	t.changed.L = &t.mu
	return t
}

// fill reads a body to its end. since tells the time since the first byte.
func (t *tape) fill(from io.Reader, since func() time.Duration) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		at := since()
		t.add(buf[:n], at)
		if err != nil {
			t.mu.Lock()
			t.ended, t.over = true, at
			if err != io.EOF {
				t.err = err
			}
			t.changed.Broadcast()
			t.mu.Unlock()
			return
		}
	}
}

func (t *tape) add(b []byte, after time.Duration) {
	if len(b) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := int64(len(b)); t.kept {
		if left := t.memory.Add(-n); left < 0 || int64(len(t.b))+n > t.limits.Body {
			t.memory.Add(n)
			t.kept = false
		} else {
			t.held += n
		}
	}
	if !t.kept {
		t.drop()
		for len(t.b) > maxAhead && !t.gone {
			t.changed.Wait()
			t.drop()
		}
		if t.gone {
			t.b = nil
			return
		}
	}
	t.b = append(t.b, b...)
	t.chunks = addChunk(t.chunks, Chunk{int64(len(b)), max(0, after)}, t.limits.Chunks)
	t.changed.Broadcast()
}

// drop forgets what the device has had.
func (t *tape) drop() {
	t.b = append([]byte(nil), t.b[t.taken-t.dropped:]...)
	t.dropped = t.taken
	t.memory.Add(t.held)
	t.held = 0
}

// addChunk notes that bytes came. Of many, neighbours are put together, at the time of the later.
func addChunk(all []Chunk, c Chunk, most int) []Chunk {
	if n := len(all); n > 0 && c.After-all[n-1].After < sameChunk {
		all[n-1].Bytes += c.Bytes
		return all
	}
	if len(all) == most {
		half := all[:0]
		for i := 0; i+1 < len(all); i += 2 {
			half = append(half, Chunk{all[i].Bytes + all[i+1].Bytes, all[i+1].After})
		}
		if len(all)%2 == 1 {
			half = append(half, all[len(all)-1])
		}
		all = half
	}
	return append(all, c)
}

// next waits for bytes behind those that were taken; none are left if it returns nil. They are the
// caller's to read until the tape is released.
func (t *tape) next() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	for int64(len(t.b)) == t.taken-t.dropped && !t.ended {
		t.changed.Wait()
	}
	b := t.b[t.taken-t.dropped:]
	return b[:len(b):len(b)]
}

// took says how many of them the device has had.
func (t *tape) took(n int) {
	t.mu.Lock()
	t.taken += int64(n)
	t.changed.Broadcast()
	t.mu.Unlock()
}

// leave says that the device takes no more.
func (t *tape) leave() {
	t.mu.Lock()
	t.gone = true
	t.changed.Broadcast()
	t.mu.Unlock()
}

// keeping reports whether further data is kept.
func (t *tape) keeping() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept
}

// whole returns the body once fill has returned. It returns nil and false if it was too long.
func (t *tape) whole() (b []byte, chunks []Chunk, kept bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.kept {
		return nil, nil, false, t.err
	}
	return t.b, t.chunks, true, t.err
}

// release gives back the memory that was counted.
func (t *tape) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.memory.Add(t.held)
	t.held = 0
}
