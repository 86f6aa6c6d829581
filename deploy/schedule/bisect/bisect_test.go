package bisect_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/deploy/schedule/bisect"
)

// lab has builds with a level each. Runs of a block share its drift.
type lab struct {
	r      *rand.Rand
	levels map[string]float64
	broken map[string]bool
	noise  func(r *rand.Rand) float64
	drift  float64
	blocks int
}

func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("b%d", i))
	}
	return all
}

// newLab has the first builds at level 0. Each change adds its size from its build on.
func newLab(seed uint64, builds []string, changes map[int]float64) *lab {
	l := &lab{rand.New(rand.NewPCG(seed, 9)), map[string]float64{}, map[string]bool{}, (*rand.Rand).NormFloat64, 0, 0}
	level := 0.0
	for i, b := range builds {
		level += changes[i]
		l.levels[b] = level
	}
	return l
}

func (l *lab) run(step bisect.Step) (r bisect.Results) {
	for _, b := range step.Builds {
		if l.broken[b] {
			r.Broken = append(r.Broken, b)
		}
	}
	if r.Broken != nil {
		return r
	}
	for range step.Blocks {
		l.blocks++
		block := map[string]float64{}
		for place, i := range l.r.Perm(len(step.Builds)) {
			block[step.Builds[i]] = l.levels[step.Builds[i]] + l.noise(l.r) + l.drift*float64(3*l.blocks+place)
		}
		r.Blocks = append(r.Blocks, block)
	}
	return r
}

// search runs a bisection to its end.
func (l *lab) search(t *testing.T, o bisect.Options) bisect.Outcome {
	t.Helper()
	s := must(bisect.New(o))(t)
	for step, ok := s.Next(); ok; step, ok = s.Next() {
		if err := s.Add(l.run(step)); err != nil {
			t.Fatal(err)
		}
	}
	if out := s.Outcome(); out.Runs <= o.Budget {
		return out
	}
	t.Fatalf("%d runs, the budget is %d", s.Outcome().Runs, o.Budget)
	return bisect.Outcome{}
}

// false counts changes between builds of one level.
func (l *lab) wrong(o bisect.Outcome) (n int) {
	for _, f := range o.Found {
		if l.levels[f.Good] == l.levels[f.Bad] {
			n++
		}
	}
	return n
}

// TestWrongClaims bisects 1000 builds. A wrong claim names two builds of one level.
func TestWrongClaims(t *testing.T) {
	searches := 40
	if os.Getenv("EIDETICKER_SOAK") != "" {
		searches = 2000
	}
	modes := func(r *rand.Rand) float64 { return 6*float64(r.IntN(2)) + r.NormFloat64() }
	outliers := func(r *rand.Rand) float64 {
		if v := r.NormFloat64(); r.IntN(20) > 0 {
			return v
		}
		return 30 * r.Float64()
	}
	builds := names(1000)
	wrong, all := 0, 0
	for _, tc := range []struct {
		name   string
		shift  float64
		noise  func(*rand.Rand) float64
		drift  float64
		broken int     // percent
		right  float64 // share of searches that name the right build, at least
	}{
		{"4 sd", 4, nil, 0, 0, 0.95},
		{"2 sd", 2, nil, 0, 0, 0.9},
		{"1 sd", 1, nil, 0, 0, 0.3},
		{"equal", 0, nil, 0, 0, 0},
		{"drift", 4, nil, 0.05, 0, 0},
		{"two modes", 3, modes, 0, 0, 0},
		{"outliers", 3, outliers, 0, 0, 0.8},
		{"broken builds", 4, nil, 0, 30, 0.95},
	} {
		right, states, runs, bad := 0, map[string]int{}, 0, 0
		for seed := range uint64(searches) {
			at := 1 + rand.New(rand.NewPCG(seed, 5)).IntN(999)
			l := newLab(seed, builds, map[int]float64{at: tc.shift})
			if l.drift = tc.drift; tc.noise != nil {
				l.noise = tc.noise
			}
			for _, b := range builds[1:999] {
				l.broken[b] = l.r.IntN(100) < tc.broken
			}
			o := l.search(t, bisect.Options{Builds: builds, Threshold: 0.5, Budget: 600})
			runs += o.Runs
			states[o.State]++
			switch claims := l.wrong(o); {
			case claims > 0:
				bad++
			case len(o.Found) == 1:
				right++
			}
		}
		wrong, all = wrong+bad, all+searches
		t.Logf("%-13s: %d of %d right, %d wrong, %v, %d runs on average", tc.name, right, searches, bad, states,
			runs/searches)
		if bad > stats.MaxByChance(searches, 0.01, 0.9999) || float64(right) < tc.right*float64(searches) {
			t.Errorf("%s: %d of %d right, %d wrong", tc.name, right, searches, bad)
		}
	}
	if limit := stats.MaxByChance(all, 0.01, 0.999); wrong > limit {
		t.Errorf("%d of %d searches make wrong claims; at most %d may be chance", wrong, all, limit)
	}
}

