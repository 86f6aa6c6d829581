package verdict

import (
	"testing"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/netsim/replay"
)

// TestVerdictOfASet: what ended a set is told, and nothing else is blamed.
//
// Fault: The browser is not installed, or the device does not open
// Fault: Too many lost frames, a busy machine, or a browser that ignored the navigation
func TestVerdictOfASet(t *testing.T) {
	made := func(s session.State, reason string, warmUp bool) *session.Made {
		return &session.Made{Record: &session.Record{State: s, Reason: reason, WarmUp: warmUp}}
	}
	passed, warm := made(session.Passed, "", false), made(session.Passed, "", true)
	lossy, broken := made(session.Rejected, "lost", false), made(session.Failed, "no such thing", false)
	for name, tc := range map[string]struct {
		interrupted bool
		untilFail   bool
		made        []*session.Made
		want        string
	}{
		"all count": {false, false, []*session.Made{warm, passed, passed}, ""},
		"a warm-up failed": {false, false, []*session.Made{made(session.Failed, "no such thing", true)},
			"1 of 1 run failed: no such thing"},
		"a warm-up of a hunt failed": {false, true, []*session.Made{made(session.Failed, "no such thing", true)},
			"1 of 1 run failed: no such thing"},
		"one failed": {false, false, []*session.Made{lossy, passed, broken},
			"1 of 3 runs failed: no such thing"},
		"some lost too much": {false, false, []*session.Made{passed, lossy},
			"1 run of a accepted, not 2: the others lost too many; see --retries and --max-lost"},
		"stopped before the second": {true, false, []*session.Made{lossy, passed}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			variant := session.Variant{Device: namedDevice{}, Browser: "a"}
			s := Set{
				Options: &session.SetOptions{Variants: []session.Variant{variant}, Repeat: 2,
					UntilFail: tc.untilFail},
				Made:        &session.Set{Made: tc.made},
				Interrupted: tc.interrupted,
			}
			got := ""
			if err := s.Failure(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// namedDevice is a device that is only spoken of.
type namedDevice struct{ session.Device }

func (namedDevice) Name() string { return "local" }

func TestChecksText(t *testing.T) {
	made := func(checks int, failed, left []string) *session.Made {
		return &session.Made{Record: &session.Record{Checks: checks, ChecksFailed: failed, ChecksNotMade: left}}
	}
	for _, tc := range []struct {
		runs []*session.Made
		want string
	}{
		{nil, ""},
		{[]*session.Made{made(0, nil, nil)}, ""},
		{[]*session.Made{made(4, nil, nil)}, "4 of 4 numbers measured as drawn"},
		{[]*session.Made{made(0, nil, []string{"a"})}, "0 of 0 numbers measured as drawn, 1 not checked"},
		{[]*session.Made{made(4, []string{"b", "a"}, nil), made(3, []string{"b"}, []string{"c"})},
			"4 of 7 numbers measured as drawn, 1 not checked; DIFFERENT: a, b (2 times)"},
	} {
		if got := ChecksText(tc.runs...); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// TestMissesOfRuns: requests without a recorded answer are counted over all runs and named once.
func TestMissesOfRuns(t *testing.T) {
	run := func(missed int, urls ...string) *session.Made {
		r := &session.Replayed{Missed: missed}
		for _, u := range urls {
			r.Misses = append(r.Misses, replay.Miss{Method: "GET", URL: u})
		}
		return &session.Made{Record: &session.Record{Network: &session.Network{Replay: r}}}
	}
	for name, tc := range map[string]struct {
		runs []*session.Made
		want string
	}{
		"without a network": {[]*session.Made{{Record: &session.Record{}}}, ""},
		"none":              {[]*session.Made{run(0), run(0)}, ""},
		"one in each": {[]*session.Made{run(1, "http://a.test/x"), run(2, "http://a.test/x", "http://a.test/y")},
			"3 requests not in the archive: GET http://a.test/x, GET http://a.test/y"},
	} {
		if got := (Set{Made: &session.Set{Made: tc.runs}}).MissesText(); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
