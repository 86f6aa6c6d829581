package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
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
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx       context.Context
		untilFail bool
		made      []*session.Made
		want      string
	}{
		"all count": {t.Context(), false, []*session.Made{warm, passed, passed}, ""},
		"a warm-up failed": {t.Context(), false, []*session.Made{made(session.Failed, "no such thing", true)},
			"1 of 1 run failed: no such thing"},
		"a warm-up of a hunt failed": {t.Context(), true, []*session.Made{made(session.Failed, "no such thing", true)},
			"1 of 1 run failed: no such thing"},
		"one failed": {t.Context(), false, []*session.Made{lossy, passed, broken},
			"1 of 3 runs failed: no such thing"},
		"some lost too much": {t.Context(), false, []*session.Made{passed, lossy},
			"1 run of a accepted, not 2: the others lost too many; see --retries and --max-lost"},
		"stopped before the second": {stopped, false, []*session.Made{lossy, passed}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			variant := session.Variant{Device: namedDevice{}, Browser: "a"}
			r := &testRun{
				env:     &env{ctx: tc.ctx},
				options: session.SetOptions{Variants: []session.Variant{variant}, Repeat: 2, UntilFail: tc.untilFail},
				set:     &session.Set{Made: tc.made},
			}
			got := ""
			if err := r.verdict(nil); err != nil {
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
		if got := checksText(tc.runs...); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// TestFirstThingsFirst: what the test looks at stands at the top, what the user asks for above it,
// and all else as it was measured.
func TestFirstThingsFirst(t *testing.T) {
	r := &testRun{options: session.SetOptions{Test: &suite.Test{Primary: []string{"speedindex.last"}}}}
	var all []compare.Sample
	for _, name := range []string{"area", "first", "last", "share"} {
		all = append(all, compare.Sample{Key: compare.Key{Measure: "speedindex", Value: name}})
	}
	for asked, want := range map[string]string{"": "last area first share",
		"speedindex.share": "share last area first"} {
		r.cmd.Primary = strings.Fields(asked)
		var names []string
		for _, s := range slices.SortedStableFunc(slices.Values(all),
			func(a, b compare.Sample) int { return rank(r.primary(), a) - rank(r.primary(), b) }) {
			names = append(names, s.Key.Value)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("asked for %q: %s", asked, got)
		}
	}
	r.options.Test = nil // it is on another rig
	if got := rank(r.primary(), all[0]); got != len(r.cmd.Primary) {
		t.Errorf("rank %d of a test of which nothing is known", got)
	}
}