func TestOutcomes(t *testing.T) {
	ten := names(10)
	for _, tc := range []struct {
		name    string
		builds  []string
		changes map[int]float64
		broken  []int
		budget  int
		low     bool
		state   string
		found   []string // good and bad
	}{
		{"first bad", ten, map[int]float64{4: 9}, nil, 600, false, bisect.FirstBad, []string{"b3", "b4"}},
		{"lower is bad", ten, map[int]float64{4: -9}, nil, 600, true, bisect.FirstBad, []string{"b3", "b4"}},
		{"better", ten, map[int]float64{4: -9}, nil, 600, false, bisect.NotReproduced, nil},
		{"neighbours", names(2), map[int]float64{1: 9}, nil, 600, false, bisect.FirstBad, []string{"b0", "b1"}},
		{"range", ten, map[int]float64{4: 9}, []int{3, 4, 5}, 600, false, bisect.FirstBad, []string{"b2", "b6"}},
		{"all broken between", ten, map[int]float64{4: 9}, []int{1, 2, 3, 4, 5, 6, 7, 8}, 900, false, bisect.FirstBad,
			[]string{"b0", "b9"}},
		{"good is broken", ten, map[int]float64{4: 9}, []int{0}, 600, false, bisect.NotDecided, nil},
		{"small budget", ten, map[int]float64{4: 9}, nil, 30, false, bisect.NotDecided, nil},
		{"smaller budget", ten, map[int]float64{4: 9}, nil, 1, false, bisect.NotDecided, nil},
		{"equal", ten, nil, nil, 600, false, bisect.NotReproduced, nil},
		{"several", ten, map[int]float64{3: 9, 7: 12}, nil, 900, false, bisect.Several, []string{"b2", "b3", "b6", "b7"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLab(7, tc.builds, tc.changes)
			for _, i := range tc.broken {
				l.broken[ten[i]] = true
			}
			o := l.search(t, bisect.Options{Builds: tc.builds, Threshold: 1, Budget: tc.budget, BadIsLow: tc.low})
			var found []string
			for _, f := range o.Found {
				if found = append(found, f.Good, f.Bad); f.Range < 1 || !(f.Share > 0) || !(f.P <= 0.01) {
					t.Errorf("%+v", f)
				}
			}
			if o.State != tc.state || !slices.Equal(found, tc.found) {
				t.Errorf("%+v, want %s %v", o, tc.state, tc.found)
			}
			if (o.State == bisect.NotReproduced) != (o.Detectable > 0) || o.State == bisect.NotDecided && o.Reason == "" {
				t.Errorf("%+v", o)
			}
		})
	}
}

