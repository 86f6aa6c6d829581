package x11

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	capturex11 "github.com/eideticker/eideticker/capture/x11"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/ringbuf"
)

// painter is a client that paints as soon as it has read a key, alternating between two colours. A
// second connection reads its painting.
type painter struct {
	*client
	look   *connection
	colour uint32
}

func startPainter(t testing.TB, display string) *painter {
	t.Helper()
	look, err := connect(display)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(look.close)
	if err := xtest.Init(look.Conn); err != nil {
		t.Fatal(err)
	}
	return &painter{client: startClient(t, display, true, true), look: look}
}

// turn has the next key painted in the other colour.
func (p *painter) turn() {
	p.t.Helper()
	p.colour ^= 0xffffff
	if err := xproto.ChangeGCChecked(p.Conn, p.gc, xproto.GcForeground, []uint32{p.colour}).Check(); err != nil {
		p.t.Fatal(err)
	}
}

// pressed presses a key by a driver, and lets it go when seen returns.
func (p *painter) pressed(d *Driver, seen func(sent timeline.Interval)) {
	p.t.Helper()
	p.turn()
	sent, err := d.Do(p.t.Context(), 0, input.KeyDown{Key: "a"})
	if err != nil {
		p.t.Fatal(err)
	}
	seen(sent)
	do(p.t, d, input.KeyUp{Key: "a"})
}

// seen reads the screen as fast as the server gives it until the colour is there. It returns when
// that was, and how long each reading took.
func (p *painter) seen() (at timeline.Time, reading []time.Duration) {
	p.t.Helper()
	clock := timeline.Monotonic()
	for {
		began := clock.Now()
		pix, err := xproto.GetImage(p.look.Conn, xproto.ImageFormatZPixmap, xproto.Drawable(p.look.root), 0, 0, 1, 1,
			1<<32-1).Reply()
		if err != nil {
			p.t.Fatal(err)
		}
		at = clock.Now()
		if reading = append(reading, at.Sub(began)); le.Uint32(pix.Data)&0xffffff == p.colour {
			return at, reading
		}
	}
}

// plainly is the median time from a bare XTEST request to the pixel: what this machine, as busy as
// it is, takes without a driver.
func (p *painter) plainly(presses int) time.Duration {
	p.t.Helper()
	const keycode = 38
	fake := func(kind byte) {
		if err := xtest.FakeInputChecked(p.look.Conn, kind, keycode, 0, p.look.root, 0, 0, 0).Check(); err != nil {
			p.t.Fatal(err)
		}
	}
	var all []time.Duration
	for range presses {
		p.turn()
		began := timeline.Monotonic().Now()
		fake(xproto.KeyPress)
		at, _ := p.seen()
		all = append(all, at.Sub(began))
		fake(xproto.KeyRelease)
	}
	return median(all)
}

// looker is a capture of the painter's corner of the screen at work.
type looker struct {
	t         testing.TB
	frames    *ringbuf.Reader[frame.Meta]
	last      timeline.Time
	intervals []time.Duration // between the frames that were read
}

