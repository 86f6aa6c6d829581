package remote

import (
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
)

func TestIntervalsHoldTheTruth(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	for _, tc := range []struct {
		name        string
		ppm         int64
		there, back func() time.Duration
		doubt       time.Duration // the most that an interval may be wider than the driver's own
	}{
		{"a cable", 40, between(1, 60*us, 90*us), between(2, 60*us, 90*us), 300 * us},
		{"a clock that is steered", 1000, between(1, 60*us, 90*us), between(2, 60*us, 90*us), 300 * us},
		{"the other way", -1000, between(1, 60*us, 90*us), between(2, 60*us, 90*us), 300 * us},
		{"slow there", 300, fixed(9 * ms), fixed(100 * us), 9500 * us},
		{"slow back", 300, fixed(100 * us), fixed(9 * ms), 9500 * us},
		{"wireless", 100, between(3, 500*us, 40*ms), between(4, 500*us, 40*ms), 41 * ms},
		{"no delay at all", 1000, fixed(0), fixed(0), 100 * us},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inWorld(t, tc.ppm, func(t *testing.T, w *world) {
				d := w.mustDial(&link{there: tc.there, back: tc.back})
				for i, wait := range []time.Duration{0, 0, ms, 10 * ms, 49 * ms, 51 * ms, 300 * ms, 5 * time.Second,
					40 * time.Second, -time.Hour, 0} {
					at := w.rig.Now().Add(wait)
					sent := w.do(d, at, input.Move{X: float64(i), Y: 3})
					if doubt := sent.Width() - 600*us; doubt > tc.doubt {
						t.Errorf("after %v: known within %v, want %v at most", wait, doubt, tc.doubt)
					}
					if late := w.hand.last().Sub(at); wait > 500*ms && late > tc.doubt+300*us {
						t.Errorf("%v ahead: %v late", wait, late)
					}
				}
				w.shut(d)
			})
		})
	}
}

func TestReplayDoesNotDrift(t *testing.T) {
	inWorld(t, 1000, func(t *testing.T, w *world) {
		d := w.mustDial(&link{there: between(1, 60*time.Microsecond, 200*time.Microsecond),
			back: between(2, 60*time.Microsecond, 200*time.Microsecond)})
		all := []input.Timed{{Actions: []input.Action{input.TouchDown{Finger: 0, X: 1, Y: 1}}}}
		for i := range 3600 {
			all = append(all, input.Timed{After: time.Duration(i+1) * time.Second / 120,
				Actions: []input.Action{input.TouchMove{Finger: 0, X: float64(i % 1000), Y: 5}}})
		}
		start := w.rig.Now()
		var worst time.Duration
		if err := input.Play(w.ctx, d, start, all, func(a input.Timed, sent timeline.Interval) {
			worst = max(worst, w.hand.last().Sub(start.Add(a.After)))
		}); err != nil {
			t.Fatal(err)
		}
		if at := w.hand.last(); at < start.Add(30*time.Second) || at > start.Add(30*time.Second+2*time.Millisecond) {
			t.Errorf("the last of 30 s came after %v", at.Sub(start))
		}
		if worst > 2*time.Millisecond {
			t.Errorf("one was %v late", worst)
		}
		w.shut(d)
		if up, _ := w.hand.lifts(); len(up) != 1 {
			t.Errorf("closing lifts %v", up)
		}
	})
}

func TestClockThatJumps(t *testing.T) {
	inWorld(t, 100, func(t *testing.T, w *world) {
		d := w.mustDial(&link{})
		for _, jump := range []time.Duration{time.Hour, -2 * time.Hour, 30 * time.Millisecond, -time.Millisecond} {
			w.do(d, w.rig.Now(), input.Move{X: 1, Y: 1})
			w.clock.offset.Add(int64(jump))
			time.Sleep(3 * keepAlive)
			if sent := w.do(d, w.rig.Now(), input.Move{X: 1, Y: 1}); sent.Width() > 2*time.Millisecond {
				t.Errorf("after a jump of %v an interval is %v wide", jump, sent.Width())
			}
			if at := w.rig.Now().Add(time.Second); w.do(d, at, input.Move{X: 1, Y: 1}).Latest > at.Add(
				3*time.Millisecond) {
				t.Errorf("after a jump of %v things are late", jump)
			}
		}
		if note := d.Info().Note; !strings.Contains(note, "jumped 4 times") {
			t.Errorf("note: %s", note)
		}
		w.shut(d)
	})
}

// A jump right while something is done: nothing but the call's own ends is left to be sure of.
func TestClockJumpsWhileItWaits(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		d := w.mustDial(&link{})
		go func() {
			time.Sleep(20 * time.Millisecond)
			w.clock.offset.Add(int64(10 * time.Millisecond))
		}()
		if _, err := d.Do(w.ctx, w.rig.Now().Add(40*time.Millisecond), input.Move{X: 1, Y: 1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(keepAlive)
		w.do(d, w.rig.Now(), input.Move{X: 1, Y: 1})
		w.shut(d)
	})
}

func TestOffsetsOfOneExchange(t *testing.T) {
	var o offsets
	o.add(exchange{asked: 1000, received: 501_200, answered: 501_300, heard: 1900})
	least, most := o.at(501_300)
	if least > 500_000-600+1 || least < 499_400-2 || most < 500_200 || most > 500_202 {
		t.Errorf("%d to %d", least, most)
	}
	if a, b := o.at(501_300 + 1e9); a > least-1e6 || b < most+1e6 {
		t.Errorf("a second later: %d to %d", a, b)
	}
	if o.way() != 800 {
		t.Errorf("way %v", o.way())
	}
	if at := o.theirs(2000); at < 502_200 || at > 502_200+2000 {
		t.Errorf("2000 is %d there", at)
	}
}
