package ringbuf

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
)

// The stress tests run the ring with real goroutines, on Go memory, so the race detector sees each
// byte. A writer never waits in them. The readers' expected frames follow from the commits.

const stressFrames = 20000

// preempt runs more threads than cores. So the kernel stops some of them between any two
// instructions, long enough for others to overtake.
func preempt(t *testing.T) {
	before := runtime.GOMAXPROCS(4 * runtime.NumCPU())
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// stressWriter commits stressFrames frames and counts how often it was refused. Ids are the
// positions, so that a reader can tell which frame it has. After a refusal it lets others run, as
// a source does that waits for the next signal; without that, two cores lose nearly all.
func stressWriter(r *Ring[uint64]) (lost uint64) {
	for committed := uint64(0); committed < stressFrames; {
		s, ok := r.TryAcquire()
		if !ok {
			lost++
			runtime.Gosched()
			continue
		}
		n := len(fillFrame(s.Bytes(), committed))
		s.Commit(n, committed)
		committed++
	}
	r.Close(nil)
	return lost
}

// collector checks what one reader gets.
type collector struct {
	t     *testing.T
	rd    *Reader[uint64]
	first uint64 // position of the first frame
	got   uint64
	last  uint64
	lost  uint64
}

func (c *collector) take() *Lease[uint64] {
	l, err := c.rd.Next(context.Background())
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		c.t.Errorf("reader %d: %v", c.rd.id, err)
		return nil
	}
	position := l.position()
	switch {
	case position != l.Meta() || !frameFits(l.Bytes(), position):
		c.t.Errorf("reader %d: frame %d has metadata %d, right bytes: %t", c.rd.id, position, l.Meta(),
			frameFits(l.Bytes(), position))
	case c.got == 0:
		c.first = position
	case position <= c.last:
		c.t.Errorf("reader %d: frame %d after %d", c.rd.id, position, c.last)
	case c.rd.mode == Lossless && position != c.last+1:
		c.t.Errorf("reader %d: frame %d after %d", c.rd.id, position, c.last)
	}
	c.got++
	c.last = position
	c.lost += l.LostBefore()
	return l
}

func TestStress(t *testing.T) {
	preempt(t)
	r := newRing(t, 8)
	var wg sync.WaitGroup

	// Two recorders, one of which hands its leases to workers that finish out of order.
	plain := &collector{t: t, rd: r.NewReader(Lossless)}
	wg.Go(func() {
		for l := plain.take(); l != nil; l = plain.take() {
			l.Release()
		}
	})
	pooled := &collector{t: t, rd: r.NewReader(Lossless)}
	work := make(chan *Lease[uint64])
	for range 3 {
		wg.Go(func() {
			for l := range work {
				if !frameFits(l.Bytes(), l.position()) {
					t.Errorf("worker: frame %d changed under its lease", l.position())
				}
				l.Release()
			}
		})
	}
	wg.Go(func() {
		defer close(work)
		for l := pooled.take(); l != nil; l = pooled.take() {
			l.Retain()
			work <- l
			if !frameFits(l.Bytes(), l.position()) {
				t.Errorf("frame %d changed under its lease", l.position())
			}
			l.Release()
		}
	})

	// Two previews, one of which keeps each frame until it has the next one.
	quick := &collector{t: t, rd: r.NewReader(Latest)}
	wg.Go(func() {
		for l := quick.take(); l != nil; l = quick.take() {
			l.Release()
		}
	})
	keeping := &collector{t: t, rd: r.NewReader(Latest)}
	wg.Go(func() {
		var kept *Lease[uint64]
		for l := keeping.take(); l != nil; l = keeping.take() {
			if kept != nil {
				if !frameFits(kept.Bytes(), kept.position()) {
					t.Errorf("kept frame %d changed under its lease", kept.position())
				}
				kept.Release()
			}
			kept = l
		}
		if kept != nil {
			kept.Release()
		}
	})

	// Somebody looks on all the time.
	stop := make(chan struct{})
	looker := make(chan struct{})
	go func() {
		defer close(looker)
		for {
			select {
			case <-stop:
				return
			default:
			}
			st, fill := r.Stats(), r.Fill()
			if st.Used < 0 || st.Used > st.Slots || st.HighWater > st.Slots || fill < 0 || fill > 1 {
				t.Errorf("impossible counts: %+v, Fill %g", st, fill)
				return
			}
		}
	}()

	lost := stressWriter(r)
	wg.Wait()
	close(stop)
	<-looker

	st := r.Stats()
	if st.Committed != stressFrames || st.Lost != lost {
		t.Errorf("%d committed and %d lost, want %d and %d", st.Committed, st.Lost, stressFrames, lost)
	}
	for _, c := range []*collector{plain, pooled} {
		if c.got != stressFrames || c.lost+st.Trailing != st.Lost {
			t.Errorf("reader %d got %d of %d frames; %d losses before them and %d after, of %d", c.rd.id, c.got,
				stressFrames, c.lost, st.Trailing, st.Lost)
		}
	}
	for _, c := range []*collector{quick, keeping} {
		if s := c.rd.stats(); c.last != stressFrames-1 || s.Delivered+s.Skipped != stressFrames {
			t.Errorf("reader %d ended at frame %d of %d with %d got and %d passed over", c.rd.id, c.last,
				stressFrames, s.Delivered, s.Skipped)
		}
	}
	if st.Used != 1 || st.Leased() != 0 {
		t.Errorf("at the end %d slots are in use and %d leased, want 1 and 0", st.Used, st.Leased())
	}
	t.Logf("%d lost: %d behind, %d leased, %d writing", st.Lost, st.LostBehind, st.LostLeased, st.LostWriting)
}

