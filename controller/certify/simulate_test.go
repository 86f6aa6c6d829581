package certify

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// simulation is a source that plays to itself through a path with known faults, without a clock of
// the world: what a report must find, and all that it may find. A number of 0 is a fault that the
// path has not.
type simulation struct {
	Width, Height int // of the played signal
	Frames        int
	Format        frame.PixelFormat // of the recorded signal; BGR4 if 0

	Freeze  int           // each Nth frame shows the picture before it instead of its own
	Double  int           // each Nth frame is delivered twice within its time
	Skip    int           // each Nth frame never comes, and the numbers hide it
	Lose    int           // each Nth frame never comes, and the numbers tell it
	Missed  frame.Cause   // and this is why
	Swap    int           // each Nth frame and its successor come in the wrong order
	Tear    int           // each Nth frame has the lower half of the one before
	Delay   time.Duration // of the whole path
	Later   int           // from this frame on the path is a period slower
	Tardy   int           // this frame is sampled most of a period late: the recorder's own fault
	Whole   int           // none of the first frames is torn
	Pad     bool          // the lowest two bits of 10 are lost
	Blend   float64       // share of the picture before in each frame
	Late    int           // each Nth picture is put half a period late: the player's own fault
	Unput   int           // each Nth number is never put: the player's own fault
	Stale   int           // each Nth frame shows a picture of another run
	Picture []effect      // what happens to pixels

	Free   bool // the output has a clock of its own, a fiftieth slower, and knows times to a millisecond only
	silent bool // the player tells nothing

	shown           []delivered // the recorded frames
	painter, before *painter
	info            capture.Info
	layout          *frame.Layout
}

// delivered is a frame that was recorded: the picture that it shows, and the one that was on the
// output.
type delivered struct{ shows, there int }

// simPeriod is the simulated mode's: 59.94 Hz.
func simPeriod() capture.Rational { return capture.Rational{Num: 1001, Den: 60000} }

// Open prepares the simulation, which is a [capture.Source] from then on.
func (s *simulation) Open() error {
	p, err := newPattern(s.Width, s.Height, 0x5aa5)
	if err != nil {
		return err
	}
	if s.painter, err = newPainter(p); err != nil {
		return err
	}
	if s.before, err = newPainter(p); err != nil {
		return err
	}
	out := s.deform(canvas{s.painter.pix, s.Width}, rand.New(rand.NewPCG(1, 1)))
	if s.Format == 0 {
		s.Format = frame.BGR4
	}
	f, err := frame.NewFormat(s.Format, out.width, len(out.pix)/4/out.width)
	if err != nil {
		return err
	}
	if s.layout, err = frame.NewLayout(f); err != nil {
		return err
	}
	period := simPeriod()
	meta, err := played{
		Version: patternVersion, Output: "simulation", Width: s.Width, Height: s.Height, Nonce: p.Nonce,
		Clocked:   !s.Free,
		PeriodNum: period.Num, PeriodDen: period.Den,
	}.metadata()
	s.info = capture.Info{URI: "simulation", Format: f, OwnClock: true, Period: period,
		Metadata: []capture.Metadata{meta}}
	return err
}

func (s *simulation) deform(c canvas, rng *rand.Rand) canvas {
	for _, e := range s.Picture {
		c = e(c, rng)
	}
	return c
}

// Info describes the source.
func (s *simulation) Info() capture.Info { return s.info }

// Close does nothing: there is only memory.
func (s *simulation) Close() error { return nil }

// put returns when picture n appears, or that it never does.
func (s *simulation) put(n int) (timeline.Time, bool) {
	at := timeline.Time(time.Second).Add(simPeriod().Duration(uint64(n)))
	if s.Free {
		at = at.Add(simPeriod().Duration(uint64(n)) / 50)
	}
	if every(s.Late, n) {
		at = at.Add(simPeriod().Duration(1) * 2 / 3)
	}
	return at, !every(s.Unput, n)
}

func every(period, n int) bool { return period > 0 && n%period == period-1 }

