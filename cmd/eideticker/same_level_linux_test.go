package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
)

// sameDraw is one value of a run of set B or A in a comparison.
type sameDraw func(r *rand.Rand, comparison int, b bool) float64

// sameSet is a set of runs with a primary value and a second one.
func sameSet(r *rand.Rand, runs, which int, b bool, primary, second sameDraw) *compare.Set {
	s := &compare.Set{}
	for i := range runs {
		value := func(name string, v float64) analyze.Value {
			return analyze.Value{Name: name, Unit: "ms", Value: v, Low: v, High: v, State: analyze.Exact,
				Better: analyze.Lower, Threshold: 0.03}
		}
		res := analyze.Result{Measure: "response", Version: 1, Values: []analyze.Value{
			value("latency_p50", primary(r, which, b)), value("latency_max", second(r, which, b)),
		}}
		s.Runs = append(s.Runs, compare.Run{Name: fmt.Sprintf("run-%02d", i+1),
			Windows: []result.Window{{Results: []analyze.Result{res}}}})
	}
	return s
}

func samePlanOf(comparisons int) *samePlan {
	test := &suite.Test{Name: "t", Primary: []string{"response.latency_p50", "response.latency_max"}}
	o := session.SetOptions{Test: test,
		Variants: []session.Variant{{Device: namedDevice{}}}, Repeat: sameRepeat, Dir: "d"}
	return newSamePlan([]session.SetOptions{o}, comparisons)
}

// TestSameKnowsABrokenLevel: of data whose alarms are known, those that keep the level pass, and
// those that do not are told, whatever it is that breaks it.
func TestSameKnowsABrokenLevel(t *testing.T) {
	const comparisons = 40
	noise := func(r *rand.Rand, _ int, _ bool) float64 { return 100 + 5*r.NormFloat64() }
	for name, tc := range map[string]struct {
		primary, second sameDraw
		runs            int
		want            string // of the error; "": none
		alarms          func(hits, of int) bool
	}{
		"alike": {noise, noise, sameRepeat, "", func(hits, of int) bool { return hits <= 6 && of == comparisons }},
		"three of ten alarm": {func(r *rand.Rand, c int, b bool) float64 {
			v := noise(r, c, b)
			if b && c%10 < 3 {
				v *= 2
			}
			return v
		}, noise, sameRepeat, "of 40 comparisons of a browser with itself are false alarms, and chance allows 6: " +
			"t-01: response.latency_p50", func(hits, _ int) bool { return hits >= 12 }},
		"the second always a little higher": {func(r *rand.Rand, _ int, b bool) float64 {
			v := 100 + 0.01*r.NormFloat64()
			if b {
				v++ // a third of the threshold
			}
			return v
		}, noise, sameRepeat, "p is below 0.05 in 40 of 40 comparisons of a browser with itself, and chance allows 6",
			func(hits, _ int) bool { return hits <= 6 }},
		"never varies": {func(*rand.Rand, int, bool) float64 { return 7 },
			func(*rand.Rand, int, bool) float64 { return 8 }, sameRepeat,
			"in none of 40 comparisons was a verdict possible", func(hits, of int) bool {
				return hits == 0 &&
					of == 0
			}},
		"below a threshold": {func(r *rand.Rand, _ int, _ bool) float64 { return 100 + 0.1*r.NormFloat64() },
			func(*rand.Rand, int, bool) float64 { return 8 }, sameRepeat,
			"in none of 40 comparisons was a verdict possible", func(hits, of int) bool {
				return hits == 0 &&
					of == 0
			}},
		"too few runs": {noise, noise, stats.FewestRuns - 1,
			"no comparison counts, so nothing is shown: t-01: only 5 runs of a set",
			func(hits, of int) bool { return hits == 0 && of == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, 11))
			plan := samePlanOf(comparisons)
			var judged []sameJudged
			for i, c := range plan.Comparisons {
				j := sameJudged{sameComparison: c}
				j.take(sameSet(r, tc.runs, i, false, tc.primary, tc.second),
					sameSet(r, tc.runs, i, true, tc.primary, tc.second), plan.Tests[0].Primary)
				judged = append(judged, j)
			}
			result := countSame(plan, judged)
			got := ""
			if err := result.failure(); err != nil {
				got = err.Error()
			}
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
			if !tc.alarms(result.alarms.hits, result.alarms.of) {
				t.Errorf("%d of %d are alarms", result.alarms.hits, result.alarms.of)
			}
			if row := result.rows[0]; len(result.rows) != 2 || !row.primary && tc.runs == sameRepeat ||
				len(row.values) != 2*comparisons*tc.runs {
				t.Errorf("%d rows, %+v", len(result.rows), row)
			}
		})
	}
}

