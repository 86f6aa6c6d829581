package recording

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
)

// logDisk remembers every write and sync with its time, in order. From it, any state in which a
// crash may leave the disk can be made.
type logDisk struct {
	memDisk
	wait func() // how long a write or a sync takes

	logMu sync.Mutex
	ops   []diskOp
}

// diskOp is a write that was finished, or a sync and how many operations were finished when it
// began.
type diskOp struct {
	at    time.Time
	off   int64
	data  []byte // nil: a sync
	after int
}

func (d *logDisk) WriteAt(p []byte, off int64) (int, error) {
	at := time.Now()
	d.wait()
	d.log(diskOp{at: at, off: off, data: bytes.Clone(p)})
	return d.memDisk.WriteAt(p, off)
}

func (d *logDisk) Sync() error {
	d.logMu.Lock()
	after := len(d.ops)
	d.logMu.Unlock()
	d.wait()
	d.log(diskOp{at: time.Now(), after: after})
	return nil
}

func (d *logDisk) log(op diskOp) {
	d.logMu.Lock()
	d.ops = append(d.ops, op)
	d.logMu.Unlock()
}

// image is what a power cut after the first n operations leaves: all that was synced, and of the
// blocks written since then those that the dice choose. The file may end anywhere between. It
// returns also how much was durable, and which blocks were lost.
func (d *logDisk) image(rng *rand.Rand, n int) (b []byte, durable int, lost map[int]bool) {
	synced := 0
	for _, op := range d.ops[:n] {
		if op.data == nil {
			synced = max(synced, op.after)
		}
	}
	end := 0
	lost = map[int]bool{}
	kept := rng.Float64() // each image has its own share of surviving blocks
	for i, op := range d.ops[:n] {
		to := int(op.off) + len(op.data)
		b = append(b, make([]byte, max(0, to-len(b)))...)
		if i < synced {
			copy(b[op.off:], op.data)
			durable = max(durable, to)
			continue
		}
		for at := 0; at < len(op.data); at += blockSize {
			if rng.Float64() < kept {
				copy(b[int(op.off)+at:], op.data[at:at+blockSize])
			} else {
				lost[int(op.off)+at] = true
			}
		}
		end = max(end, to)
	}
	if end > durable {
		switch rng.IntN(3) {
		case 0: // everything of its length, some of it zero
		case 1:
			end = durable + rng.IntN(end-durable+1)
		case 2:
			end = durable + rng.IntN((end-durable)/blockSize+1)*blockSize
		}
		b = b[:end]
	}
	return b, durable, lost
}

// powerTale is a film of several segments with blocks on disk that hold one record, parts of one,
// and many.
func powerTale(t *testing.T, seed uint64) *tale {
	tale := newTale(t, seed, 100*time.Millisecond,
		talePart{format(t, frame.BGR4, 48, 40, 0), 20},
		talePart{format(t, frame.RGB4, 48, 40, 0), 15},
		talePart{format(t, frame.NV12, 32, 16, 8), 15})
	rng := rand.New(rand.NewPCG(seed, 1))
	for n := 20; n < 35; n += 2 {
		smooth(tale.frames[n].pix, n, rng)
	}
	return tale
}

// TestPowerCuts makes a thousand images of a disk whose power failed.
//
// Fault: The power fails, and unsynced blocks are old or zero
func TestPowerCuts(t *testing.T) {
	const tales, images = 8, 125
	type recorded struct {
		tale *tale
		disk *logDisk
		all  []recordAt
	}
	var done []recorded
	for k := range tales {
		rng := rand.New(rand.NewPCG(uint64(k), 3))
		d := &logDisk{wait: func() { time.Sleep(time.Duration(50+130*k) * time.Millisecond) }}
		tale := powerTale(t, rng.Uint64())
		tale.record(t, d, 100*time.Millisecond, time.Duration(150+50*k)*time.Millisecond)
		mustHave(t, &d.memDisk, "raw", "LZ4", "residuals, Huffman")
		done = append(done, recorded{tale, d, records(t, d.b)})
	}
	var mu sync.Mutex
	var holes, afterHoles int
	inParallel(t, tales*images, func(i int) error {
		if !picked(i) {
			return nil
		}
		r := done[i%tales]
		rng := rand.New(rand.NewPCG(uint64(i), 4))
		n := 1 + rng.IntN(len(r.disk.ops))
		b, durable, lost := r.disk.image(rng, n)
		h, a, err := checkPowerCut(r.tale, r.all, b, durable, lost)
		mu.Lock()
		defer mu.Unlock()
		holes, afterHoles = holes+h, afterHoles+a
		return err
	})
	t.Cleanup(func() {
		// The blocks of a record depend on the goroutines' order, so the numbers vary.
		if !testing.Short() && (holes == 0 || afterHoles == 0) {
			t.Errorf("%d images with holes, %d whole records behind them", holes, afterHoles)
		}
	})
}