// showing returns the picture that is on the output at a time.
func (s *simulation) showing(t timeline.Time) int {
	n := min(int(t.Sub(timeline.Time(time.Second))/simPeriod().Duration(1))+2, s.Frames-1)
	for ; n > 0; n-- {
		if at, ok := s.put(n); ok && at <= t {
			break
		}
	}
	return n
}

// Run plays and delivers.
func (s *simulation) Run(ctx context.Context, ring *capture.Ring, events func(timeline.Event)) error {
	for n := range s.Frames {
		if at, ok := s.put(n); ok && !s.silent {
			when := timeline.At(at)
			if s.Free {
				when = timeline.Interval{Earliest: at.Add(-time.Millisecond / 3),
					Latest: at.Add(time.Millisecond * 2 / 3)}
			}
			events(putEvent(n, when))
		}
	}
	period := simPeriod().Duration(1)
	end := timeline.Time(time.Second).Add(simPeriod().Duration(uint64(s.Frames)))
	events(timeline.Event{At: end, Source: eventSource, Kind: eventEnd})
	d := delivery{s: s, ctx: ctx, ring: ring, rng: rand.New(rand.NewPCG(2, 2)), packer: frame.NewPacker(s.layout)}
	last := 0
	for i := range s.Frames {
		at := timeline.Time(time.Second).Add(simPeriod().Duration(uint64(i)) + period/2)
		if i == s.Tardy && i > 0 {
			at = at.Add(period * 9 / 10)
		}
		n := s.showing(at)
		at = at.Add(s.Delay)
		if s.Later > 0 && i >= s.Later {
			n = s.showing(at.Add(-s.Delay - period))
		}
		there := n
		switch {
		case every(s.Freeze, i):
			n = last
		case every(s.Swap, i):
			n = min(n+1, s.Frames-1)
		case i > 0 && every(s.Swap, i-1):
			n = max(0, n-1)
		}
		last = n
		if every(s.Lose, i) {
			d.seq++
			d.missed = s.Missed
			continue
		}
		if every(s.Skip, i) {
			continue
		}
		s.shown = append(s.shown, delivered{n, there})
		if err := d.deliver(at, n, every(s.Tear, i) && i >= s.Whole); err != nil {
			return capture.UnlessEnded(ctx, err)
		}
		if every(s.Double, i) {
			if err := d.deliver(at.Add(period/5), n, false); err != nil {
				return capture.UnlessEnded(ctx, err)
			}
		}
	}
	return nil
}

// delivery writes frames into a ring.
type delivery struct {
	s      *simulation
	ctx    context.Context
	ring   *capture.Ring
	rng    *rand.Rand
	packer *frame.Packer
	seq    uint64
	missed frame.Cause
}

// deliver delivers picture n, of which the lower half is older if it is torn.
func (d *delivery) deliver(at timeline.Time, n int, torn bool) error {
	s := d.s
	nonce := s.painter.Nonce
	if every(s.Stale, int(d.seq)) {
		s.painter.Nonce++
	}
	pix, err := s.painter.paint(n)
	s.painter.Nonce = nonce
	if err != nil {
		return err
	}
	if torn || s.Blend > 0 {
		old, err := s.before.paint(max(0, n-1))
		if err != nil {
			return err
		}
		if torn {
			copy(pix[len(pix)/2:], old[len(pix)/2:])
		}
		blend(pix, old, s.Blend)
	}
	out := s.deform(canvas{pix, s.Width}, d.rng)
	slot, err := d.ring.Acquire(d.ctx)
	if err != nil {
		return err
	}
	d.packer.BGRX(slot.Bytes()[:s.layout.Size], out.pix)
	if s.Pad {
		for i := 0; i < s.layout.Size; i += 2 {
			slot.Bytes()[i] = 0
		}
	}
	slot.Commit(s.layout.Size, frame.Meta{Sequence: d.seq, Sampled: timeline.At(at), Missed: d.missed})
	d.seq++
	d.missed = frame.NoCause
	return nil
}

// blend mixes a share of the old picture into the new.
func blend(pix, old []byte, share float64) {
	if share == 0 {
		return
	}
	for i, v := range pix {
		pix[i] = byte(float64(v)*(1-share) + float64(old[i])*share + 0.5)
	}
}
