package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/suite"
)

// world is a device of tests and its environment: its actions determine the content of its screen.
// It is in a bubble of synctest.
type world struct {
	moved Seen // what an await in vain returns
	start time.Time
	over  chan struct{}

	mu     sync.Mutex
	shows  string // "green", "red" or "" for black; any other word for content
	paint  int    // how often it has changed
	events []timeline.Event
	did    []string // by the driver, in order
	held   input.Held

	answers    time.Duration                       // after which a press changes the screen; 0: it does not
	launched   func(w *world, address string)      // what the browser does
	loaded     func(w *world)                      // what follows a load
	fails      map[string]error                    // of methods
	ended      chan struct{}                       // of the browser
	sendTime   time.Duration                       // how long the driver takes
	recorded   func(string) ([]input.Timed, error) // recordings of a hand
	noPainter  bool
	noInput    bool
	redIgnored bool
	deaf       string                       // the method of its browser that nobody answers
	late       time.Duration                // of the first look at a stillness
	busy       func(context.Context) string // nil: unknown
}

func newWorld() *world {
	return &world{start: time.Now(), over: make(chan struct{}), fails: map[string]error{}, sendTime: time.Millisecond}
}

// Now implements timeline.Clock.
func (w *world) Now() timeline.Time { return timeline.Time(time.Since(w.start)) + 1 }

func (w *world) show(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shows = what
	w.paint++
}

// later shows things after times, one after another.
func (w *world) later(all ...any) {
	go func() { // ends with the world
		for i := 0; i < len(all); i += 2 {
			select {
			case <-time.After(all[i].(time.Duration)):
				w.show(all[i+1].(string))
			case <-w.over:
				return
			}
		}
	}()
}

const frameTime = 16 * time.Millisecond

// screen looks at a world, a frame after the other.
type screen struct{ *world }

func (s screen) Await(ctx context.Context, looking func(), any ...Condition) (int, Seen, error) {
	if err := s.fails["await"]; err != nil {
		return 0, Seen{}, err
	}
	if looking != nil {
		looking()
	}
	s.mu.Lock()
	paint, changed, green, moved := s.paint, s.Now(), 0, false
	s.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return 0, s.moved, context.Cause(ctx)
		case <-time.After(frameTime):
		}
		s.mu.Lock()
		now, shows, painted := s.Now(), s.shows, s.paint
		s.mu.Unlock()
		change := painted != paint
		if change {
			paint, changed, green, moved = painted, now, 0, true
		}
		if green++; shows != "green" {
			green = 0
		}
		for i, c := range any {
			holds := false
			switch c.Kind {
			case Green:
				holds = green >= 3
			case NoGreen:
				holds = shows != "green"
			case Red:
				holds = shows == "red"
			case Changed:
				holds = change && now >= c.Since
			case Filled:
				holds = shows == "#"+fmt.Sprintf("%02x%02x%02x", c.Colour.R, c.Colour.G, c.Colour.B)
			case Still:
				holds = now.Sub(max(changed, c.Since)) >= c.For+s.late
			}
			if holds {
				seen := Seen{At: timeline.Interval{Earliest: now.Add(-frameTime), Latest: now},
					Region: frame.Region{X: 10, Y: 20, Width: 100, Height: 50}}
				if c.Kind == Still {
					begun := now.Add(-c.For - s.late)
					seen.At, s.late = timeline.Interval{Earliest: begun.Add(-frameTime), Latest: begun}, 0
				}
				if c.Kind == Still && !moved {
					seen.Region = frame.Region{}
				}
				return i, seen, nil
			}
		}
	}
}

func (w *world) Launch(ctx context.Context, address string) (timeline.Interval, error) {
	if w.deaf == "launch" {
		<-ctx.Done()
		return timeline.Interval{}, ctx.Err()
	}
	if err := w.fails["launch"]; err != nil {
		return timeline.Interval{}, err
	}
	w.ended = make(chan struct{})
	if w.launched != nil {
		w.launched(w, address)
	}
	return timeline.At(w.Now()), nil
}