// Readers begin and end at any point of a commit. They must neither leak a slot nor free one in
// use.
func TestStressComeAndGo(t *testing.T) {
	preempt(t)
	r := newRing(t, 6)
	anchor := &collector{t: t, rd: r.NewReader(Lossless)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for l := anchor.take(); l != nil; l = anchor.take() {
			l.Release()
		}
	})
	for i := range 3 {
		wg.Go(func() {
			for round := 0; ; round++ {
				c := &collector{t: t, rd: r.NewReader(Mode((i + round) % 2))}
				for range round % 5 {
					l := c.take()
					if l == nil {
						c.rd.Close()
						return
					}
					if round%3 == 0 {
						c.rd.Close() // with a lease out, and frames unread
					}
					if !frameFits(l.Bytes(), l.position()) {
						t.Errorf("frame %d changed under its lease", l.position())
					}
					l.Release()
					if round%3 == 0 {
						break
					}
				}
				c.rd.Close()
				if word(r.state.Load()).closed() {
					return
				}
			}
		})
	}
	stressWriter(r)
	wg.Wait()
	st := r.Stats()
	if anchor.got != stressFrames || st.Used != 1 {
		t.Errorf("recorder got %d of %d frames; %d slots in use, want 1", anchor.got, stressFrames, st.Used)
	}
	anchor.rd.Close()
	if n := len(r.Stats().Readers); n != 0 || word(r.state.Load()).lossless() != 0 {
		t.Errorf("%d readers are still listed, %d lossless ones counted", n, word(r.state.Load()).lossless())
	}
}

// With a writer that waits nothing is lost, and nobody sleeps through his wake-up.
func TestStressAcquire(t *testing.T) {
	preempt(t)
	r := newRing(t, 3)
	var wg sync.WaitGroup
	readers := []*collector{{t: t, rd: r.NewReader(Lossless)}, {t: t, rd: r.NewReader(Lossless)}}
	for _, c := range readers {
		wg.Go(func() {
			for l := c.take(); l != nil; l = c.take() {
				l.Release()
			}
		})
	}
	for id := range uint64(stressFrames) {
		s, err := r.Acquire(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		s.Commit(len(fillFrame(s.Bytes(), id)), id)
	}
	r.Close(nil)
	wg.Wait()
	for _, c := range readers {
		if c.got != stressFrames || c.lost != 0 {
			t.Errorf("reader %d got %d of %d frames, %d lost", c.rd.id, c.got, stressFrames, c.lost)
		}
	}
	if st := r.Stats(); st.Lost != 0 || st.Used != 1 {
		t.Errorf("%d lost, %d slots in use; want 0, 1", st.Lost, st.Used)
	}
}

// One frame at a time goes there and back, so that each wake-up counts: a lost one
// would never be made good by the next frame.
func TestStressPingPong(t *testing.T) {
	preempt(t)
	questions, answers := newRing(t, 3), newRing(t, 3)
	question, answer := questions.NewReader(Lossless), answers.NewReader(Latest)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer answers.Close(nil)
		c := &collector{t: t, rd: question}
		for l := c.take(); l != nil; l = c.take() {
			id := l.Meta()
			l.Release()
			s, err := answers.Acquire(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			s.Commit(len(fillFrame(s.Bytes(), id)), id)
		}
	})
	c := &collector{t: t, rd: answer}
	for id := range uint64(stressFrames) {
		s, err := questions.Acquire(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		s.Commit(len(fillFrame(s.Bytes(), id)), id)
		l := c.take()
		if l == nil || l.Meta() != id {
			t.Fatalf("no answer to frame %d", id)
		}
		l.Release()
	}
	questions.Close(nil)
	wg.Wait()
}
