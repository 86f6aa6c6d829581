package recording

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
)

// lease counts how often it is released.
type lease struct{ released atomic.Int32 }

func (l *lease) Release() { l.released.Add(1) }

// TestDiskFull fills the disk at many points. The error has its cause, every frame is released
// once, and every goroutine ends. The written part can be repaired and read.
func TestDiskFull(t *testing.T) {
	tale := powerTale(t, 21)
	whole := &memDisk{}
	tale.record(t, whole, 100*time.Millisecond, 250*time.Millisecond)
	size := len(whole.b)
	for limit := 1; limit < size; limit += size/60 + 1 {
		var leases []*lease
		d := &memDisk{limit: limit}
		// The bubble also fails the test if a goroutine is left.
		synctest.Test(t, func(t *testing.T) { leases = writeUntilFull(t, tale, d) })
		for i, l := range leases {
			if n := l.released.Load(); n != 1 {
				t.Fatalf("limit %d: frame %d of %d was released %d times", limit, i, len(leases), n)
			}
		}
		checkFull(t, tale, d, &expected{last: uint64(len(leases) - 1), until: 1 << 60})
	}
}

func writeUntilFull(t *testing.T, tale *tale, d *memDisk) (leases []*lease) {
	o := testOptions()
	o.SyncEvery = 250 * time.Millisecond
	w := newWriter(d, o)
	f := tale.frames[0].format
	err := w.Segment(f, 1, 60) // the disk may be full of the header already
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	for n := 0; n < 20 || err == nil && n < 10_000; n++ {
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		l := &lease{}
		leases = append(leases, l)
		frame := &tale.frames[n%20]
		m := frame.meta
		m.Sequence = uint64(n)
		if err = w.WriteFrame(frame.pix, m, l); err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("frame %d: %v, want ENOSPC", n, err)
		}
	}
	if err == nil {
		t.Fatal("the disk never got full")
	}
	for _, err := range []error{w.Gap(frame.Gap{Count: 1}), w.Segment(f, 1, 60), w.Metadata("x", []byte("1"))} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("after the disk got full: %v", err)
		}
	}
	for range 2 {
		if err := w.Close(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("close: %v, want ENOSPC", err)
		}
	}
	if err := w.WriteFrame(tale.frames[0].pix, tale.frames[0].meta, nil); !errors.Is(err, errClosed) {
		t.Errorf("write after close: %v", err)
	}
	return leases
}

func checkTail(t *testing.T, r *Reader, came *expected) {
	t.Helper()
	missing := came.last + 1 - uint64(r.Frames())
	switch gaps := r.Gaps(); {
	case missing == 0 && len(gaps) == 0:
	case len(gaps) != 1 || gaps[0].Before != r.Frames() || gaps[0].First != uint64(r.Frames()) ||
		gaps[0].Count != missing || gaps[0].Cause != frame.Stopped:
		t.Fatalf("%d frames kept of %d, gaps %+v", r.Frames(), came.last+1, gaps)
	}
}

// checkFull repairs a recording that filled its disk, first without any room, then with some. Once
// it is complete it accounts for all frames that came.
func checkFull(t *testing.T, tale *tale, d *memDisk, came *expected) {
	t.Helper()
	if len(d.b) < dataStart {
		return
	}
	for _, full := range []bool{true, false} {
		if !full {
			d.limit = 0
		}
		before, err := newReader(d, int64(len(d.b)))
		if err != nil {
			t.Fatal(err)
		}
		rep, err := repair(d, int64(len(d.b)), came)
		if err != nil {
			t.Fatalf("repair on a full disk %v: %v", full, err)
		}
		r, err := newReader(d, int64(len(d.b)))
		if err != nil {
			t.Fatal(err)
		}
		if r.Frames() < before.Frames() || r.Frames() != rep.Kept || !full && !r.complete {
			t.Fatalf("%d frames of %d, complete %v, %+v", r.Frames(), before.Frames(), r.complete, rep)
		}
		if r.complete && len(r.segments) > 0 {
			checkTail(t, r, came)
		}
		for n := range r.Frames() {
			m, err := r.Image(n)
			if err == nil {
				err = tale.frames[n%20].is(m)
			}
			if err != nil {
				t.Fatalf("frame %d: %v", n, err)
			}
		}
		if v, err := r.Verify(context.Background(), nil); err != nil || len(v.Problems) > 0 {
			t.Fatalf("verify: %+v, %v", v, err)
		}
	}
	if err := repairIsDone(d); err != nil {
		t.Fatal(err)
	}
}

