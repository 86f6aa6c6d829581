package ringbuf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// The model is the ring as one would write it without any thought of speed: a slice of all
// frames ever committed, and for each reader what it has read and leases. From these
// the slots in use follow. A random schedule runs on both, and after each step every answer and
// every count has to agree.
type model struct {
	t       *testing.T
	rng     *rand.Rand
	ring    *Ring[uint64]
	frames  []modelFrame
	held    []*Slot[uint64]
	readers []*modelReader
	closed  error

	pending, lost, behind, leased, writing uint64
	high                                   int
}

type modelFrame struct {
	bytes []byte
	meta  uint64
	lost  uint64
}

type modelReader struct {
	rd                 *Reader[uint64]
	mode               Mode
	next               int // index in frames
	closed             bool
	leases             []modelLease
	delivered, skipped uint64
	behind, keeping    uint64
}

type modelLease struct {
	*Lease[uint64]
	frame int
	holds int
}

func TestModel(t *testing.T) {
	seeds := uint64(4000)
	if testing.Short() || raceEnabled {
		seeds = 400
	}
	for seed := range seeds {
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { runModel(t, seed, 250) }) {
			break // one broken seed says enough
		}
	}
}

func runModel(t *testing.T, seed uint64, steps int) {
	m := &model{t: t, rng: rand.New(rand.NewPCG(seed, 1))}
	m.ring = newRing(t, 3+m.rng.IntN(7))
	for range m.rng.IntN(3) {
		m.join()
	}
	// Schedules lean to the writer or to the readers, so that rings run full and run empty.
	weights := []int{1 + m.rng.IntN(8), 1 + m.rng.IntN(8), 1, 1 + m.rng.IntN(12), 1, 1 + m.rng.IntN(12), 1}
	for range steps {
		m.step(weights)
		m.compare()
	}
	m.finish()
}

func (m *model) step(weights []int) {
	switch pick(m.rng, weights) {
	case 0:
		m.tryAcquire()
	case 1:
		m.commit()
	case 2:
		m.abandon()
	case 3:
		m.read()
	case 4:
		m.retain()
	case 5:
		m.release()
	case 6:
		switch m.rng.IntN(6) {
		case 0, 1:
			m.join()
		case 2:
			m.leave()
		case 3:
			m.cancelled()
		}
	}
}

func pick(rng *rand.Rand, weights []int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := rng.IntN(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	panic("unreachable")
}

// used counts the slots in use: each frame that somebody needs, and what the writer holds.
func (m *model) used() int {
	needed := map[int]bool{}
	if len(m.frames) > 0 {
		needed[len(m.frames)-1] = true
	}
	for _, rd := range m.readers {
		if rd.mode == Lossless && !rd.closed {
			for i := rd.next; i < len(m.frames); i++ {
				needed[i] = true
			}
		}
		for _, l := range rd.leases {
			needed[l.frame] = true
		}
	}
	return len(needed) + len(m.held)
}

func (rd *modelReader) unread(frames int) int {
	if rd.mode == Latest || rd.closed {
		return 0
	}
	return frames - rd.next
}

func (m *model) tryAcquire() {
	want := m.used() < m.ring.Slots()
	s, ok := m.ring.TryAcquire()
	if ok != want {
		m.t.Fatalf("TryAcquire = %t with %d of %d slots in use", ok, m.used(), m.ring.Slots())
	}
	if ok {
		m.held = append(m.held, s)
		m.high = max(m.high, m.used())
		return
	}
	m.pending++
	m.lost++
	m.blame()
}

func (m *model) blame() {
	var worst *modelReader
	most := 0
	for _, rd := range m.readers {
		if n := rd.unread(len(m.frames)) + len(rd.leases); n > most {
			worst, most = rd, n
		}
	}
	switch {
	case worst == nil || len(m.held) > most:
		m.writing++
	case worst.unread(len(m.frames)) >= len(worst.leases):
		worst.behind++
		m.behind++
	default:
		worst.keeping++
		m.leased++
	}
}

// takeHeld removes one of the slots that the writer holds, or returns nil.
func (m *model) takeHeld() *Slot[uint64] {
	if len(m.held) == 0 {
		return nil
	}
	i := m.rng.IntN(len(m.held))
	s := m.held[i]
	m.held = slices.Delete(m.held, i, i+1)
	return s
}

func (m *model) commit() {
	s := m.takeHeld()
	if s == nil {
		return
	}
	meta := m.rng.Uint64()
	frame := modelFrame{bytes: fillFrame(s.Bytes(), meta), meta: meta, lost: m.pending}
	s.Commit(len(frame.bytes), meta)
	m.frames = append(m.frames, modelFrame{bytes.Clone(frame.bytes), meta, frame.lost})
	m.pending = 0
}

func (m *model) abandon() {
	if s := m.takeHeld(); s != nil {
		s.Bytes()[0] ^= 0xff
		s.Abandon()
	}
}

func (m *model) join() {
	mode := Mode(m.rng.IntN(2))
	rd := &modelReader{rd: m.ring.NewReader(mode), mode: mode, next: len(m.frames)}
	if mode == Latest {
		rd.next = max(rd.next-1, 0)
	}
	m.readers = append(m.readers, rd)
}

func (m *model) anyReader() *modelReader {
	if len(m.readers) == 0 {
		return nil
	}
	return m.readers[m.rng.IntN(len(m.readers))]
}

func (m *model) leave() {
	if rd := m.anyReader(); rd != nil {
		rd.rd.Close()
		rd.closed = true
		m.forget()
	}
}

// forget drops readers of which the ring keeps nothing.
func (m *model) forget() {
	m.readers = slices.DeleteFunc(m.readers, func(rd *modelReader) bool { return rd.closed && len(rd.leases) == 0 })
}

func (m *model) read() {
	rd := m.anyReader()
	if rd == nil {
		return
	}
	got, err := rd.rd.poll() // Next without the wait
	want := rd.next
	if rd.mode == Latest {
		want = max(len(m.frames)-1, rd.next)
	}
	switch {
	case rd.closed:
		if !errors.Is(err, os.ErrClosed) {
			m.t.Fatalf("closed reader: lease %v, error %v", got, err)
		}
	case want >= len(m.frames):
		if got != nil || err != m.closed {
			m.t.Fatalf("nothing to read: lease %v, error %v, want error %v", got, err, m.closed)
		}
	case got == nil:
		m.t.Fatalf("%v reader got nothing, error %v; frame %d is there", rd.mode, err, want)
	default:
		if got.position() != uint64(want) {
			m.t.Fatalf("%v reader got frame %d, want %d", rd.mode, got.position(), want)
		}
		rd.leases = append(rd.leases, modelLease{got, want, 1})
		rd.skipped += uint64(want - rd.next)
		rd.delivered++
		rd.next = want + 1
	}
}

func (m *model) cancelled() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s, err := m.ring.Acquire(ctx); m.closed == nil && (s != nil || err != context.Canceled) {
		m.t.Fatalf("cancelled Acquire: slot %v, error %v", s, err)
	}
	if rd := m.anyReader(); rd != nil {
		if l, err := rd.rd.Next(ctx); l != nil || err != context.Canceled {
			m.t.Fatalf("cancelled Next: lease %v, error %v", l, err)
		}
	}
}

