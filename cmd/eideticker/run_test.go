package main

import (
	"context"
	"testing"

	"github.com/eideticker/eideticker/cmd/eideticker/internal/session"
)

// TestVerdictOfASet: what ended a set is told, and nothing else is blamed.
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
		"all count":                  {t.Context(), false, []*session.Made{warm, passed, passed}, ""},
		"a warm-up failed":           {t.Context(), false, []*session.Made{made(session.Failed, "no such thing", true)}, "1 of 1 run failed: no such thing"},
		"a warm-up of a hunt failed": {t.Context(), true, []*session.Made{made(session.Failed, "no such thing", true)}, "1 of 1 run failed: no such thing"},
		"one failed":                 {t.Context(), false, []*session.Made{lossy, passed, broken}, "1 of 3 runs failed: no such thing"},
		"some lost too much":         {t.Context(), false, []*session.Made{passed, lossy}, "1 run of a count, and not 2: the others lost too many frames, see --retries and --max-lost"},
		"stopped before the second":  {stopped, false, []*session.Made{lossy, passed}, ""},
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
