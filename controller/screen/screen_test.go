package screen

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/synth"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/suite"
)

// canvas feeds a screen with frames of 64x48, one each 10 ms.
type canvas struct {
	t      *testing.T
	screen *Watcher
	layout *frame.Layout
	pix    []byte
	n      int
	lost   uint64
	hidden bool         // frames are not shown
	missed []frame.Span // in those
}

func newCanvas(t *testing.T) *canvas {
	f, err := frame.NewFormat(frame.BGR4, 64, 48)
	if err != nil {
		t.Fatal(err)
	}
	l, err := frame.NewLayout(f)
	if err != nil {
		t.Fatal(err)
	}
	return &canvas{t: t, screen: New(), layout: l, pix: make([]byte, l.Size)}
}

// fill paints a rectangle and shows the frame n times.
func (c *canvas) fill(r frame.Region, red, green, blue byte, n int) {
	var spans []frame.Span
	for y := r.Y; y < r.Y+r.Height; y++ {
		for x := r.X; x < r.X+r.Width; x++ {
			copy(c.pix[4*(64*y+x):], []byte{blue, green, red, 0})
		}
		spans = append(spans, frame.Span{Row: int32(y), Start: int32(4 * r.X), End: int32(4 * (r.X + r.Width))})
	}
	for range n {
		if c.hidden {
			c.missed, spans = frame.AppendUnion(nil, c.missed, spans), nil
			c.n++
			continue
		}
		spans, c.missed = frame.AppendUnion(nil, c.missed, spans), nil
		at := timeline.Time(uint64(c.n)+c.lost) * timeline.Time(10*time.Millisecond)
		c.screen.Frame(&frame.Step{
			Number: c.n, Meta: frame.Meta{Sequence: uint64(c.n) + c.lost,
				Sampled: timeline.Interval{Earliest: at, Latest: at + 1}},
			Change: &frame.Change{Spans: spans}, Image: c.layout.View(c.pix),
		}, 0)
		spans = nil
		c.n++
	}
}

// ask asks and has the canvas play once the screen looks on.
func (c *canvas) ask(play func(), any ...controller.Condition) (int, controller.Seen, error) {
	ctx, cancel := context.WithCancelCause(c.t.Context())
	defer cancel(nil)
	done := make(chan struct{})
	which, seen, err := c.screen.Await(ctx, func() {
		go func() {
			defer close(done)
			play()
			cancel(errNever) // all frames have been shown; an answer that is there comes first
		}()
	}, any...)
	<-done
	return which, seen, err
}

var errNever = errors.New("never")

var (
	everywhere = frame.Region{Width: 64, Height: 48}
	below      = frame.Region{Y: 8, Width: 64, Height: 40}
	corner     = frame.Region{X: 60, Y: 44, Width: 4, Height: 4}
	caret      = frame.Region{X: 30, Y: 20, Width: 2, Height: 12}
	middle     = frame.Region{X: 20, Y: 20, Width: 20, Height: 10}
)

