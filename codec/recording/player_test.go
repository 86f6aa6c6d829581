package recording

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

// clip is a film of scenes as players meet them: a video in a box, held frames, moving rows, and
// the changes of scribble.
func clip(t testing.TB, rng *rand.Rand, f frame.Format, frames int) [][]byte {
	t.Helper()
	l, err := frame.NewLayout(f)
	if err != nil {
		t.Fatal(err)
	}
	all := [][]byte{make([]byte, l.Size)}
	for len(all) < frames {
		y0, n, x0 := rng.IntN(len(l.Rows)), 1+rng.IntN(len(l.Rows)), rng.IntN(l.Rows[0].Bytes/2)
		held := rng.IntN(3)
		for range 1 + rng.IntN(12) {
			last := all[len(all)-1]
			next := scribble(rng, l, last)
			if rng.IntN(8) > 0 {
				next = bytes.Clone(last)
				for y := y0; y < min(y0+n, len(l.Rows)); y++ {
					row := l.Row(next, y)
					for i := x0; i < min(len(row), x0+120); i++ {
						row[i] = byte(rng.Uint32())
					}
				}
			}
			all = append(all, next)
			for range held {
				all = append(all, next)
			}
		}
	}
	return all[:frames]
}

// TestPlayersSideBySide plays with as many players as there may be before each fetches for itself,
// and more. They go on by whole frames, or by some rows.
func TestPlayersSideBySide(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 4))
		f := format(t, []frame.PixelFormat{frame.BGR4, frame.NV12, frame.P422, frame.YUYV}[seed%4], 64, 48, 0)
		all := clip(t, rng, f, 150)
		var d memDisk
		record(t, &d, f, all)
		r, err := newReader(&d, int64(len(d.b)))
		if err != nil {
			t.Fatal(err)
		}
		type playing struct {
			*Player
			next int
		}
		var players []playing
		for range 2 + runtime.GOMAXPROCS(0) {
			from := rng.IntN(len(all))
			p, err := r.Play(from, len(all))
			if err != nil {
				t.Fatal(err)
			}
			players = append(players, playing{p, from})
		}
		for len(players) > 0 {
			k := rng.IntN(len(players))
			p := &players[k]
			next := p.Next
			lazily := rng.IntN(2) == 0
			if lazily {
				next = p.begin
			}
			if !next() {
				if p.Err() != nil || p.next != len(all) {
					t.Fatalf("seed %d: played to frame %d: %v", seed, p.next, p.Err())
				}
				p.Close()
				players = append(players[:k], players[k+1:]...)
				continue
			}
			if lazily { // some rows, and more, and perhaps all
				for rows := 0; rows < len(r.segments[0].Layout.Rows); rows += rng.IntN(40) {
					if err := p.fillRows(rows); err != nil {
						t.Fatal(err)
					}
					checkRows(t, frame.Image{Layout: p.Image().Layout, Rows: p.Image().Rows[:rows]}, all[p.next])
					if rng.IntN(4) == 0 {
						break
					}
				}
			} else {
				checkRows(t, p.Image(), all[p.next])
			}
			if before, ok := p.previous(); ok {
				checkRows(t, before, all[p.next-1])
			}
			p.next++
		}
		if n := r.players.Load(); n != 0 {
			t.Fatalf("%d players are still at work", n)
		}
	}
}

func checkRows(t testing.TB, m frame.Image, want []byte) {
	t.Helper()
	for y, row := range m.Rows {
		if !bytes.Equal(row, m.Layout.Row(want, y)) {
			t.Fatalf("row %d is not what it was", y)
		}
	}
}

// BenchmarkSteps goes through frames of which all, a box or nothing changes; one operation is one
// frame.
func BenchmarkSteps(b *testing.B) {
	f := format(b, frame.BGR4, 1920, 1080, 0)
	l, err := frame.NewLayout(f)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 4))
	for _, c := range []struct {
		name          string
		width, height int
		frames        int
	}{{"nothing", 0, 0, 2000}, {"caret", 2, 20, 2000}, {"video", 1280, 720, 12}} {
		b.Run("changes="+c.name, func(b *testing.B) {
			pix := make([]byte, l.Size)
			var some [][]byte
			for range min(4, c.frames) {
				for y := range c.height {
					row := l.Row(pix, y)[:4*c.width]
					for i := range row {
						row[i] = byte(rng.Uint32())
					}
				}
				some = append(some, bytes.Clone(pix))
			}
			var all [][]byte
			for len(all) < c.frames {
				all = append(all, some[len(all)%len(some)])
			}
			var d memDisk
			record(b, &d, f, all)
			r, err := newReader(&d, int64(len(d.b)))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(4 * c.width * c.height))
			left := 0
			var p *Player
			for b.Loop() {
				if left == 0 {
					if p != nil {
						p.Close()
					}
					if p, err = r.Play(1, len(all)); err != nil {
						b.Fatal(err)
					}
					left = len(all) - 1
				}
				left--
				if !p.Next() {
					b.Fatal(p.Err())
				}
			}
			p.Close()
		})
	}
}

// TestReadsFromMemory reads noise that is coded as residuals. Unpacking them takes long. The time
// that tells a slow disk ends before that.
func TestReadsFromMemory(t *testing.T) {
	p := phases()[5]
	f, all := p.film(t, newStage(640, 360, 6, 1), 20)
	var d memDisk
	record(t, &d, f, all)
	r, err := newReader(&d, int64(len(d.b)))
	if err != nil {
		t.Fatal(err)
	}
	var head frameHead
	var dst []byte
	unpacked := func() bool { return slices.ContainsFunc(dst, func(v byte) bool { return v != 0 }) }
	step, looks, late := time.Duration(0), 0, 0
	at := time.Now()
	b := blockReader{warm: new(atomic.Bool), now: func() time.Time {
		looks++
		if unpacked() {
			late++
		}
		at = at.Add(step)
		return at
	}}
	residuals := 0
	for n := range all {
		if err := r.frameHead(n, &head); err != nil {
			t.Fatal(err)
		}
		for i := range head.blocks {
			block := &head.blocks[i]
			if block.kind == rowdelta.Plain || block.raw < rowdelta.BlockSize/2 {
				continue
			}
			dst = make([]byte, block.raw)
			step = time.Duration(residuals%2) * time.Millisecond // every other read is slow
			if err := b.read(r, block, dst); err != nil {
				t.Fatal(err)
			}
			if b.warm.Load() != (residuals%2 == 0) || !unpacked() {
				t.Fatalf("block %d: from memory: %v, unpacked: %v", residuals, b.warm.Load(), unpacked())
			}
			residuals++
		}
	}
	if residuals < len(all) || looks != 2*residuals || late > 0 {
		t.Errorf("%d blocks, %d looks at the clock, %d of them after unpacking", residuals, looks, late)
	}
}
