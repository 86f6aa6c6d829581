//go:build linux && rigvm

package v4l2

import (
	"context"
	"errors"
	"hash/maphash"
	"net/url"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

// Nodes of the VM; see TestVM.
const (
	hdmi      = "/dev/video0"
	hdmiMulti = "/dev/video1"
	camera    = "/dev/video2"
)

// Values of vivid's menus: drivers/media/test-drivers/vivid/vivid-ctrls.c.
const (
	signalMode    = "DV Timings Signal Mode"
	modeCurrent   = 0
	modeNoSignal  = 1
	modeNoLock    = 2
	modeRange     = 3
	modeSelected  = 4
	selectTimings = "DV Timings"
	osdNone       = 2
	bars100       = 1
)

func set(t *testing.T, path, name string, value int64) {
	t.Helper()
	if err := SetControl(path, name, value); err != nil {
		t.Fatal(err)
	}
}

// choose has a receiver see the timings of that name.
func choose(t *testing.T, path, name string) {
	t.Helper()
	d, err := Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Controls {
		if c.Name != selectTimings {
			continue
		}
		for value, label := range c.Menu {
			if label == name {
				set(t, path, selectTimings, value)
				set(t, path, signalMode, modeSelected)
				return
			}
		}
		t.Fatalf("%s cannot play %s: it has %v", path, name, c.Menu)
	}
	t.Fatalf("%s has no control %s", path, selectTimings)
}

// still has a receiver see colour bars that do not move, with nothing written over them, in a small
// mode.
func still(t *testing.T, path string) {
	t.Helper()
	set(t, path, "Test Pattern", bars100)
	set(t, path, "OSD Text Mode", osdNone)
	choose(t, path, "640x480p59")
	t.Cleanup(func() {
		set(t, path, "Test Pattern", 0)
		set(t, path, "OSD Text Mode", 0)
		set(t, path, signalMode, modeCurrent)
	})
}

func openSource(t *testing.T, path, params string) *source {
	t.Helper()
	q, err := url.ParseQuery(params)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path, q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.(*source)
}

// recording is what a test gets of a source.
type recording struct {
	t    *testing.T
	src  *source
	seed maphash.Seed

	mu     sync.Mutex
	metas  []frame.Meta
	lost   uint64 // in the ring
	sums   []uint64
	last   []byte
	events []timeline.Event
	look   func(pix []byte) // at each frame, if not nil; sums and last are not made then
	slots  int              // of the ring
}

// leastSlots is the smallest ring in which userptr gets all its buffers. To clear the pages of a
// larger one costs an emulated machine more than some frames do.
const leastSlots = defaultBuffers + 3

func record(t *testing.T, src *source) *recording {
	return &recording{t: t, src: src, seed: maphash.MakeSeed(), slots: 16}
}

func (r *recording) event(e timeline.Event) {
	r.t.Logf("event %s %s", e.Kind, e.Data)
	if err := e.Validate(); err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// kinds returns the kinds of the events so far.
func (r *recording) kinds() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, e := range r.events {
		all = append(all, e.Kind)
	}
	return all
}

func (r *recording) frames() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.metas)
}

// patience is for a VM on a machine that does other things.
const patience = 4 * time.Minute

// until runs the source until the condition holds, which is looked at after each frame and several
// times a second. It returns what Run did, and fails the test if the time is over first.
func (r *recording) until(what string, done func() bool) error {
	r.t.Helper()
	format := r.src.Info().Format
	memory, err := ringbuf.Map(ringbuf.BytesFor(r.slots, format.Size()), ringbuf.MapOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	ring, err := ringbuf.New[frame.Meta](memory.Bytes(), format.Size())
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var checking sync.Mutex
	check := func() {
		checking.Lock() // conditions may do things, and keep what they have done
		defer checking.Unlock()
		if done != nil && done() {
			cancel()
		}
	}
	var beside sync.WaitGroup
	reader := ring.NewReader(ringbuf.Lossless)
	beside.Go(func() {
		for {
			lease, err := reader.Next(context.Background())
			if err != nil {
				return
			}
			r.take(lease)
			lease.Release()
			check()
		}
	})
	beside.Go(func() {
		for tick := time.NewTicker(50 * time.Millisecond); ctx.Err() == nil; {
			select {
			case <-ctx.Done():
			case <-tick.C:
				check()
			}
		}
	})
	err = r.src.Run(ctx, ring, r.event)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.t.Errorf("%s: not within %v; %d frames, events %v", what, patience, r.frames(), r.kinds())
	}
	cancel()
	ring.Close(nil)
	beside.Wait()
	if n := ring.Stats().Leased(); n != 0 {
		r.t.Errorf("%d leases were kept", n)
	}
	if err := memory.Close(); err != nil {
		r.t.Error(err)
	}
	return err
}

// some runs the source for n more frames.
func (r *recording) some(n int) {
	r.t.Helper()
	want := r.frames() + n
	if err := r.until("frames", func() bool { return r.frames() >= want }); err != nil {
		r.t.Error(err)
	}
}

func (r *recording) take(l *ringbuf.Lease[frame.Meta]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.metas = append(r.metas, l.Meta())
	r.lost += l.LostBefore()
	if r.look != nil {
		r.look(l.Bytes())
		return
	}
	r.sums = append(r.sums, maphash.Bytes(r.seed, l.Bytes()))
	r.last = append(r.last[:0], l.Bytes()...)
}

// account holds the frames against their numbers: each larger than the one before, each interval in
// order, each hole explained.
func (r *recording) account() (holes map[frame.Cause]uint64) {
	r.t.Helper()
	holes = map[frame.Cause]uint64{}
	for i, m := range r.metas {
		if !m.Sampled.Valid() || m.Sampled.Width() > time.Minute {
			r.t.Errorf("frame %d was sampled within %v", m.Sequence, m.Sampled)
		}
		if i == 0 {
			continue
		}
		before := r.metas[i-1]
		switch {
		case m.Sequence <= before.Sequence:
			r.t.Errorf("frame %d follows %d", m.Sequence, before.Sequence)
		case m.Sequence == before.Sequence+1:
		case m.Missed == frame.NoCause && r.lost == 0:
			r.t.Errorf("%d frames are missing before %d, and nobody says why", m.Sequence-before.Sequence-1, m.Sequence)
		default:
			holes[m.Missed] += m.Sequence - before.Sequence - 1
		}
	}
	return holes
}

// renegotiate follows a format change.
func (r *recording) renegotiate(err error) capture.Info {
	r.t.Helper()
	if !errors.Is(err, capture.ErrFormatChanged) {
		r.t.Fatalf("Run returned %v, want a change of format", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.src.Renegotiate(ctx, r.event); err != nil {
		r.t.Fatal(err)
	}
	return r.src.Info()
}

// countEDID counts how often an EDID is set.
type countEDID struct {
	node
	set int
}

func (c *countEDID) ioctl(request uintptr, arg unsafe.Pointer) error {
	if request == vidiocSEdid {
		c.set++
	}
	return c.node.ioctl(request, arg)
}