func TestScreenSees(t *testing.T) {
	const ms = timeline.Time(time.Millisecond)
	blue := suite.Colour{B: 200}
	for _, tc := range []struct {
		name string
		ask  controller.Condition
		play func(c *canvas)
		want int // frame; -1: never
	}{
		{"green that is held", controller.Condition{Kind: controller.Green},
			func(c *canvas) { c.fill(everywhere, 9, 9, 9, 5); c.fill(below, 0, 255, 0, 5) }, 7},
		{"green that is not", controller.Condition{Kind: controller.Green},
			func(c *canvas) { c.fill(below, 0, 255, 0, 2); c.fill(below, 9, 9, 9, 5) }, -1},
		{"green elsewhere counts anew", controller.Condition{Kind: controller.Green},
			func(c *canvas) { c.fill(below, 0, 255, 0, 2); c.fill(everywhere, 0, 255, 0, 5) }, 4},
		{"green that goes", controller.Condition{Kind: controller.NoGreen, Region: below},
			func(c *canvas) { c.fill(below, 0, 255, 0, 4); c.fill(middle, 9, 9, 9, 4) }, 4},
		{"what goes beside it", controller.Condition{Kind: controller.NoGreen, Region: below},
			func(c *canvas) { c.fill(below, 0, 255, 0, 4); c.fill(frame.Region{Width: 9, Height: 8}, 9, 9, 9, 4) }, -1},
		{"red", controller.Condition{Kind: controller.Red, Region: below},
			func(c *canvas) { c.fill(everywhere, 9, 9, 9, 5); c.fill(below, 255, 0, 0, 2) }, 5},
		{"red that stands", controller.Condition{Kind: controller.Red, Region: below, Frames: 3}, func(c *canvas) {
			c.fill(below, 255, 0, 0, 2)
			c.fill(middle, 9, 9, 9, 1)
			c.fill(below, 255, 0, 0, 4)
		}, 5},
		{"half red", controller.Condition{Kind: controller.Red, Region: everywhere}, func(c *canvas) {
			c.fill(everywhere, 9, 9, 9, 5)
			c.fill(frame.Region{Width: 64, Height: 24}, 255, 0, 0, 4)
		}, -1},
		{"a colour", controller.Condition{Kind: controller.Filled, Region: middle, Colour: blue},
			func(c *canvas) { c.fill(everywhere, 9, 9, 9, 5); c.fill(middle, 3, 5, 195, 2) }, 5},
		{"most of a colour", controller.Condition{Kind: controller.Filled, Region: middle, Colour: blue},
			func(c *canvas) {
				c.fill(frame.Region{X: 20, Y: 20, Width: 19, Height: 10}, 0, 0, 200, 3)
			}, -1},
		{"a colour that is there already", controller.Condition{Kind: controller.Filled, Region: middle,
			Colour: suite.Colour{}}, func(c *canvas) { c.fill(corner, 9, 9, 9, 1) }, 0},
		{"a change", controller.Condition{Kind: controller.Changed, Region: middle},
			func(c *canvas) { c.fill(corner, 9, 9, 9, 5); c.fill(middle, 9, 9, 9, 2) }, 5},
		{"a change before it counts", controller.Condition{Kind: controller.Changed, Since: 45 * ms},
			func(c *canvas) { c.fill(corner, 9, 9, 9, 5); c.fill(middle, 9, 9, 9, 2) }, 5},
		{"no change", controller.Condition{Kind: controller.Changed, Region: middle},
			func(c *canvas) { c.fill(corner, 9, 9, 9, 5); c.fill(corner, 1, 1, 1, 5) }, -1},
		{"a stillness", controller.Condition{Kind: controller.Still, For: 100 * time.Millisecond},
			func(c *canvas) { c.fill(corner, 9, 9, 9, 8); c.fill(corner, 1, 1, 1, 20) }, 8},
		{"a caret does not end a stillness", controller.Condition{Kind: controller.Still, For: time.Second},
			func(c *canvas) {
				c.fill(corner, 9, 9, 9, 25)
				for i := range 8 {
					c.fill(caret, byte(i), 9, 9, 30)
				}
			}, 0},
		{"a caret that comes once", controller.Condition{Kind: controller.Still, For: time.Second},
			func(c *canvas) { c.fill(corner, 9, 9, 9, 40); c.fill(caret, 1, 9, 9, 140) }, 40},
		{"a narrow spinner", controller.Condition{Kind: controller.Still, For: time.Second},
			func(c *canvas) {
				for i := range 60 {
					c.fill(caret, byte(i), 9, 9, 5)
				}
			}, -1},
		{"stillness beside what moves", controller.Condition{Kind: controller.Still, For: 50 * time.Millisecond,
			Region: middle}, func(c *canvas) {
			for i := range 20 {
				c.fill(corner, byte(i), 9, 9, 1)
			}
		}, 0},
		{"frames that are lost are no stillness",
			controller.Condition{Kind: controller.Still, For: 100 * time.Millisecond}, func(c *canvas) {
				c.fill(corner, 9, 9, 9, 4)
				c.lost += 20
				c.fill(corner, 9, 9, 9, 0)
				for range 5 {
					c.fill(frame.Region{}, 0, 0, 0, 1)
				}
			}, -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCanvas(t)
			_, seen, err := c.ask(func() { tc.play(c) }, tc.ask)
			switch {
			case tc.want < 0 && !errors.Is(err, errNever):
				t.Errorf("seen in frame %d, %v", seen.Frame, err)
			case tc.want >= 0 && (err != nil || seen.Frame != tc.want):
				t.Errorf("seen in frame %d, %v; want %d", seen.Frame, err, tc.want)
			}
		})
	}
}

func TestScreenSaysWhereTheGreenIs(t *testing.T) {
	c := newCanvas(t)
	_, seen, err := c.ask(func() { c.fill(below, 0, 255, 0, 5) }, controller.Condition{Kind: controller.Green})
	if err != nil || seen.Region != below {
		t.Errorf("%+v, %v", seen, err)
	}
}

