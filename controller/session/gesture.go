package session

import (
	"cmp"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/suite"
)

// Gestures are inputs for any page, in the order of the fields. The last one is measured.
type Gestures struct {
	Hover, Click []string // places for [suite.ParsePoint]
	Text         string
	Scroll       bool
}

// Events around the measured gesture. The last one ends its window.
const (
	gestureBegin = "gesture"
	gestureEnd   = "gesture-end"
)

// Times of gestures.
const (
	restLong      = 2 * time.Second // of the screen, before and after the measured gesture
	restShort     = 500 * time.Millisecond
	restLimit     = 20 * time.Second // before it
	loadLimit     = 10 * time.Second // after a click, which may load a page
	settleLimit   = 5 * time.Second
	answerLimit   = 10 * time.Second
	keyLimit      = 2 * time.Second
	keyEvery      = 250 * time.Millisecond
	askSpread     = 100 * time.Millisecond
	gestureLimit  = 3 * time.Minute // of a run, beside the answers
	detents       = 60
	detentsEvery  = 50 * time.Millisecond
	clickDuration = 50 * time.Millisecond
)

// Test returns a test that loads an address and makes the gestures.
func (g Gestures) Test(address string) (*suite.Test, error) { return g.On(URLTest(address)) }

// On has a test that loads a page make the gestures.
func (g Gestures) On(t *suite.Test) (*suite.Test, error) {
	t.Begin, t.Sync, t.Timeout = gestureBegin, suite.Sync{Event: gestureEnd}, gestureLimit
	all, err := g.all(t)
	if err != nil {
		return nil, err
	}
	var steps []suite.Action
	for _, before := range all[:len(all)-1] {
		steps = append(steps, before.prepare...)
		steps = append(steps, before.do...)
		steps = append(steps, rest(restShort, settleLimit))
	}
	last := all[len(all)-1]
	t.Measures, t.Primary, t.T0 = last.measures, last.primary, last.t0
	// None of them may be answered. The page may compute at each rest.
	t.Timeout += time.Duration(2+2*len(all)) * controller.BusyLimit
	t.Timeout = min(t.Timeout+time.Duration(len(last.do))*(last.limit+keyEvery+askSpread), suite.MaxDuration)
	steps = append(append([]suite.Action{rest(restLong, restLimit)}, steps...), last.prepare...)
	steps = append(steps, suite.Mark{Kind: gestureBegin})
	for _, a := range last.do {
		if last.limit > 0 { // any change of the content answers it
			a = suite.Ping{Do: suite.Step{Action: a}, Times: 1, Every: keyEvery, Spread: askSpread,
				Expect: suite.Expect{Change: &frame.Region{}, Timeout: last.limit}}
		}
		steps = append(steps, a)
	}
	for _, a := range append(steps, rest(restLong, last.after), suite.Mark{Kind: gestureEnd}) {
		t.Steps = append(t.Steps, suite.Step{Action: a})
	}
	return t, nil
}

// rest waits until the screen is still and the page has nothing to compute. A screen that moves
// forever does not end the test.
func rest(still, limit time.Duration) suite.Action {
	return suite.Wait{Still: still, Timeout: limit, Optional: true, Rest: true}
}

// gesture is one of a test's.
type gesture struct {
	prepare, do       []suite.Action
	limit             time.Duration // for the answer to each; 0: none is awaited
	after             time.Duration // limit for the rest after it
	measures, primary []string
	t0                string
}

// all returns the gestures, at least one.
func (g Gestures) all(t *suite.Test) (all []gesture, err error) {
	center := suite.Coordinate{Value: 50, Percent: true}
	over := suite.Point{X: center, Y: center}
	answered := gesture{limit: answerLimit, after: loadLimit, t0: controller.Asked,
		measures: []string{"response", "speedindex"},
		primary:  []string{"response.latency_p50", "speedindex.pixel.complete_100", "speedindex.histogram.speed_index"}}
	for _, place := range g.Hover {
		if over, err = suite.ParsePoint(place); err != nil {
			return nil, fmt.Errorf("hover: %w", err)
		}
		one := answered
		one.do = []suite.Action{suite.Move{To: over}}
		all = append(all, one)
	}
	for _, place := range g.Click {
		at, err := suite.ParsePoint(place)
		if err != nil {
			return nil, fmt.Errorf("click: %w", err)
		}
		one := answered // the page may answer the pointer's arrival too
		one.prepare = []suite.Action{suite.Move{To: at}, rest(restShort, settleLimit)}
		one.do = []suite.Action{suite.Click{At: at, Button: input.Left, Times: 1, Hold: clickDuration}}
		all = append(all, one)
	}
	if g.Text != "" {
		if err := (input.Text{Text: g.Text}).Validate(); err != nil {
			return nil, fmt.Errorf("type: %w", err)
		}
		one := gesture{limit: keyLimit, after: settleLimit, measures: []string{"response"},
			primary: []string{"response.latency_p50", "response.latency_p95"}}
		for _, c := range g.Text {
			one.do = append(one.do, suite.Text{Text: string(c)})
		}
		all = append(all, one)
	}
	if g.Scroll {
		t.About = "scrolls " + cmp.Or(t.URL, t.Site)
		all = append(all, gesture{after: settleLimit, measures: []string{"scroll", "fps"},
			prepare: []suite.Action{suite.Move{To: over}, rest(restShort, settleLimit)},
			do:      []suite.Action{suite.Wheel{Y: 1, Times: detents, Every: detentsEvery}}})
	}
	return all, nil
}