// TestSameTellsItAll: the table has the count, what chance allows and each value's spread.
func TestSameTellsItAll(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	plan := samePlanOf(3)
	draws := func(r *rand.Rand, _ int, _ bool) float64 { return float64(100 + 10*r.IntN(5)) }
	still := func(*rand.Rand, int, bool) float64 { return 0 }
	var judged []sameJudged
	for i, c := range plan.Comparisons[:2] {
		j := sameJudged{sameComparison: c}
		j.take(sameSet(r, 7, i, false, draws, still), sameSet(r, 7, i, true, draws, still), plan.Tests[0].Primary)
		judged = append(judged, j)
	}
	judged = append(judged, sameJudged{sameComparison: plan.Comparisons[2], why: "not made"})
	var out bytes.Buffer
	if err := countSame(plan, judged).print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"2 of 3 count; in 2 of them a verdict was possible",
		"of 2 (0.0–84.2 %); at 5 % 0.1 are expected at most, and 1 may be chance: within what the level allows",
		"t-03: not made", "response.latency_p50 *", "no verdict possible", "QUARTILES", "28",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

// sceneDevice shows a scripted scene, whatever is done to it.
type sceneDevice struct{ uri string }

func (sceneDevice) Name() string { return "scene" }

func (d sceneDevice) Open(context.Context, session.Wanted) (session.Stage, error) {
	return sceneStage{d, make(chan struct{})}, nil
}

type sceneStage struct {
	sceneDevice
	ended chan struct{}
}

func (sceneStage) Launch(context.Context, string) (timeline.Interval, error) {
	return timeline.At(timeline.Monotonic().Now()), nil
}

func (sceneStage) Load(context.Context, string) (timeline.Interval, error) {
	return timeline.Interval{}, errors.ErrUnsupported
}
func (s sceneStage) Ended() <-chan struct{}    { return s.ended }
func (sceneStage) Err() error                  { return errors.New("ended") }
func (s sceneStage) Source() string            { return s.uri }
func (sceneStage) Input() input.Driver         { return nil }
func (sceneStage) Painter() controller.Painter { return nil }
func (sceneStage) About() result.Environment   { return result.Environment{} }
func (sceneStage) Close() error                { return nil }

// sceneOptions are runs of a scene in which green, content and red stand for over a second each. A
// machine that stands still delays them.
func sceneOptions(dir string, repeat int) session.SetOptions {
	test := &suite.Test{Name: "scene", URL: "http://scene.example/", Sync: suite.Sync{Markers: true},
		Measures: []string{"fps"}, Timeout: 2 * time.Minute}
	d := sceneDevice{"synth:page?size=96x64&fps=20&frames=24&markers=1&pace=steady"}
	return twice(session.SetOptions{Test: test, Variants: []session.Variant{{Device: d}}, Repeat: repeat, Dir: dir,
		Program: "test", Seed: 5, MaxLost: 1})
}

// TestSameOverRuns makes one comparison of real runs, and counts it from its folder.
func TestSameOverRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays a scene 12 times in real time")
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "same")
	options := []session.SetOptions{sceneOptions(dir, stats.FewestRuns)}
	plan := newSamePlan(options, 1)
	var said bytes.Buffer
	if err := plan.run(&env{ctx: t.Context(), err: &said}, options); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "scene-01, 1 of 1: no") { // alarm, or verdict possible
		t.Errorf("said %q", said.String())
	}
	for _, file := range []string{"scene-01/set.json", "scene-01/a/run-06/results.json",
		"scene-01/b/run-01/recording.eid"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "scene-01/a/run-01/pictures")); err == nil {
		t.Error("pictures were drawn that nobody looks at")
	}
	result := countSame(plan, plan.judge(t.Context())) // a scene's verdict may be that none is possible
	if result.made != 1 || len(result.took) != 2*stats.FewestRuns || len(result.rows[0].values) != 2*stats.FewestRuns {
		t.Errorf("%+v", result)
	}
}

// TestSameInterrupted: what was made is told, and nothing is said of what was not.
func TestSameInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays a scene three times in real time")
	}
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := filepath.Join(t.TempDir(), "same")
	options := []session.SetOptions{sceneOptions(dir, stats.FewestRuns)}
	runs := 0
	options[0].Ran = func(*session.Made) {
		if runs++; runs == 3 {
			cancel()
		}
	}
	plan := newSamePlan(options, 2)
	if err := plan.run(&env{ctx: ctx, err: io.Discard}, options); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	judged := plan.judge(t.Context())
	if result := countSame(plan, judged); judged[0].why != "only 1 run of a set" || judged[1].why != "not made" ||
		result.made != 0 || len(result.rows) == 0 || len(result.took) != 3 {
		t.Errorf("%+v, %+v", judged, result)
	}
}