// TestRestart: a search that is written and read after each step takes the same way. Failed runs
// count towards the budget.
func TestRestart(t *testing.T) {
	builds := names(200)
	l := newLab(3, builds, map[int]float64{120: 3})
	s := must(bisect.New(bisect.Options{Builds: builds, Threshold: 0.5, Budget: 600}))(t)
	for step, ok := s.Next(); ok; step, ok = s.Next() {
		read := &bisect.Search{}
		if err := json.Unmarshal(must(json.Marshal(s))(t), read); err != nil {
			t.Fatal(err)
		}
		if again, _ := read.Next(); !reflect.DeepEqual(again, step) || !reflect.DeepEqual(read.Outcome(), s.Outcome()) {
			t.Fatalf("after a restart %+v, before %+v", again, step)
		}
		results := l.run(step)
		delete(results.Blocks[0], step.Builds[l.r.IntN(len(step.Builds))]) // a failed run
		if len(results.Blocks) > 2 {
			results.Blocks = results.Blocks[:len(results.Blocks)-1] // interrupted
		}
		if s = read; s.Add(results) != nil {
			t.Fatalf("%+v is rejected", results)
		}
	}
	if o := s.Outcome(); o.State != bisect.FirstBad || l.wrong(o) > 0 {
		t.Errorf("%+v", o)
	}
	if s.Add(bisect.Results{Broken: []string{"b0"}}) == nil {
		t.Error("results after the end are accepted")
	}
}

func TestRejected(t *testing.T) {
	valid := bisect.Options{Builds: []string{"a", "b", "c"}, Budget: 100}
	for name, change := range map[string]func(o *bisect.Options){
		"one build": func(o *bisect.Options) { o.Builds = o.Builds[:1] }, "twice": func(o *bisect.Options) { o.Builds[2] = "a" },
		"delta": func(o *bisect.Options) { o.Delta = 0.5 }, "NaN": func(o *bisect.Options) { o.Delta = math.NaN() },
		"threshold": func(o *bisect.Options) { o.Threshold = -1 }, "infinite": func(o *bisect.Options) { o.Threshold = math.Inf(1) },
		"budget": func(o *bisect.Options) { o.Budget = 0 },
		"builds": func(o *bisect.Options) { o.Builds = names(bisect.MaxBuilds + 1) },
	} {
		o := valid
		o.Builds = slices.Clone(o.Builds)
		change(&o)
		if _, err := bisect.New(o); err == nil || !strings.HasPrefix(err.Error(), "bisect: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	s := must(bisect.New(valid))(t)
	for name, r := range map[string]bisect.Results{
		"nothing": {}, "unknown build": {Blocks: []map[string]float64{{"z": 1}}}, "not in the step": {Broken: []string{"b"}},
		"NaN": {Blocks: []map[string]float64{{"a": math.NaN()}}}, "too many": {Blocks: make([]map[string]float64, 13)},
	} {
		before, _ := s.Next()
		if err := s.Add(r); err == nil {
			t.Errorf("%s is accepted", name)
		}
		if after, _ := s.Next(); !reflect.DeepEqual(before, after) || s.Outcome().Runs != 0 {
			t.Errorf("%s changes the search", name)
		}
	}
}

// FuzzSearch: no JSON makes a search that fails, or does not end.
func FuzzSearch(f *testing.F) {
	f.Add([]byte(`{"options":{"builds":["a","b","c"],"threshold":1,"budget":100}}`))
	f.Add([]byte(`{"options":{"builds":["a","b","c"],"budget":9000},"results":[{"blocks":[{"a":1,"b":2},{"c":5}]}]}`))
	f.Add([]byte(`{"options":{"builds":["a","b","c"],"budget":900},"results":[{"broken":["c"]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &bisect.Search{}
		if json.Unmarshal(data, s) != nil {
			return
		}
		for range 10 {
			step, ok := s.Next()
			if !ok {
				break
			}
			if len(step.Builds) < 2 || step.Blocks < 1 {
				t.Fatalf("%+v", step)
			}
			r := bisect.Results{}
			for range step.Blocks {
				block := map[string]float64{}
				for i, b := range step.Builds {
					block[b] = float64(len(data)%7 + i)
				}
				r.Blocks = append(r.Blocks, block)
			}
			if err := s.Add(r); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
