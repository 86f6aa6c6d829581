package ringbuf

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"unsafe"
)

func TestMap(t *testing.T) {
	for _, c := range []struct {
		name    string
		size    int
		options MapOptions
	}{
		{"one byte", 1, MapOptions{}},
		{"no whole page", 3*Alignment + 5, MapOptions{}},
		{"prefault", 5 << 20, MapOptions{Prefault: true}},
		{"lock", 64 << 10, MapOptions{Lock: true}},
		{"lock and prefault", 64 << 10, MapOptions{Lock: true, Prefault: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Map(c.size, c.options)
			if err != nil {
				t.Fatal(err)
			}
			b := m.Bytes()
			if len(b) != c.size || cap(b) != c.size || uintptr(unsafe.Pointer(&b[0]))%Alignment != 0 {
				t.Errorf("%d bytes, capacity %d, at %p; want %d at a page", len(b), cap(b), &b[0], c.size)
			}
			for i := range b {
				if b[i] != 0 {
					t.Fatalf("byte %d is %d, want 0", i, b[i])
				}
				b[i] = byte(i)
			}
			// Locks and huge pages depend on the machine. The reason must be reported on every
			// machine.
			if m.locked() != (m.LockError() == nil) || m.locked() && !c.options.Lock {
				t.Errorf("Locked = %t, reason %v", m.locked(), m.LockError())
			}
			if !c.options.Lock && !errors.Is(m.LockError(), errNotAsked) {
				t.Errorf("lock error %v, want that it was not asked for", m.LockError())
			}
			if m.hugePages() != (m.HugePagesError() == nil) {
				t.Errorf("HugePages = %t, reason %v", m.hugePages(), m.HugePagesError())
			}
			for range 2 {
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if m.Bytes() != nil || m.locked() || m.hugePages() {
				t.Error("memory that was given back has bytes, a lock or huge pages")
			}
			if _, err := m.HugeBytes(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("HugeBytes after Close: %v", err)
			}
		})
	}
}

func TestMapRefuses(t *testing.T) {
	for _, size := range []int{0, -1, math.MinInt, math.MaxInt, maxMap + 1} {
		if m, err := Map(size, MapOptions{}); err == nil || !strings.Contains(err.Error(), "ring memory") {
			t.Errorf("Map(%d) = %v, %v", size, m, err)
		}
	}
}

func TestRingInMappedMemory(t *testing.T) {
	const frame = 1920*1080*4 + 17
	m, err := Map(BytesFor(3, frame), MapOptions{Prefault: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := New[uint64](m.Bytes(), frame)
	if err != nil {
		t.Fatal(err)
	}
	if r.Slots() != 3 {
		t.Fatalf("%d slots, want 3", r.Slots())
	}
	rd := r.NewReader(Lossless)
	for id := range uint64(10) {
		put(t, r, id)
		wantIDs(t, rd, id)
	}
}
