package ringbuf

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
)

// MapOptions says how [Map] prepares memory. The zero value leaves it to the first use.
type MapOptions struct {
	// Lock keeps the memory from being swapped out, which also makes it present. A refused lock
	// does not fail Map; see Memory.locked.
	Lock bool
	// Prefault makes the memory present now, so that the first round of the ring has no page
	// faults. The time depends on the machine. For 1 GiB, a virtual one needed 2.6 s at first,
	// since its host had to find the memory. The next time it needed 0.05 s.
	Prefault bool
}

// Memory is a page-aligned piece of memory outside the garbage collector's care where
// the system allows. Make it with [Map].
type Memory struct {
	mu       sync.Mutex
	closed   bool
	bytes    []byte
	unmap    func() error
	lockErr  error // nil: locked
	hugeErr  error // nil: huge pages were asked for and are not switched off
	hugeUsed func([]byte) (int, error)
}

// maxMap is far more than any ring; a larger size is a mistake in a unit. On 32-bit systems it
// is what an int holds, with room to align.
const maxMap = min(1<<42, math.MaxInt-(4<<20))

var (
	errNotAsked = errors.New("not asked for")
	errUnmapped = fmt.Errorf("memory was given back: %w", os.ErrClosed)
)

// Map returns size bytes of zeroed memory. On Linux it is an anonymous private mapping that starts
// at a huge page. Core dumps omit it, and huge pages are advised: with them a 4 GiB ring needs
// 2,048 page table entries instead of a million. Elsewhere it is plain Go memory. Map fails if the
// system does not have that much memory.
func Map(size int, o MapOptions) (*Memory, error) {
	if size <= 0 || size > maxMap {
		return nil, fmt.Errorf("map %d bytes of ring memory: size must be from 1 to %d", size, int64(maxMap))
	}
	m, err := mapMemory(size)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of ring memory: %w; ask for a smaller ring", size, err)
	}
	m.lockErr = fmt.Errorf("lock ring memory: %w", errNotAsked)
	if o.Lock {
		m.lockErr = lockMemory(m.bytes)
	}
	if o.Prefault && m.lockErr != nil { // locked memory is present
		if err := prefault(m.bytes); err != nil {
			return nil, errors.Join(fmt.Errorf("make %d bytes of ring memory present: %w; ask for a smaller ring", size,
				err), m.Close())
		}
	}
	return m, nil
}

// Bytes returns the memory, nil after Close.
func (m *Memory) Bytes() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}

// locked reports whether the memory is locked into RAM. If not, LockError says why.
func (m *Memory) locked() bool { return m.LockError() == nil }

// LockError returns the reason why the memory is not locked, or nil if it is. The lock was not
// requested, not allowed (with the limit to raise), or given back. On systems without locks it is
// an errors.ErrUnsupported.
func (m *Memory) LockError() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errUnmapped
	}
	return m.lockErr
}

// hugePages reports whether the kernel accepts advice on huge pages for this memory. If not,
// HugePagesError returns the reason. HugeBytes returns the current share.
func (m *Memory) hugePages() bool { return m.HugePagesError() == nil }

// HugePagesError says why there will be no huge pages: switched off, given back, or an
// errors.ErrUnsupported on this system. Nil if there can be.
func (m *Memory) HugePagesError() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errUnmapped
	}
	return m.hugeErr
}

// HugeBytes returns how many bytes are in huge pages now. It queries the kernel, which takes time:
// use it for reports, not in loops. Its error is an errors.ErrUnsupported if the system does not
// report this.
func (m *Memory) HugeBytes() (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return 0, errUnmapped
	}
	return m.hugeUsed(m.bytes)
}

// Close gives the memory back. No slot or lease of a ring in it may be in use any more
// (Stats.Leased tells): touching one afterwards ends the program. It is idempotent.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed, m.bytes = true, nil
	if err := m.unmap(); err != nil {
		return fmt.Errorf("unmap ring memory: %w", err)
	}
	return nil
}

// touch writes to every page of memory that is still zero.
func touch(b []byte) {
	for i := 0; i < len(b); i += Alignment {
		b[i] = 0
	}
}
