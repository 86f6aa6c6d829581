package ringbuf

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// newRing makes a ring of exactly n one-page slots.
func newRing(t testing.TB, n int) *Ring[uint64] {
	t.Helper()
	r, err := New[uint64](alignedBytes(n*Alignment), Alignment)
	if err != nil {
		t.Fatal(err)
	}
	if r.Slots() != n {
		t.Fatalf("%d slots, want %d", r.Slots(), n)
	}
	return r
}

// alignedBytes returns Go memory, which the race detector watches, unlike a mapping.
func alignedBytes(n int) []byte {
	b := make([]byte, n+Alignment)
	skip := int(-uintptr(unsafe.Pointer(&b[0])) & (Alignment - 1))
	return b[skip : skip+n : skip+n]
}

// put commits a frame whose first bytes and metadata are id.
func put(t testing.TB, r *Ring[uint64], id uint64) {
	t.Helper()
	s, ok := r.TryAcquire()
	if !ok {
		t.Fatalf("no slot for frame %d", id)
	}
	binary.LittleEndian.PutUint64(s.Bytes(), id)
	s.Commit(8, id)
}

// next takes a frame that must be there.
func next(t testing.TB, rd *Reader[uint64]) *Lease[uint64] {
	t.Helper()
	l, err := rd.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := binary.LittleEndian.Uint64(l.Bytes()); got != l.Meta() {
		t.Fatalf("bytes are of frame %d, metadata of frame %d", got, l.Meta())
	}
	return l
}

// wantIDs reads and releases frames, which must have these ids.
func wantIDs(t testing.TB, rd *Reader[uint64], ids ...uint64) {
	t.Helper()
	for _, id := range ids {
		l := next(t, rd)
		if l.Meta() != id {
			t.Fatalf("got frame %d, want %d", l.Meta(), id)
		}
		l.Release()
	}
}

func wantEnd(t testing.TB, rd *Reader[uint64], want error) {
	t.Helper()
	for range 2 {
		if l, err := rd.Next(context.Background()); l != nil || !errors.Is(err, want) {
			t.Fatalf("Next after the end: lease %v, error %v, want error %v", l, err, want)
		}
	}
}

func TestNew(t *testing.T) {
	aligned := alignedBytes(10 * Alignment)
	for _, c := range []struct {
		name     string
		mem      []byte
		slotSize int
		slots    int
		size     int
		err      string
	}{
		{name: "exact", mem: aligned, slotSize: Alignment, slots: 10, size: Alignment},
		{name: "slot rounded up", mem: aligned, slotSize: Alignment + 1, slots: 5, size: 2 * Alignment},
		{name: "one byte", mem: aligned[:3*Alignment], slotSize: 1, slots: 3, size: Alignment},
		{name: "rest unused", mem: aligned[:4*Alignment-1], slotSize: 1, slots: 3, size: Alignment},
		{name: "memory not aligned", mem: aligned[1:], slotSize: 1, slots: 9, size: Alignment},
		{name: "two slots", mem: aligned[:3*Alignment-1], slotSize: 1, err: "12288 bytes are needed for 3 slots"},
		{name: "two slots after aligning", mem: aligned[1 : 1+3*Alignment], slotSize: 1, err: "16383 bytes are needed"},
		{name: "no memory", slotSize: 8294400, err: "24883200 bytes are needed"},
		{name: "less than the alignment costs", mem: aligned[1:2], slotSize: 1, err: "are needed"},
		{name: "no slot size", mem: aligned, err: "at least one byte"},
		{name: "negative slot size", mem: aligned, slotSize: -1, err: "at least one byte"},
		{name: "huge slot size", mem: aligned, slotSize: math.MaxInt, err: "can address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := New[int](c.mem, c.slotSize)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want one with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.Slots() != c.slots || r.SlotSize() != c.size {
				t.Errorf("%d slots of %d bytes, want %d of %d", r.Slots(), r.SlotSize(), c.slots, c.size)
			}
			var last uintptr
			for range c.slots {
				s, ok := r.TryAcquire()
				if !ok {
					t.Fatal("a fresh ring has not all slots free")
				}
				at := uintptr(unsafe.Pointer(&s.Bytes()[0]))
				if at%Alignment != 0 || at <= last || len(s.Bytes()) != c.size || cap(s.Bytes()) != c.size {
					t.Errorf("slot at %#x after %#x: length %d, capacity %d", at, last, len(s.Bytes()), cap(s.Bytes()))
				}
				last = at
			}
			if _, ok := r.TryAcquire(); ok {
				t.Error("more slots than Slots says")
			}
		})
	}
}

