package recorder

import (
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// Together shows the same frames to several watchers, one after another: the first one comes first.
// What one of them takes long for, all pay with.
func Together(watchers ...Watcher) Watcher { return together(watchers) }

type together []Watcher

var _ givenUpWatcher = together(nil)

func (t together) Begin(flush func(), fill func() float64) {
	for _, w := range t {
		w.Begin(flush, fill)
	}
}

func (t together) Frame(step *frame.Step, came timeline.Time) {
	for _, w := range t {
		w.Frame(step, came)
	}
}

func (t together) End(next int, behind bool) {
	for _, w := range t {
		w.End(next, behind)
	}
}

func (t together) GivenUp() {
	for _, w := range t {
		if w, ok := w.(givenUpWatcher); ok {
			w.GivenUp()
		}
	}
}
