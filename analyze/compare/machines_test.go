package compare

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/machine"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
)

// onMachine gives the runs of a set a machine. busy has a share of the CPU time per run, repeated;
// negative: unknown.
func onMachine(s *Set, change func(*Run), busy ...float64) *Set {
	for i := range s.Runs {
		r, share := &s.Runs[i], busy[i%len(busy)]
		r.made, r.Environment = true, result.Environment{result.EnvMachineShared: "yes", result.EnvDUT: "local"}
		r.Machine = &machine.Activity{Processors: 4, Model: "M", Governors: []string{"performance"}, Others: &share,
			Steal: new(float64)}
		if share < 0 {
			r.Machine = nil
		} else if share >= machine.Noisy {
			r.Machine.Programs, r.Machine.Noise = []string{"burn"}, "other programs"
		}
		if change != nil {
			change(r)
		}
	}
	return s
}

// TestMachines: sides that were measured one after the other on unlike machines have no verdict.
func TestMachines(t *testing.T) {
	const unlike = "A and B were not measured alike: "
	quiet, busy := []float64{0.01}, []float64{0.5}
	sentence := strings.NewReplacer("noisy: ", "were noisy; others took ", " % and", " % and",
		" %", " % of the CPU time: burn")
	slow := func(r *Run) { r.Machine.Governors = []string{"powersave"} }
	for _, tc := range []struct {
		name    string
		plan    string
		runs    int
		a, b    []float64
		change  func(*Run) // of B
		judge   bool
		want    Outcome
		warning string // the last; "": none
	}{
		{"quiet", "", 6, quiet, quiet, nil, false, Regressed, ""},
		{"B noisy", "", 6, quiet, busy, nil, false, Inconclusive,
			unlike + "0 of 6 runs of A and 6 of 6 runs of B noisy: 1 % and 50 %"},
		{"A noisy", "", 6, busy, quiet, nil, false, Inconclusive,
			unlike + "6 of 6 runs of A and 0 of 6 runs of B noisy: 50 % and 1 %"},
		{"B noisy, judged", "", 6, quiet, busy, nil, true, Regressed,
			unlike + "0 of 6 runs of A and 6 of 6 runs of B noisy: 1 % and 50 %"},
		{"both noisy", "", 6, busy, busy, nil, false, Regressed,
			"6 of 6 runs of A and 6 of 6 runs of B noisy: 50 % and 50 %"},
		{"B noisier", "", 6, []float64{0.2}, []float64{0.6}, nil, false, Inconclusive,
			unlike + "6 of 6 runs of A and 6 of 6 runs of B noisy: 20 % and 60 %"},
		{"one noisy run", "", 6, quiet, []float64{0.9, 0.01, 0.01, 0.01, 0.01, 0.01}, nil, false, Regressed,
			"0 of 6 runs of A and 1 of 6 runs of B noisy: 1 % and 1 %"},
		{"four of ten", "", 20, quiet, []float64{0.01, 0.5, 0.01, 0.5, 0.01}, nil, false, Inconclusive,
			unlike + "0 of 20 runs of A and 8 of 20 runs of B noisy: 1 % and 1 %"},
		{"turns", "p", 8, quiet, busy, nil, false, Regressed,
			"0 of 8 runs of A and 8 of 8 runs of B noisy: 1 % and 50 %; " +
				"they took turns"},
		{"turns in too few blocks", "p", 7, quiet, busy, nil, false, Regressed,
			"0 of 7 runs of A and 7 of 7 runs of B noisy: 1 % and 50 %; " +
				"they took turns"},
		{"another device", "", 6, quiet, busy, func(r *Run) { r.Environment[result.EnvMachineShared] = "no" }, false,
			Inconclusive, // A is on this machine
			unlike + "0 of 6 runs of A and 6 of 6 runs of B noisy: 1 % and 50 %"},
		{"governor", "", 6, quiet, quiet, slow, false, Inconclusive,
			unlike + "the governor is performance in A, powersave in B"},
		{"governor of noisy sides", "", 6, busy, busy, slow, false, Inconclusive,
			unlike + "the governor is performance in A, powersave in B"},
		{"governor, turns", "p", 8, quiet, quiet, slow, false, Regressed, ""},
		{"processors", "", 6, quiet, quiet, func(r *Run) { r.Machine.Processors = 8 }, false, Inconclusive,
			unlike + "the number of processors is 4 in A, 8 in B"},
		{"processor", "", 6, quiet, quiet, func(r *Run) { r.Machine.Model = "N" }, false, Inconclusive,
			unlike + "the processor is M in A, N in B"},
		{"devices", "", 6, quiet, quiet, func(r *Run) { r.Machine.Model, r.Environment[result.EnvDUT] = "N", "box" },
			false, Regressed, ""},
		{"unknown governor", "", 6, quiet, quiet, func(r *Run) { r.Machine.Governors = nil }, false, Regressed, ""},
		{"older runs", "", 6, []float64{-1}, busy, nil, false, Regressed,
			"6 of 6 runs of B noisy: 50 %"},
		{"older runs in both", "", 6, []float64{-1}, []float64{-1}, nil, false, Regressed,
			"noise of the machine is unknown for 12 runs; see compare --help"},
		{"no runs of the program", "", 6, []float64{-1}, []float64{-1}, func(r *Run) { r.made = false }, false,
			Regressed, "noise of the machine is unknown for 6 runs; see compare --help"}, // those of A
		{"single runs", "", 1, quiet, busy, nil, false, Inconclusive,
			unlike + "0 of 1 run of A and 1 of 1 run of B noisy: 1 % and 50 %"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := onMachine(valued(tc.plan, tc.runs, load(1000)), nil, tc.a...)
			b := onMachine(valued(tc.plan, tc.runs, load(3000)), tc.change, tc.b...)
			tc.warning = sentence.Replace(tc.warning)
			c, err := Compare(a, b, Options{Primary: []string{"speedindex.first_visual_change"}, JudgeUnlike: tc.judge})
			if err != nil {
				t.Fatal(err)
			}
			last := ""
			if n := len(c.Warnings); n > 0 {
				last = c.Warnings[n-1]
			}
			o, why := c.Outcome()
			if o != tc.want || last != tc.warning {
				t.Errorf("%s (%s), warning\n%q, want %s and\n%q", o, why, last, tc.want, tc.warning)
			}
			withheld := tc.want == Inconclusive
			if c.JSON().Withheld == "" == withheld || strings.Contains(c.Answer(), "Not decided whether") != withheld ||
				withheld && (!strings.Contains(c.Answer(), tc.warning) || why != "inconclusive: "+tc.warning) {
				t.Errorf("answer %q, outcome %q, withheld %q", c.Answer(), why, c.JSON().Withheld)
			}
		})
	}
}