func TestTooSmallIsASentinel(t *testing.T) {
	if _, err := New[int](nil, 1); !errors.Is(err, errTooSmall) {
		t.Errorf("error %v is no ErrTooSmall", err)
	}
}

func TestBytesFor(t *testing.T) {
	for _, c := range []struct{ slots, size, want int }{
		{3, 1, 3 * Alignment},
		{0, 0, 3 * Alignment},
		{10, Alignment + 1, 20 * Alignment},
		{math.MaxInt, 2, math.MaxInt},
		{3, math.MaxInt, math.MaxInt},
	} {
		if got := BytesFor(c.slots, c.size); got != c.want {
			t.Errorf("BytesFor(%d, %d) = %d, want %d", c.slots, c.size, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, slots := range []int{3, 4, 5, 7, 8, 9} {
		r := newRing(t, slots)
		rd := r.NewReader(Lossless)
		id := uint64(0)
		// Each burst fills the ring to the last slot, so that it wraps at every offset. The newest
		// frame, which the ring keeps, is in nobody's way: the burst's first commit frees it.
		for burst := range 4 * slots {
			var want []uint64
			for range slots - burst%3 {
				put(t, r, id)
				want = append(want, id)
				id++
			}
			if burst%3 == 0 {
				if _, ok := r.TryAcquire(); ok || r.Fill() != 1 {
					t.Fatalf("%d slots: a full ring gave one more (%t), its Fill is %g", slots, ok, r.Fill())
				}
			}
			wantIDs(t, rd, want...)
			if st := r.Stats(); st.Used != 1 || r.Fill() != 0 {
				t.Fatalf("%d slots: drained ring has %d in use, Fill %g", slots, st.Used, r.Fill())
			}
		}
	}
}

func TestKeepLeasedSlots(t *testing.T) {
	const slots = 5
	r := newRing(t, slots)
	recorder, preview := r.NewReader(Lossless), r.NewReader(Latest)
	put(t, r, 0)
	kept := next(t, preview)
	wantIDs(t, recorder, 0)
	for id := uint64(1); id < 10*slots; id++ {
		put(t, r, id)
		wantIDs(t, recorder, id)
	}
	if kept.Meta() != 0 || kept.Bytes()[0] != 0 {
		t.Errorf("kept frame is now %d", kept.Meta())
	}
	if st := r.Stats(); st.Lost != 0 || st.HighWater != 3 || st.Leased() != 1 {
		t.Errorf("a kept lease cost more than its slot: %+v", st)
	}
	kept.Release()
}

func TestReaderStarts(t *testing.T) {
	r := newRing(t, 4)
	early := r.NewReader(Latest)
	put(t, r, 1)
	put(t, r, 2)
	lossless, latest := r.NewReader(Lossless), r.NewReader(Latest)
	wantIDs(t, latest, 2) // the present frame
	put(t, r, 3)
	wantIDs(t, lossless, 3) // the next frame
	wantIDs(t, latest, 3)
	wantIDs(t, early, 3)
	if got := early.stats(); got.Skipped != 2 || got.Delivered != 1 {
		t.Errorf("early reader passed over %d, got %d; want 2, 1", got.Skipped, got.Delivered)
	}
	if got := latest.stats(); got.Skipped != 0 || got.Delivered != 2 {
		t.Errorf("late reader passed over %d, got %d; want 0, 2", got.Skipped, got.Delivered)
	}
}

// A Latest reader may stop between its look at the head and its grab, and find its order entry
// reused. It must neither take nor keep the new content.
func TestGrabTooLate(t *testing.T) {
	r := newRing(t, 3)
	for id := range uint64(2 * len(r.order)) {
		put(t, r, id)
	}
	newest := uint64(2*len(r.order) - 1)
	for position := range newest {
		if slot := r.grab(position); slot != nil {
			t.Errorf("grab of frame %d got frame %d", position, slot.position)
		}
	}
	slot := r.grab(newest)
	if slot == nil || slot.position != newest {
		t.Fatalf("grab of the newest frame: %v", slot)
	}
	slot.release()
	if st := r.Stats(); st.Used != 1 {
		t.Errorf("%d slots are in use, want 1", st.Used)
	}
}

func TestCloseDrains(t *testing.T) {
	cause := errors.New("signal lost")
	for _, c := range []struct {
		name       string
		give, want error
	}{{"nil", nil, io.EOF}, {"error", cause, cause}} {
		t.Run(c.name, func(t *testing.T) {
			r := newRing(t, 4)
			lossless, latest := r.NewReader(Lossless), r.NewReader(Latest)
			for id := range uint64(3) {
				put(t, r, id)
			}
			r.Close(c.give)
			r.Close(errors.New("too late"))
			wantIDs(t, lossless, 0, 1, 2)
			wantIDs(t, latest, 2)
			wantEnd(t, lossless, c.want)
			wantEnd(t, latest, c.want)
			wantEnd(t, r.NewReader(Lossless), c.want)
			newcomer := r.NewReader(Latest)
			wantIDs(t, newcomer, 2)
			wantEnd(t, newcomer, c.want)
			if _, err := r.Acquire(context.Background()); !errors.Is(err, os.ErrClosed) {
				t.Errorf("Acquire after Close: %v", err)
			}
		})
	}
}

func TestReaderCloseGivesUp(t *testing.T) {
	r := newRing(t, 5)
	rd := r.NewReader(Lossless)
	for id := range uint64(4) {
		put(t, r, id)
	}
	kept := next(t, rd)
	rd.Close()
	rd.Close()
	wantEnd(t, rd, os.ErrClosed)
	if st := r.Stats(); st.Used != 2 || len(st.Readers) != 1 || !st.Readers[0].Closed || st.Leased() != 1 {
		t.Errorf("with a lease out: %+v, want 2 slots in use and the closed reader", st)
	}
	if kept.Meta() != 0 {
		t.Errorf("lease became frame %d", kept.Meta())
	}
	kept.Release()
	if st := r.Stats(); st.Used != 1 || len(st.Readers) != 0 {
		t.Errorf("after all is released: %+v, want 1 slot in use and no reader", st)
	}
	for id := range uint64(100) {
		put(t, r, id) // nobody holds the ring up
	}
}

func TestSeveralSlotsHeld(t *testing.T) {
	r := newRing(t, 4)
	rd := r.NewReader(Lossless)
	var held []*Slot[uint64]
	for range 3 {
		s, _ := r.TryAcquire()
		held = append(held, s)
	}
	for i, s := range slices.Backward(held) {
		binary.LittleEndian.PutUint64(s.Bytes(), uint64(i))
		s.Commit(8, uint64(i))
	}
	wantIDs(t, rd, 2, 1, 0)
}

func TestAbandon(t *testing.T) {
	r := newRing(t, 3)
	rd := r.NewReader(Lossless)
	for range 10 {
		s, ok := r.TryAcquire()
		if !ok {
			t.Fatal("abandoned slots do not come back")
		}
		s.Abandon()
	}
	put(t, r, 7)
	wantIDs(t, rd, 7)
	s, _ := r.TryAcquire()
	r.Close(nil)
	s.Abandon()
	wantEnd(t, rd, io.EOF)
	if st := r.Stats(); st.Committed != 1 || st.Lost != 0 || st.Used != 1 {
		t.Errorf("%+v, want 1 committed, 0 lost, 1 in use", st)
	}
}

func TestCommitLengths(t *testing.T) {
	r := newRing(t, 3)
	rd := r.NewReader(Lossless)
	for _, n := range []int{0, 1, Alignment} {
		s, _ := r.TryAcquire()
		s.Commit(n, 0)
		l, err := rd.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Bytes()) != n || cap(l.Bytes()) != n {
			t.Errorf("commit of %d bytes: length %d, capacity %d", n, len(l.Bytes()), cap(l.Bytes()))
		}
		l.Release()
	}
}
