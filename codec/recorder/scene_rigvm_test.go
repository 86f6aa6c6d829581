//go:build linux && rigvm

package recorder

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/capture/v4l2"
)

// scene is a recording to which things happen: a list of acts, each of which does something to the
// receiver or waits for something in the recording.
type scene struct {
	t    *testing.T
	over <-chan struct{} // the recording is

	mu       sync.Mutex
	stored   uint64
	progress int      // how often that was told
	seen     []string // kinds of events, in order
	reasons  []string // that these give, "" for none
	awaited  int      // of these, by told
	news     chan struct{}
}

type act func(*scene)

// patience is for a VM on a machine that does other things.
const patience = 90 * time.Second

func newScene(t *testing.T) *scene {
	return &scene{t: t, news: make(chan struct{}, 1)}
}

func (s *scene) do(list ...act) {
	for _, a := range list {
		a(s)
	}
}

// record records until the acts are over.
func (s *scene) record(src capture.Source, path string, list []act) (Result, error) {
	ctx, stop := context.WithTimeout(s.t.Context(), patience)
	defer stop()
	return Record(ctx, watched{src.(accounted), s, new(bool)}, path, Options{
		Progress: func(p Progress) { s.notice(func() { s.stored = p.Frames; s.progress++ }) },
		Started: func(ctx context.Context, _ func(timeline.Event)) error {
			s.over = ctx.Done()
			s.do(list...)
			stop()
			return nil
		},
	})
}

func (s *scene) notice(change func()) {
	s.mu.Lock()
	change()
	s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// wait waits until a condition holds, which is looked at under the lock.
func (s *scene) wait(what string, holds func() bool) {
	for {
		s.mu.Lock()
		ok := holds()
		state := fmt.Sprintf("%d frames, told %q", s.stored, s.seen)
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-s.news:
		case <-s.over:
			s.t.Errorf("the recording ended before %s: %s", what, state)
			return
		}
	}
}

func (s *scene) kinds() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

// heard returns the reasons of the events of a kind, in order.
func (s *scene) heard(kind string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for i, k := range s.seen {
		if k == kind {
			all = append(all, s.reasons[i])
		}
	}
	return all
}

// stored waits for n more frames than are stored now. The last progress may be older than the last
// event, and so may one that is under way.
func stored(n uint64) act {
	return func(s *scene) {
		s.mu.Lock()
		told := s.progress
		s.mu.Unlock()
		s.wait("progress was told", func() bool { return s.progress > told+1 })
		s.mu.Lock()
		want := s.stored + n
		s.mu.Unlock()
		s.wait(fmt.Sprintf("%d frames were stored", want), func() bool { return s.stored >= want })
	}
}

// told waits for the next event of that kind.
func told(kind string) act {
	return func(s *scene) {
		s.wait(kind+" was told", func() bool {
			for i := s.awaited; i < len(s.seen); i++ {
				if s.seen[i] == kind {
					s.awaited = i + 1
					return true
				}
			}
			return false
		})
	}
}

// set changes a control of the receiver until the test is over.
func set(name string, value int64) act {
	return func(s *scene) {
		if err := v4l2.SetControl(hdmi, name, value); err != nil {
			s.t.Error(err)
		}
		if name == dropped || name == wrapSequence || name == wrapStamp || name == transfer {
			s.t.Cleanup(func() {
				if err := v4l2.SetControl(hdmi, name, 0); err != nil {
					s.t.Error(err)
				}
			})
		}
	}
}

// see has the receiver see a signal of those timings.
func see(name string) act {
	return func(s *scene) {
		d, err := v4l2.Inspect(hdmi)
		if err != nil {
			s.t.Error(err)
			return
		}
		for _, c := range d.Controls {
			for value, label := range c.Menu {
				if c.Name == timings && label == name {
					set(timings, value)(s)
					set(signalMode, selected)(s)
					return
				}
			}
		}
		s.t.Errorf("the receiver cannot see %s", name)
	}
}

// stalled is the reason of a signal that counts as lost because the emulating machine was busy. It
// may come at any time, and so may its end. Rows do not list it.
const stalled = "no more frames"

// accounted is what a source of V4L2 is.
type accounted interface {
	capture.Renegotiator
	capture.Counter
}

// watched lets a scene see a source's events.
type watched struct {
	accounted
	scene *scene
	only  *bool // that the stream has stalled is all that was the matter with the signal
}

func (w watched) tell(events func(timeline.Event)) func(timeline.Event) {
	return func(e timeline.Event) {
		w.scene.t.Logf("%s %s", e.Kind, e.Data)
		events(e)
		was := *w.only
		*w.only = strings.Contains(string(e.Data), stalled)
		if *w.only || was && e.Kind == "signal back" {
			return
		}
		var data struct{ Reason string }
		_ = json.Unmarshal(e.Data, &data) // not all have such an object
		w.scene.notice(func() {
			w.scene.seen, w.scene.reasons = append(w.scene.seen, e.Kind), append(w.scene.reasons, data.Reason)
		})
	}
}

func (w watched) Run(ctx context.Context, ring *capture.Ring, events func(timeline.Event)) error {
	return w.accounted.Run(ctx, ring, w.tell(events))
}

func (w watched) Renegotiate(ctx context.Context, events func(timeline.Event)) error {
	return w.accounted.Renegotiate(ctx, w.tell(events))
}