// TestScreenSaysWhatMoved: who waits for a stillness in vain learns of the last change, and a
// caret is not it.
func TestScreenSaysWhatMoved(t *testing.T) {
	c := newCanvas(t)
	_, seen, err := c.ask(func() {
		c.fill(corner, 1, 9, 9, 30)
		c.fill(middle, 2, 9, 9, 30)
		c.fill(caret, 3, 9, 9, 30)
		c.fill(caret, 4, 9, 9, 1)
	}, controller.Condition{Kind: controller.Red}, controller.Condition{Kind: controller.Still, For: time.Hour})
	if !errors.Is(err, errNever) || seen.Frame != 30 || seen.Region != middle {
		t.Errorf("frame %d changed last, in %v; %v", seen.Frame, seen.Region, err)
	}
}

func TestScreenTellsWhichOfSeveral(t *testing.T) {
	c := newCanvas(t)
	which, _, err := c.ask(func() { c.fill(everywhere, 255, 0, 0, 3) },
		controller.Condition{Kind: controller.Still, For: time.Second}, controller.Condition{Kind: controller.Red})
	if err != nil || which != 1 {
		t.Errorf("%d, %v", which, err)
	}
}

func TestScreenRefusesPlacesThatAreNotThere(t *testing.T) {
	c := newCanvas(t)
	_, _, err := c.ask(func() { c.fill(corner, 1, 1, 1, 1) },
		controller.Condition{Kind: controller.Changed, Region: frame.Region{X: 60, Width: 9, Height: 9}})
	if err == nil || !strings.Contains(err.Error(), "does not lie on a screen of 64x48") {
		t.Errorf("error %v", err)
	}
}

func TestScreenEnds(t *testing.T) {
	for behind, want := range map[bool]string{false: "the recording has ended", true: ErrNotWatched.Error()} {
		c := newCanvas(t)
		c.screen.End(0, behind)
		if _, _, err := c.screen.Await(t.Context(), nil, controller.Condition{Kind: controller.Red}); err == nil ||
			err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestScreenAnswersFirst: an answer that is there counts, whatever ended meanwhile.
func TestScreenAnswersFirst(t *testing.T) {
	for range 20 { // a choice by chance would go wrong in one of them
		c := newCanvas(t)
		ctx, cancel := context.WithCancel(t.Context())
		_, seen, err := c.screen.Await(ctx, func() {
			c.fill(everywhere, 255, 0, 0, 1)
			c.screen.End(1, true)
			cancel()
		}, controller.Condition{Kind: controller.Red})
		if err != nil || seen.Frame != 0 {
			t.Fatalf("frame %d, %v", seen.Frame, err)
		}
	}
}

// TestScreenComesBack: the next frame has the changes of those that were not shown. The bounds
// begin with them.
func TestScreenComesBack(t *testing.T) {
	const second = timeline.Time(time.Second)
	const last = second - timeline.Time(10*time.Millisecond) + 1 // when the last frame was shown before
	corners := controller.Condition{Kind: controller.Changed, Region: corner, Since: 2}
	still := controller.Condition{Kind: controller.Still, For: 1500 * time.Millisecond, Since: 2}
	for _, tc := range []struct {
		name     string
		asked    controller.Condition
		missed   func(c *canvas) // 100 frames
		earliest timeline.Time
		err      error
	}{
		{"a change", corners,
			func(c *canvas) { c.fill(corner, 255, 0, 0, 50); c.fill(corner, 0, 0, 0, 50) }, last, nil},
		{"a change elsewhere", corners, func(c *canvas) { c.fill(middle, 255, 0, 0, 100) }, 0, errNever},
		{"perhaps an earlier change", controller.Condition{Kind: controller.Changed, Since: second},
			func(c *canvas) { c.fill(middle, 255, 0, 0, 100) }, 0, ErrNotWatched},
		{"a colour", controller.Condition{Kind: controller.Red, Since: second + 5},
			func(c *canvas) { c.fill(everywhere, 255, 0, 0, 100) }, second + 5, nil},
		{"stillness", still, func(c *canvas) { c.fill(frame.Region{}, 0, 0, 0, 100) }, second / 100, nil},
		{"no stillness", still, func(c *canvas) { c.fill(corner, 255, 0, 0, 100) }, last, errNever},
		{"nothing", controller.Condition{Kind: controller.Red, Since: 2}, nil, 0, ErrNotWatched},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCanvas(t)
			_, seen, err := c.ask(func() {
				c.fill(everywhere, 0, 0, 0, 100)
				c.screen.GivenUp()
				if tc.missed != nil {
					c.hidden = true
					tc.missed(c)
					c.hidden = false
					c.fill(frame.Region{}, 0, 0, 0, 1)
				}
			}, tc.asked)
			if !errors.Is(err, tc.err) || seen.At.Earliest != tc.earliest {
				t.Errorf("seen at %v in frame %d, %v; want %v, %v", seen.At, seen.Frame, err, tc.earliest, tc.err)
			}
		})
	}
}

