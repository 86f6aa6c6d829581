//go:build linux

package hosttest

import (
	"context"
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
// time. A late action does not delay others. Lateness depends on the machine, which may become
// busier. From the beginning to the end it must not grow more than that of a sleeper. A few reports
// show how busy the machine is, and are not judged.
func Replay(t *testing.T, d input.Driver, host *Device, step time.Duration) {
	t.Helper()
	all := recording(t, step)
	start := timeline.Monotonic().Now().Add(100 * time.Millisecond)
	l := lateness{free: start}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	sleeper := make(chan []time.Duration, 1)
	go func() { sleeper <- sleep(ctx, start, all) }()
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
	l.judge(t, len(all), step, <-sleeper)
}

// sleep sleeps until each action is due, and returns how late it woke.
func sleep(ctx context.Context, start timeline.Time, all []input.Timed) (late []time.Duration) {
	for _, timed := range all {
		due := start.Add(timed.After)
		if timeline.SleepUntil(ctx, due) != nil {
			break
		}
		late = append(late, timeline.Monotonic().Now().Sub(due))
	}
	return late
}

// lateness is how late reports were begun. One that ends late makes the next one wait.
type lateness struct {
	free   timeline.Time   // when the one before was done with
	late   []time.Duration // from when a report was due until it was begun
	idle   []int           // numbers of those that had not to wait for another one
	waited []time.Duration // from the end of one to the beginning of the next, where that was due already
}

func (l *lateness) add(due timeline.Time, sent timeline.Interval) {
	if l.free > due {
		l.waited = append(l.waited, sent.Earliest.Sub(l.free))
	} else {
		l.idle = append(l.idle, len(l.late))
	}
	l.late = append(l.late, sent.Earliest.Sub(due))
	l.free = timeline.Monotonic().Now()
}

// judge holds the lateness against the time between two reports.
func (l *lateness) judge(t *testing.T, reports int, step time.Duration, sleeper []time.Duration) {
	t.Helper()
	if len(l.late) != reports || len(sleeper) != reports {
		t.Fatalf("%d of %d reports, and the sleeper woke %d times", len(l.late), reports, len(sleeper))
	}
	if enough := reports / 6; len(l.waited) > 0 {
		t.Logf("%d of %d reports were due before the one before was done with, and were sent %v (min) behind that",
			len(l.waited), reports, slices.Min(l.waited))
		if len(l.waited) >= enough && slices.Min(l.waited) > step/2 {
			t.Errorf("a report that is late is waited for: %v", slices.Min(l.waited))
		}
	}
	drift, known := l.drift(sleeper)
	if !known {
		t.Log("this machine is too busy to be on time: the drift is not known")
		return
	}
	t.Logf("%d reports, begun late by %v (median), a sleeper by %v: it drifts by %v", reports, median(l.late),
		median(sleeper), drift)
	if drift > step/2 {
		t.Errorf("it drifts by %v", drift)
	}
}

// drift returns how much the driver's lateness behind a sleeper grew from the first third to the
// last. It is not known if too few reports had not to wait for another one.
func (l *lateness) drift(sleeper []time.Duration) (drift time.Duration, known bool) {
	var begin, end []time.Duration
	for _, n := range l.idle {
		switch more := l.late[n] - sleeper[n]; {
		case n < len(l.late)/3:
			begin = append(begin, more)
		case n >= len(l.late)-len(l.late)/3:
			end = append(end, more)
		}
	}
	if enough := len(l.late) / 6; len(begin) < enough || len(end) < enough {
		return 0, false
	}
	return median(end) - median(begin), true
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