// TestFailedSync uses a disk that accepts writes and cannot sync them.
func TestFailedSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &failingSync{}
		w := newWriter(d, testOptions())
		err := w.Segment(format(t, frame.GREY, 8, 8, 0), 1, 60)
		synctest.Wait()
		if err == nil {
			err = w.WriteFrame(make([]byte, 64), metaOf(0), nil)
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("write: %v, want EIO", err)
		}
		if err := w.Close(); !errors.Is(err, syscall.EIO) || w.Stats().Durable != 0 {
			t.Errorf("close: %v, want EIO; %d bytes durable", err, w.Stats().Durable)
		}
	})
}

type failingSync struct{ memDisk }

func (*failingSync) Sync() error { return syscall.EIO }

// gatedDisk lets no write through until it is opened.
type gatedDisk struct {
	memDisk
	gate chan struct{}
}

func (d *gatedDisk) WriteAt(p []byte, off int64) (int, error) {
	<-d.gate
	return d.memDisk.WriteAt(p, off)
}

// TestStalledDisk stops the disk until the writer has to wait, tells it of the pressure, and lets
// go again.
func TestStalledDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := format(t, frame.GREY, 4096, 512, 0)
		noise, flat := film(t, 1, f, 1)[0], make([]byte, 4096*512)
		for i := range noise {
			noise[i] = byte(i * i >> 7 * 31 >> 3)
		}
		frames := [][]byte{noise, flat}
		d := &gatedDisk{gate: make(chan struct{})}
		w := newWriter(d, testOptions())
		w.SetPressure(1)
		if err := w.Segment(f, 1, 60); err != nil {
			t.Fatal(err)
		}
		const total = 60
		var written atomic.Int32
		var wg sync.WaitGroup
		wg.Go(func() {
			for n := range total {
				if err := w.WriteFrame(frames[n%2], metaOf(n), nil); err != nil {
					t.Errorf("frame %d: %v", n, err)
				}
				written.Add(1)
			}
		})
		synctest.Wait()
		if n := written.Load(); n < buffers/2 || n >= total {
			t.Errorf("%d of %d frames were taken while the disk stood still", n, total)
		}
		close(d.gate)
		wg.Wait()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if s := w.Stats(); s.RawBlocks != s.Blocks || s.Blocks == 0 {
			t.Errorf("%d of %d blocks are stored raw under the highest pressure", s.RawBlocks, s.Blocks)
		}
		r, err := newReader(d, int64(len(d.b)))
		if err != nil || r.Frames() != total {
			t.Fatalf("%d frames, %v", r.Frames(), err)
		}
		if v, err := r.Verify(context.Background(), nil); err != nil || len(v.Problems) > 0 || v.Checked != total {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

// TestPressureMakesBlocksLarger follows the steps from residuals to LZ4, fast LZ4 and uncompressed.
func TestPressureMakesBlocksLarger(t *testing.T) {
	f := format(t, frame.BGR4, 256, 128, 0)
	all := film(t, 9, f, 1)
	rng := rand.New(rand.NewPCG(1, 1))
	for len(all) < 30 {
		next := make([]byte, len(all[0]))
		for i := range next {
			next[i] = byte(i/64+len(all)) + byte(rng.IntN(6))
		}
		all = append(all, next)
	}
	last := int64(0)
	for _, pressure := range []float64{0, 0.25, 0.7, 1} {
		d := &memDisk{}
		w := newWriter(d, testOptions())
		w.SetPressure(pressure)
		if err := w.Segment(f, 1, 60); err != nil {
			t.Fatal(err)
		}
		for i, pix := range all {
			if err := w.WriteFrame(pix, metaOf(i), nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		size := w.Stats().BytesOut
		if predicted := predictedBlocks(t, d) > 0; predicted != (pressure == 0) {
			t.Errorf("pressure %v: blocks of residuals: %v", pressure, predicted)
		}
		if size < last {
			t.Errorf("pressure %v: %d bytes, less than the %d of a lower one", pressure, size, last)
		}
		last = size
		r, err := newReader(d, int64(len(d.b)))
		if err != nil {
			t.Fatal(err)
		}
		checkFrames(t, r, all)
	}
	if last < int64(len(all)-1)*int64(len(all[0])) {
		t.Errorf("%d bytes under the highest pressure: something was compressed", last)
	}
}

// TestReadWhileItGrows opens the recording before every frame that is written.
func TestReadWhileItGrows(t *testing.T) {
	tale := powerTale(t, 31)
	d := &memDisk{}
	synctest.Test(t, func(t *testing.T) {
		o := testOptions()
		o.SyncEvery = 250 * time.Millisecond
		w := newWriter(d, o)
		last := 0
		err := tale.write(w, func(n int) {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			last = checkGrowing(t, tale, d, n, last)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if last < len(tale.frames)-5 {
			t.Errorf("only %d of %d frames were seen before the end", last, len(tale.frames))
		}
	})
}

func checkGrowing(t *testing.T, tale *tale, d *memDisk, given, last int) int {
	t.Helper()
	d.mu.Lock()
	size := len(d.b)
	d.mu.Unlock()
	if size == 0 {
		return 0
	}
	r, err := newReader(d, int64(size))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.damage) > 0 || r.complete || r.Frames() > given || r.Frames() < max(last, given-4) {
		t.Fatalf("damage %v, complete %v, %d frames of %d given", r.damage, r.complete, r.Frames(), given)
	}
	if err := allReadable(tale, r, r.Frames()); err != nil {
		t.Fatal(err)
	}
	return r.Frames()
}

// settle waits until everything that was planned is in the file's buffers.
func settle(w *Writer) {
	var idle [jobsInFlight]*job
	for i := range idle {
		idle[i] = <-w.jobs
	}
	for _, j := range idle {
		w.jobs <- j
	}
}

// TestLentFrameChanged: a source that writes into a frame that it has lent is found out at the next
// checkpoint.
//
// Fault: A source writes into a frame that it has passed on
func TestLentFrameChanged(t *testing.T) {
	f, _ := frame.NewFormat(frame.GREY, 64, 32)
	pix := make([]byte, f.Size())
	d := &memDisk{}
	w := newWriter(d, testOptions())
	if err := w.Segment(f, 1, 60); err != nil {
		t.Fatal(err)
	}
	var err error
	for i := 0; i < 200 && err == nil; i++ {
		if i == 1 {
			settle(w) // nobody is packing it any more
			pix[70]++ // the frame before it is this very memory
		}
		err = w.WriteFrame(pix, metaOf(i), nil)
	}
	if err == nil || !strings.Contains(err.Error(), "changed while it was recorded") {
		t.Errorf("writing went on: %v", err)
	}
	if cerr := w.Close(); cerr == nil {
		t.Error("close says nothing")
	}
}

// TestStillScreen: three minutes of a screen that stands still cost next to nothing, its heads and
// its checkpoints. (Flushes, which are by the clock and stand still here, add up to 8192 bytes a
// second.)
func TestStillScreen(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 320, 180)
	pix := make([]byte, f.Size())
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range pix {
		pix[i] = byte(rng.Uint32()) // so that storing it once more would show
	}
	const seconds = 180
	d := &memDisk{}
	record(t, d, f, slices.Repeat([][]byte{pix}, seconds*60))
	if perSecond := (len(d.b) - len(pix)) / seconds; perSecond > 8000 {
		t.Errorf("a still screen grows by %d bytes a second", perSecond)
	}
}