// TestScreenKnowsNoCaretUnseen: changes in frames that were not shown may look like one change of a
// caret. The measures see them all.
func TestScreenKnowsNoCaretUnseen(t *testing.T) {
	c := newCanvas(t)
	_, seen, err := c.ask(func() {
		c.fill(everywhere, 0, 0, 0, 60)
		c.fill(caret, 1, 0, 0, 40)
		c.screen.GivenUp()
		c.hidden = true
		for i := range 21 {
			c.fill(caret, byte(i), 0, 0, 5)
		}
		c.hidden = false
		c.fill(frame.Region{}, 0, 0, 0, 1)
	}, controller.Condition{Kind: controller.Still, For: 1500 * time.Millisecond, Since: 2})
	if !errors.Is(err, errNever) {
		t.Errorf("still from frame %d on, %v", seen.Frame, err)
	}
}

// TestScreenKnowsNoCaretAtFirst: the change before the first frame that counts may be new. Then the
// measures do not take the first frame's change for a caret's.
func TestScreenKnowsNoCaretAtFirst(t *testing.T) {
	c := newCanvas(t)
	c.fill(corner, 1, 2, 3, 40)
	c.fill(middle, 1, 2, 3, 10) // not asked yet
	_, seen, err := c.ask(func() {
		c.fill(caret, 1, 9, 9, 50)
		c.fill(caret, 2, 9, 9, 60)
	}, controller.Condition{Kind: controller.Still, For: time.Second})
	if !errors.Is(err, errNever) || seen.Frame != 100 {
		t.Errorf("still from frame %d on, %v", seen.Frame, err)
	}
}

// TestScreenBeginsLate: the bounds do not begin before the first frame that is shown.
func TestScreenBeginsLate(t *testing.T) {
	c := newCanvas(t)
	_, seen, err := c.ask(func() {
		c.hidden = true
		c.fill(everywhere, 255, 0, 0, 5)
		c.hidden = false
		c.fill(frame.Region{}, 0, 0, 0, 1)
	}, controller.Condition{Kind: controller.Red})
	if err != nil || seen.Frame != 5 || seen.At.Earliest != timeline.Time(50*time.Millisecond) {
		t.Errorf("seen at %v in frame %d, %v", seen.At, seen.Frame, err)
	}
}

// stuck is a screen that is given up with its first frame. It is asked before the second.
type stuck struct {
	*Watcher
	goOn               func()
	back, first, asked chan struct{}
	shown              *int
}

func (s stuck) GivenUp() { s.Watcher.GivenUp(); s.goOn() }

func (s stuck) Frame(step *frame.Step, came timeline.Time) {
	if *s.shown++; *s.shown == 1 {
		<-s.back
		defer close(s.first)
	} else {
		<-s.asked
	}
	s.Watcher.Frame(step, came)
}

// TestScreenGivenUp: a screen that was given up is looked at again.
//
// Fault: The machine is too busy to watch the recording
func TestScreenGivenUp(t *testing.T) {
	q, _ := url.ParseQuery("size=64x64&fps=240&frames=2400&pace=realtime")
	src, err := synth.Open("page", q)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	back := make(chan struct{})
	s := stuck{New(), sync.OnceFunc(func() { close(back) }), back, make(chan struct{}), make(chan struct{}), new(int)}
	var seen controller.Seen
	var failed error
	if _, err = recorder.Record(ctx, src, filepath.Join(t.TempDir(), "a.eid"), recorder.Options{
		Watch: s, RingBytes: 32 * (64*64*4 + 4096),
		Started: func(ctx context.Context, _ func(timeline.Event)) error {
			<-s.first
			_, seen, failed = s.Await(ctx, func() { close(s.asked) }, controller.Condition{Kind: controller.Changed})
			stop()
			return nil
		},
	}); err != nil || failed != nil || seen.Frame == 0 {
		t.Errorf("%v; who waited was told %v, frame %d", err, failed, seen.Frame)
	}
}