// capturing captures so many frames a second until the test ends.
func capturing(t testing.TB, display string, fps int) *looker {
	t.Helper()
	src, err := capturex11.Open(display, url.Values{"fps": {fmt.Sprint(fps)}, "cursor": {"0"}, "region": {"32x32+0+0"}})
	if err != nil {
		t.Fatal(err)
	}
	size := src.Info().Format.Size()
	ring, err := ringbuf.New[frame.Meta](make([]byte, ringbuf.BytesFor(64, size)+ringbuf.Alignment), size)
	if err != nil {
		t.Fatal(err)
	}
	l := &looker{t: t, frames: ring.NewReader(ringbuf.Lossless)}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- src.Run(ctx, ring, func(timeline.Event) {}) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// until returns when the first frame with a colour was taken. It also returns how many frames were
// begun after since until then.
func (l *looker) until(colour uint32, since timeline.Time) (at timeline.Time, frames int) {
	l.t.Helper()
	for {
		lease, err := l.frames.Next(l.t.Context())
		if err != nil {
			l.t.Fatal(err)
		}
		sampled, shown := lease.Meta().Sampled, le.Uint32(lease.Bytes())&0xffffff
		lease.Release()
		if l.last != 0 {
			l.intervals = append(l.intervals, sampled.Mid().Sub(l.last))
		}
		l.last = sampled.Mid()
		if sampled.Latest >= since {
			frames++
		}
		if shown == colour && frames > 0 {
			return l.last, frames
		}
	}
}

// captureRate returns the highest usual display rate, or half of one, whose interval is several
// times took.
func captureRate(took time.Duration) int {
	const times = 8
	fps := 60
	for fps > 1 && time.Second/time.Duration(fps) < times*took {
		fps /= 2
	}
	return fps
}

// TestPixel: half of the pressed keys are on the screen within one interval of its capture. The
// client paints at once. The capture has 60 Hz, unless a bare request takes an eighth of that on a
// busy machine. Then the capture is slower by as much, as it would be held up, too.
func TestPixel(t *testing.T) {
	display := startDisplay(t).Name()
	d, p := openDriver(t, display), startPainter(t, display)
	plainly := p.plainly(50)
	l := capturing(t, display, captureRate(plainly))
	l.until(p.colour, 0)
	const presses = 100
	random := rand.New(rand.NewPCG(1, 0))
	period := time.Second / time.Duration(captureRate(plainly))
	var took []time.Duration
	in := map[int]int{} // how many were seen in which frame behind the key
	for range presses {
		anywhere := timeline.Monotonic().Now().Add(time.Duration(random.Int64N(int64(period)))) // between two frames
		if err := timeline.SleepUntil(t.Context(), anywhere); err != nil {
			t.Fatal(err)
		}
		p.pressed(d, func(sent timeline.Interval) {
			at, frames := l.until(p.colour, sent.Earliest)
			took = append(took, at.Sub(sent.Mid()))
			in[frames]++
		})
	}
	interval := median(l.intervals)
	slices.Sort(took)
	of := func(percent int) float64 { return float64(took[(presses-1)*percent/100]) / float64(interval) }
	t.Logf("send to pixel, in intervals of the capture, %v: least %.2f, p5 %.2f, p25 %.2f, p50 %.2f, p75 %.2f, "+
		"p95 %.2f, most %.2f; a bare request takes %.2f",
		interval, of(0), of(5), of(25), of(50), of(75), of(95), of(100), float64(plainly)/float64(interval))
	t.Logf("keys by the frame that shows them, counted from the first one behind the key: %v", in)
	if of(50) > 1 {
		t.Errorf("half of the keys take more than %.2f intervals of the capture to the screen, want at most 1", of(50))
	}
}

// BenchmarkPixel measures from the interval's middle to the change on the screen. The screen is
// read as fast as the server allows, so a pixel's time is known to one reading.
func BenchmarkPixel(b *testing.B) {
	display := startDisplay(b).Name()
	d, p := openDriver(b, display), startPainter(b, display)
	var all, reading []time.Duration
	for b.Loop() {
		p.pressed(d, func(sent timeline.Interval) {
			at, looks := p.seen()
			all, reading = append(all, at.Sub(sent.Mid())), append(reading, looks...)
		})
	}
	const frame = time.Second / 60
	slices.Sort(all)
	p50, p95 := all[len(all)/2], all[len(all)*95/100]
	b.ReportMetric(float64(p50.Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(p95.Nanoseconds()), "p95-ns")
	b.ReportMetric(float64(p50)/float64(frame), "p50/frame")
	b.ReportMetric(float64(p95)/float64(frame), "p95/frame")
	b.ReportMetric(float64(median(reading).Nanoseconds()), "reading-ns")
	if len(all) >= 100 && p50 > frame {
		b.Errorf("half of the keys take more than %v to the screen: one frame of 60 Hz takes %v", p50, frame)
	}
}
