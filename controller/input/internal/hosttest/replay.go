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

// ReplayEnv names how long a recording is that is replayed. The whole 30 s take their time: few are replayed where nobody asks.
const ReplayEnv = "EIDETICKER_REPLAY"

// Recording returns two fingers that pan about in circles, told every 8 ms as touch screens do, with a pause in each second in which they are lifted.
func Recording(t testing.TB) (all []input.Timed) {
	t.Helper()
	length := 5 * time.Second
	if v := os.Getenv(ReplayEnv); v != "" {
		var err error
		if length, err = time.ParseDuration(v); err != nil || length < time.Second || length > 10*time.Minute {
			t.Fatalf("%s=%s: %v", ReplayEnv, v, err)
		}
	}
	const step = 8 * time.Millisecond
	for at := time.Duration(0); at < length; at += step {
		phase := at % time.Second
		angle := phase.Seconds() * 2 * math.Pi
		x, y := 500+200*math.Cos(angle), 250+100*math.Sin(angle)
		var actions []input.Action
		switch {
		case phase == 0 || at == 0:
			actions = []input.Action{input.TouchDown{Finger: 0, X: x, Y: y}, input.TouchDown{Finger: 1, X: x + 50, Y: y}}
		case phase < 900*time.Millisecond && at+step < length:
			actions = []input.Action{input.TouchMove{Finger: 0, X: x, Y: y}, input.TouchMove{Finger: 1, X: x + 50, Y: y}}
		case phase < 900*time.Millisecond+step || at+step >= length && phase < 900*time.Millisecond:
			actions = []input.Action{input.TouchUp{Finger: 0}, input.TouchUp{Finger: 1}}
		default:
			continue
		}
		all = append(all, input.Timed{After: at, Actions: actions})
	}
	return all
}

// Replay plays the recording and holds what the host was told against it: all of it, in order, none before its time. The machine may be late for each report,
// as slow as it is; but it must not be the later the longer it plays, as it would be if what it is late for one were added to the next.
func Replay(t *testing.T, d input.Driver, host *Device) {
	t.Helper()
	all := Recording(t)
	start := timeline.Monotonic().Now().Add(100 * time.Millisecond)
	var late []time.Duration
	var stamps []timeline.Time
	err := input.Play(t.Context(), d, start, all, func(timed input.Timed, sent timeline.Interval) {
		due := start.Add(timed.After)
		if !sent.Valid() || sent.Earliest < due {
			t.Errorf("due at %d, sent within %v", due, sent)
		}
		late = append(late, sent.Latest.Sub(due))
		at := host.Next()
		stamps = append(stamps, at)
		const grain = 1000 // nanoseconds of the kernel's stamp
		if at < sent.Earliest-grain {
			t.Errorf("sent within %v, and the host had it at %d", sent, at)
		}
		if want := fingersOf(timed.Actions); host.Fingers() != want {
			t.Errorf("after %v: %d fingers are down, want %d", timed.After, host.Fingers(), want)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(stamps) || len(stamps) != len(all) {
		t.Errorf("%d of %d reports, in order: %t", len(stamps), len(all), slices.IsSorted(stamps))
	}
	tenth := len(late) / 10
	begin, end := late[:tenth], late[len(late)-tenth:]
	// The least that it is late by is the replay's own; what else the machine does comes on top.
	drift := slices.Min(end) - slices.Min(begin)
	sum := time.Duration(0)
	for _, l := range late {
		sum += l
	}
	t.Logf("%v in %d reports: late by %v (median), by at least %v in the first tenth, %v in the last: it drifts by %v (medians: %v); added up it would be %v",
		all[len(all)-1].After, len(all), median(late), slices.Min(begin), slices.Min(end), drift, median(end)-median(begin), sum)
	if drift*10 > sum {
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