func (m *model) retain() {
	if rd := m.anyReader(); rd != nil && len(rd.leases) > 0 {
		l := &rd.leases[m.rng.IntN(len(rd.leases))]
		l.Retain()
		l.holds++
	}
}

func (m *model) release() {
	rd := m.anyReader()
	if rd == nil || len(rd.leases) == 0 {
		return
	}
	i := m.rng.IntN(len(rd.leases))
	l := &rd.leases[i]
	m.check(*l)
	l.Release()
	if l.holds--; l.holds == 0 {
		rd.leases = slices.Delete(rd.leases, i, i+1)
		m.forget()
	}
}

// check holds a lease against its frame, byte by byte.
func (m *model) check(l modelLease) {
	want := m.frames[l.frame]
	if l.Meta() != want.meta || l.LostBefore() != want.lost || !bytes.Equal(l.Bytes(), want.bytes) {
		m.t.Fatalf("lease of frame %d: metadata %x, want %x; lost before %d, want %d; bytes equal: %t",
			l.frame, l.Meta(), want.meta, l.LostBefore(), want.lost, bytes.Equal(l.Bytes(), want.bytes))
	}
}

func (m *model) compare() {
	used := m.used()
	want := Stats{
		Slots: m.ring.Slots(), Used: used, Free: m.ring.Slots() - used, HighWater: m.high,
		Committed: uint64(len(m.frames)), Lost: m.lost, Trailing: m.pending,
		LostBehind: m.behind, LostLeased: m.leased, LostWriting: m.writing,
	}
	got := m.ring.Stats()
	readers := got.Readers
	got.Readers = nil
	if fmt.Sprint(got) != fmt.Sprint(want) {
		m.t.Fatalf("counts are\n%+v, want\n%+v", got, want)
	}
	if fill := float64(max(used-1, 0)) / float64(m.ring.Slots()-1); m.ring.Fill() != fill {
		m.t.Fatalf("Fill = %g, want %g", m.ring.Fill(), fill)
	}
	if len(readers) != len(m.readers) {
		m.t.Fatalf("%d readers counted, want %d", len(readers), len(m.readers))
	}
	for i, rd := range m.readers {
		want := ReaderStats{ID: rd.rd.id, Mode: rd.mode, Closed: rd.closed, Unread: rd.unread(len(m.frames)),
			Leased:    len(rd.leases),
			Delivered: rd.delivered, Skipped: rd.skipped, LostBehind: rd.behind, LostLeased: rd.keeping}
		if readers[i] != want {
			m.t.Fatalf("reader %d is counted\n%+v, want\n%+v", i, readers[i], want)
		}
	}
}

// finish ends the stream, drains it and finds slots that are still in use.
func (m *model) finish() {
	m.closed = io.EOF
	m.ring.Close(nil)
	for len(m.held) > 0 {
		m.abandon()
	}
	for _, rd := range m.readers {
		for unread := rd.unread(len(m.frames)); unread > 0; unread-- {
			before := rd.next
			m.readOf(rd)
			if rd.next != before+1 {
				m.t.Fatalf("drain went from %d to %d", before, rd.next)
			}
		}
	}
	m.compare()
	for len(m.readers) > 0 {
		rd := m.readers[0]
		for _, l := range rd.leases {
			m.check(l)
			for range l.holds {
				l.Release()
			}
		}
		rd.leases = nil
		rd.rd.Close()
		rd.closed = true
		m.forget()
	}
	m.compare()
}

func (m *model) readOf(rd *modelReader) {
	all := m.readers
	m.readers = []*modelReader{rd}
	m.read()
	m.readers = all
}
