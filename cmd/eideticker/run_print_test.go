package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/controller/verdict"
)

// tooLossy is why a run does not count, as sessions say it.
const tooLossy = "the capture lost 60 of 600 measured frames, 10.0 %: more than 5 %"

// lossyRun is one of a set that has ended, of which it tells.
func lossyRun(t *testing.T, repeat int, out, errOut *bytes.Buffer, made ...*session.Made) *testRun {
	t.Helper()
	for _, m := range made {
		m.Record.Test = "scene"
	}
	return &testRun{
		env: &env{ctx: t.Context(), out: out, err: errOut},
		options: session.SetOptions{
			Test: &suite.Test{Name: "scene"}, Variants: []session.Variant{{Device: namedDevice{}, Browser: "a"}},
			Repeat: repeat, Seed: 7, Dir: "out/scene",
		},
		set: &session.Set{Dir: "out/scene", Single: repeat == 1, Dirs: []string{"out/scene"}, Made: made},
	}
}

func madeIn(dir string, state session.State, reason string) *session.Made {
	return &session.Made{Dir: filepath.FromSlash(dir), Record: &session.Record{State: state, Reason: reason}}
}

// rows are the lines of a list by what stands first in each.
func rows(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "  ")
		all[name] = strings.TrimSpace(value)
	}
	return all
}

// TestTellsOfALossyRun: a single run that lost too much was begun again, and what it came to, why,
// and where the earlier ones are is told.
func TestTellsOfALossyRun(t *testing.T) {
	lossy := func() *session.Made { return madeIn("../scene-rejected/run-01.1", session.Rejected, tooLossy) }
	for name, tc := range map[string]struct {
		made         []*session.Made
		state, again string
		wrong        string
	}{
		"at once": {[]*session.Made{madeIn(".", session.Passed, "")}, "ok", "", ""},
		"the second time": {[]*session.Made{lossy(), madeIn(".", session.Passed, "")}, "ok",
			"once; the earlier ones are in out/scene-rejected", ""},
		"the fourth time": {[]*session.Made{lossy(), lossy(), lossy(), madeIn(".", session.Passed, "")}, "ok",
			"3 times; the earlier ones are in out/scene-rejected", ""},
		"never": {[]*session.Made{lossy(), madeIn(".", session.Rejected, tooLossy)}, "rejected",
			"once; the earlier ones are in out/scene-rejected", "run rejected: " + tooLossy},
		"and another fault": {[]*session.Made{lossy(), madeIn(".", session.Failed, "no such thing")}, "failed",
			"once; the earlier ones are in out/scene-rejected", "run failed: no such thing"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			wrong := ""
			if err := lossyRun(t, 1, &out, &errOut, tc.made...).tell(); err != nil {
				wrong = err.Error()
			}
			said := rows(out.String())
			if said["run"] != tc.state || said["begun again"] != tc.again || said["folder"] != "out/scene" ||
				wrong != tc.wrong {
				t.Errorf("%q\n%s", wrong, &out)
			}
		})
	}
}

// TestTellsOfLossyRunsOfASet: each is told of when it ends, and in the end how many there are,
// where they are, and what to do.
func TestTellsOfLossyRunsOfASet(t *testing.T) {
	warm := madeIn("rejected/run-01.1", session.Rejected, tooLossy)
	warm.Record.WarmUp = true
	made := []*session.Made{
		warm, madeIn("rejected/run-01.2", session.Rejected, tooLossy), madeIn("run-01", session.Passed, ""),
		madeIn("rejected/run-02.1", session.Rejected, tooLossy),
	}
	var out, errOut bytes.Buffer
	r := lossyRun(t, 2, &out, &errOut, made...)
	for _, m := range made {
		r.ran(m)
	}
	if want := "a rejected/run-01.2: rejected: " + tooLossy + "\n"; strings.Count(errOut.String(), want) != 1 {
		t.Errorf("while it ran it said\n%s", &errOut)
	}
	const want = "1 run of a accepted, not 2: the others lost too many; see --retries and --max-lost"
	if err := r.tell(); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	said := rows(out.String())
	if said["runs"] != "1 count" || said["seed"] != "7" || said["failed"] != "" ||
		said["rejected"] != "2 runs lost too many frames: "+
			"out/scene/rejected/run-01.2, out/scene/rejected/run-02.1" {
		t.Errorf("%s", &out)
	}
}

// TestTellsOfLossyRunsAsJSON: the same for programs, with the reason of each.
func TestTellsOfLossyRunsAsJSON(t *testing.T) {
	var out, errOut bytes.Buffer
	r := lossyRun(t, 2, &out, &errOut, madeIn("run-01", session.Passed, ""),
		madeIn("rejected/run-02.1", session.Rejected, tooLossy))
	r.cmd.JSON = true
	r.ran(r.set.Made[1])
	if err := r.tell(); err == nil {
		t.Error("that a run is missing is no error")
	}
	var told verdict.JSON
	if err := json.Unmarshal(out.Bytes(), &told); err != nil {
		t.Fatal(err)
	}
	if told.Counts.OK != 1 || told.Counts.Rejected != 1 || told.Counts.Failed != 0 || len(told.Runs) != 2 ||
		told.Runs[1].Dir != "rejected/run-02.1" || told.Runs[1].Run.Reason != tooLossy {
		t.Errorf("%s", &out)
	}
	if errOut.Len() > 0 {
		t.Errorf("beside the object it said %s", &errOut)
	}
}
