//go:build linux

package hosttest

import (
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
)

// ReplayEnv names how long a recording is that is replayed. The whole 30 s take their time: 2 s are
// replayed where nobody asks.
const ReplayEnv = "EIDETICKER_REPLAY"

// recording returns two fingers that pan in circles, one action every step. In each second they are
// lifted for a pause.
func recording(t testing.TB, step time.Duration) (all []input.Timed) {
	t.Helper()
	length := 2 * time.Second
	if v := os.Getenv(ReplayEnv); v != "" {
		var err error
		if length, err = time.ParseDuration(v); err != nil || length < time.Second || length > 10*time.Minute {
			t.Fatalf("%s=%s: %v", ReplayEnv, v, err)
		}
	}
	const touched, pause = 900 * time.Millisecond, 100 * time.Millisecond
	for begin := time.Duration(0); begin < length; begin += touched + pause {
		for at := time.Duration(0); at < touched; at += step {
			angle := float64(at) / float64(touched) * 2 * math.Pi
			x, y := 500+200*math.Cos(angle), 250+100*math.Sin(angle)
			actions := []input.Action{input.TouchMove{Finger: 0, X: x, Y: y},
				input.TouchMove{Finger: 1, X: x + 50, Y: y}}
			switch {
			case at == 0:
				actions = []input.Action{input.TouchDown{Finger: 0, X: x, Y: y},
					input.TouchDown{Finger: 1, X: x + 50, Y: y}}
			case at+step >= touched:
				actions = []input.Action{input.TouchUp{Finger: 0}, input.TouchUp{Finger: 1}}
			}
			all = append(all, input.Timed{After: begin + at, Actions: actions})
		}
	}
	return all
}

// Replay plays the recording and compares it with the host's events: all in order, none before its
// time. A late action does not delay others. Lateness depends on the machine, but it must not grow
// from the beginning to the end. A few reports show how busy the machine is, and are not judged.
func Replay(t *testing.T, d input.Driver, host *Device, step time.Duration) {
	t.Helper()
	all := recording(t, step)
	start := timeline.Monotonic().Now().Add(100 * time.Millisecond)
	l := lateness{reports: len(all), free: start}
	err := input.Play(t.Context(), d, start, all, func(timed input.Timed, sent timeline.Interval) {
		due := start.Add(timed.After)
		if !sent.Valid() || sent.Earliest < due {
			t.Errorf("due at %d, sent within %v", due, sent)
		}
		at := host.Next()
		const grain = 1000 // nanoseconds of the kernel's stamp
		if at < sent.Earliest-grain {
			t.Errorf("sent within %v, and the host had it at %d", sent, at)
		}
		if want := fingersOf(timed.Actions); host.Fingers() != want {
			t.Errorf("after %v: %d fingers are down, want %d", timed.After, host.Fingers(), want)
		}
		l.add(due, sent)
	})
	if err != nil {
		t.Fatal(err)
	}
	l.judge(t, step)
}

// lateness is how late reports were.
type lateness struct {
	reports int           // that are to come
	free    timeline.Time // when the one before was done with
	seen    int
	begin   []time.Duration // those of the first third that had not to wait for another one
	end     []time.Duration // the same of the last third
	waited  []time.Duration // from the end of one to the beginning of the next, where that was due already
}

func (l *lateness) add(due timeline.Time, sent timeline.Interval) {
	late := sent.Latest.Sub(due)
	switch {
	case l.free > due:
		l.waited = append(l.waited, sent.Earliest.Sub(l.free))
	case l.seen < l.reports/3:
		l.begin = append(l.begin, late)
	case l.seen >= l.reports-l.reports/3:
		l.end = append(l.end, late)
	}
	l.seen++
	l.free = timeline.Monotonic().Now()
}

// judge holds the lateness against the time between two reports.
func (l *lateness) judge(t *testing.T, step time.Duration) {
	t.Helper()
	if l.seen != l.reports {
		t.Errorf("%d of %d reports", l.seen, l.reports)
	}
	enough := l.reports / 6
	if len(l.waited) > 0 {
		t.Logf("%d of %d reports were due before the one before was done with, and were sent %v (min) behind that",
			len(l.waited), l.reports, slices.Min(l.waited))
		if len(l.waited) >= enough && slices.Min(l.waited) > step/2 {
			t.Errorf("a report that is late is waited for: %v", slices.Min(l.waited))
		}
	}
	if len(l.begin) < enough || len(l.end) < enough {
		t.Log("this machine is too busy to be on time: the drift is not known")
		return
	}
	drift := slices.Min(l.end) - slices.Min(l.begin)
	t.Logf("%d reports: late by %v (median; min %v) in the first third and %v (%v) in the last: it drifts by %v",
		l.reports, median(l.begin), slices.Min(l.begin), median(l.end), slices.Min(l.end), drift)
	if drift > step/2 {
		t.Errorf("it drifts by %v", drift)
	}
}

// fingersOf returns how many fingers of the recording are down behind actions of it.
func fingersOf(actions []input.Action) int {
	if _, up := actions[0].(input.TouchUp); up {
		return 0
	}
	return 2
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