// checkPowerCut reads an image, repairs it, and reads it again.
func checkPowerCut(tale *tale, all []recordAt, b []byte, durable int, lost map[int]bool) (holes, afterHoles int,
	err error) {
	d := &memDisk{b: slices.Clone(b)}
	r, err := newReader(d, int64(len(b)))
	if durable < dataStart { // nothing was promised yet
		if err != nil {
			return 0, 0, nil
		}
	}
	if err != nil {
		return 0, 0, err
	}
	before, err := tale.check(r)
	if err != nil {
		return 0, 0, err
	}
	want := framesBefore(all, int64(durable))
	if i := slices.Index(before[:want], false); i >= 0 {
		return 0, 0, fmt.Errorf("frame %d of %d durable ones cannot be read", i, want)
	}
	if err := checkRepairKeeps(tale, d, before); err != nil {
		return 0, 0, err
	}
	broken := false
	for _, rec := range all {
		if !intact(rec, len(b), lost) {
			broken = broken || rec.to <= int64(len(b))
			continue
		}
		if !bytes.Equal(d.b[rec.from:rec.to], b[rec.from:rec.to]) {
			return 0, 0, fmt.Errorf("repair changed the whole %v record at offset %d", rec.typ, rec.from)
		}
		if broken {
			afterHoles++
		}
	}
	if broken {
		holes = 1
	}
	return holes, afterHoles, checkPrecise(all, d, durable, lost, len(b))
}

// intact reports whether all of a record is in an image.
func intact(rec recordAt, size int, lost map[int]bool) bool {
	for at := rec.from &^ (blockSize - 1); at < rec.to; at += blockSize {
		if lost[int(at)] {
			return false
		}
	}
	return rec.to <= int64(size)
}

// checkPrecise verifies a repaired image: problems are named where something was lost, and only
// there.
func checkPrecise(all []recordAt, d *memDisk, durable int, lost map[int]bool, size int) error {
	r, err := newReader(d, int64(len(d.b)))
	if err != nil {
		return err
	}
	v, err := r.Verify(context.Background(), nil)
	if err != nil {
		return err
	}
	lastDurable, damaged := int64(dataStart), false
	for _, rec := range all {
		if rec.typ == typeFrame && rec.to <= int64(durable) {
			lastDurable = rec.to
		}
		damaged = damaged || rec.from < int64(size) && !intact(rec, size, lost)
	}
	for _, p := range v.Problems {
		if !damaged || p.Offset < lastDurable {
			return fmt.Errorf("verify finds a problem where nothing was lost: %+v", p)
		}
	}
	return nil
}

// TestKilled stops a recording as kill -9 does. Written bytes stay, others are gone. The loss is at
// most the frames of one SyncEvery.
func TestKilled(t *testing.T) {
	const every, sync = 50 * time.Millisecond, 400 * time.Millisecond
	tale := newTale(t, 8, every, talePart{format(t, frame.BGR4, 48, 40, 0), 60},
		talePart{format(t, frame.GREY, 33, 9, 2), 40})
	d := &logDisk{wait: func() {}}
	tale.record(t, d, every, sync)
	all := records(t, d.b)
	started := d.ops[0].at
	var b []byte
	tried := 0
	for _, op := range d.ops {
		if op.data == nil {
			continue
		}
		// The process dies at some point of this write: none, a part or all of it is in the file.
		rng := rand.New(rand.NewPCG(uint64(op.off), 6))
		promised := 0 // frame i was given after i+1 periods
		for time.Duration(promised+1)*every+sync < op.at.Sub(started) {
			promised++
		}
		for _, n := range []int{0, rng.IntN(len(op.data)), len(op.data)} {
			image := append(slices.Clone(b), op.data[:n]...)
			if len(image) < dataStart {
				continue
			}
			have := framesBefore(all, int64(len(image)))
			if have < promised {
				t.Fatalf("after %v: %d frames in the file, %d were given more than %v before", op.at.Sub(started), have,
					promised, sync)
			}
			if len(image) < len(d.b) {
				if err := checkCut(tale, all, image); err != nil {
					t.Fatalf("killed with %d bytes written: %v", len(image), err)
				}
				tried++
			}
		}
		b = append(b, op.data...)
	}
	if tried < 30 {
		t.Errorf("only %d images", tried)
	}
}