// TestMachinesOfRecorders: browsers on devices of their own are judged, with a warning.
func TestMachinesOfRecorders(t *testing.T) {
	alone := func(r *Run) { r.Environment[result.EnvMachineShared] = "no" }
	slow := func(r *Run) { alone(r); r.Machine.Governors = []string{"powersave"} }
	for want, b := range map[string]*Set{
		"6 of 6 runs of B were noisy": onMachine(valued("", 6, load(3000)), alone, 0.5),
		"the governor is":             onMachine(valued("", 6, load(3000)), slow, 0.01),
	} {
		c := analyzetest.Must(Compare(onMachine(valued("", 6, load(1000)), alone, 0.01), b, Options{}))(t)
		if o, _ := c.Outcome(); o != Regressed || c.withheld != "" ||
			!slices.ContainsFunc(c.Warnings, func(w string) bool {
				return strings.HasPrefix(w, "A and B were not measured alike: ") && strings.Contains(w, want)
			}) {
			t.Errorf("%s, withheld %q, warnings %q, want %q", o, c.withheld, c.Warnings, want)
		}
	}
}

// TestWithheld: no value of sides that were not measured alike has a verdict, in any output.
func TestWithheld(t *testing.T) {
	a := onMachine(valued("", 6, load(1000)), nil, 0.01)
	b := onMachine(valued("", 6, load(3000)), nil, 0.7)
	c := analyzetest.Must(Compare(a, b, Options{}))(t)
	for i := range c.Values {
		v := &c.Values[i]
		if v.Verdict != stats.Inconclusive && v.Verdict != stats.Untested || v.Direction != "" || v.MoreA+v.MoreB > 0 {
			t.Errorf("%s: %s, %s, %d and %d more", v.Key, v.Verdict, v.Direction, v.MoreA, v.MoreB)
		}
	}
	if got, want := c.Primary.Sentence(), "6 runs each; not measured alike"; !strings.HasSuffix(got, want) ||
		strings.Contains(got, "slower") {
		t.Errorf("%q, want the size and %q", got, want)
	}
	var markdown, junit bytes.Buffer
	analyzetest.Check(t, c.WriteMarkdown(&markdown))
	analyzetest.Check(t, c.WriteJUnit(&junit))
	for name, text := range map[string]string{"markdown": markdown.String(), "junit": junit.String()} {
		if !strings.Contains(text, "not measured alike") || strings.Contains(text, "regressed") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	if runs := c.JSON().B.Runs; runs[0].Noise != "other programs" {
		t.Errorf("%+v", runs)
	}
}

// TestMachineOfARun: a run states its machine in run.json; that of an older program does not.
func TestMachineOfARun(t *testing.T) {
	for name, tc := range map[string]struct {
		record string // "": none
		made   bool
		noise  string
	}{
		"none":    {"", false, ""},
		"older":   {`{"block": 1}`, true, ""},
		"noisy":   {`{"block": 1, "machine": {"others_fraction": 0.5, "steal_fraction": 0, "noise": "n"}}`, true, "n"},
		"invalid": {`{"machine": 7}`, false, ""},
	} {
		dir := t.TempDir()
		if tc.record != "" {
			analyzetest.Check(t, os.WriteFile(filepath.Join(dir, runFile), []byte(tc.record), 0o600))
		}
		var r Run
		r.planned(dir)
		if r.made != tc.made || r.noise() != tc.noise {
			t.Errorf("%s: made %t, noise %q", name, r.made, r.noise())
		}
	}
}

// TestNoisyRunsOfASet: the page of a set marks noisy runs, as set.json or its runs state.
func TestNoisyRunsOfASet(t *testing.T) {
	var p plan
	analyzetest.Check(t, p.read([]byte(`{"variants": ["v"], "runs": [{"dir": "run-01", "noise": "n"}]}`)))
	if p.Runs[0].Noise != "n" {
		t.Errorf("%+v", p.Runs)
	}
	s := &SetFolder{Dir: "d", variants: []*Set{onMachine(valued("", 2, load(1)), nil, 0.5, 0)}}
	s.found()
	raw, err := json.Marshal(s.plan.Runs)
	got := []string{s.plan.Runs[0].Noise, s.plan.Runs[1].Noise}
	if err != nil || !slices.Equal(got, []string{"other programs", ""}) {
		t.Errorf("%s, %v", raw, err)
	}
}