func (w *world) Load(ctx context.Context, _ string) (timeline.Interval, error) {
	if w.deaf == "load" {
		<-ctx.Done()
		return timeline.Interval{}, ctx.Err()
	}
	if w.loaded != nil {
		w.loaded(w)
	}
	return timeline.At(w.Now()), w.fails["load"]
}

func (w *world) Ended() <-chan struct{} { return w.ended }
func (w *world) Err() error             { return errors.New("killed") }

func (w *world) Green(context.Context) error { w.show("green"); return w.fails["green"] }
func (w *world) Red(context.Context) error {
	if !w.redIgnored {
		w.show("red")
	}
	return w.fails["red"]
}

// hand is the driver of a world.
type hand struct{ *world }

func (h hand) Do(ctx context.Context, at timeline.Time, actions ...input.Action) (timeline.Interval, error) {
	select {
	case <-time.After(at.Sub(h.Now())):
	case <-ctx.Done():
		return timeline.Interval{}, ctx.Err()
	}
	if err := input.Check(actions); err != nil {
		return timeline.Interval{}, err
	}
	from := h.Now()
	time.Sleep(h.sendTime)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.fails["do"]; err != nil {
		return timeline.Interval{}, err
	}
	h.held.Note(actions...)
	h.did = append(h.did, fmt.Sprintf("%v %v", time.Duration(from).Round(time.Millisecond), actions))
	if h.answers > 0 && presses(actions) {
		h.later(h.answers, "answer")
	}
	return timeline.Interval{Earliest: from, Latest: h.Now()}, nil
}

func (h hand) Release(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	up := h.held.Lift()
	h.held.Note(up...)
	for _, a := range up {
		h.did = append(h.did, "released "+a.String())
	}
	return nil
}

func (hand) Info() input.Info { return input.Info{Driver: "fake", Realism: input.System} }
func (h hand) Close() error   { return h.Release(context.Background()) }

func (w *world) Recorded(file string, _ frame.Region) ([]input.Timed, error) { return w.recorded(file) }
func (w *world) Script(text string, _ frame.Region) ([]input.Timed, error)   { return w.recorded(text) }

// run runs a test in the world.
func (w *world) run(ctx context.Context, t *suite.Test, own bool) (Played, error) {
	s := Setup{
		Test: t, Browser: w, Painter: w, Input: hand{w}, Screen: screen{w}, Clock: w,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Emit: func(e timeline.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		},
		Address: "http://page/", Own: own, GreenAddress: "http://green/", Size: frame.Region{Width: 640, Height: 360},
		Random: rand.New(rand.NewPCG(1, 2)), Gestures: w,
	}
	if t.URL != "" {
		s.Address = t.URL
	}
	if t.Network.Given() {
		s.ChangeLink = func(l suite.Link) (string, error) {
			if l.Profile == "" {
				return "", errors.New("it rains")
			}
			return l.Profile + ", slow", nil
		}
	}
	s.Busy = w.busy
	if w.noPainter {
		s.Painter = nil
	}
	if w.noInput {
		s.Input = nil
	}
	return Run(ctx, s)
}

// kinds are those of the controller's own events, in order.
func (w *world) kinds() (all []string) {
	for _, e := range w.events {
		if e.Source == EventSource {
			all = append(all, e.Kind)
		}
	}
	return all
}

func wantKinds(t *testing.T, w *world, want ...string) {
	t.Helper()
	if got := w.kinds(); !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
}

// page stands green, plays for some time and stands red.
func page(play time.Duration) func(*world, string) {
	return func(w *world, _ string) {
		w.later(time.Second, "green", 500*time.Millisecond, "content", play, "red")
	}
}

func inBubble(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		f(t, w)
		close(w.over)
	})
}

var errTest = fmt.Errorf("of the test: %w", os.ErrInvalid)
