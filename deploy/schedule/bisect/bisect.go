// Package bisect finds the build at which a shift between a good and a bad build began. [Search] is
// a state machine without I/O: it requests blocks of runs, and takes their values. It reports a
// build only after an exact test of fresh runs against the build before it. So a report is false
// with a probability of at most Delta, in any noise.
package bisect

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze/stats"
)

// Bounds of options.
const (
	MaxBuilds = 20_000
	MaxBudget = 100_000
)

// Options describe a search.
type Options struct {
	Builds    []string `json:"builds"`               // in order: the first is good, the last is bad
	Threshold float64  `json:"threshold"`            // smallest shift that matters, in the unit of the values
	Budget    int      `json:"budget"`               // runs
	Delta     float64  `json:"delta,omitempty"`      // chance of a false report (default: 0.01)
	BadIsLow  bool     `json:"bad_is_low,omitempty"` // bad builds have lower values
}

// Step is a request for blocks. A block is one run of each build, in random order.
type Step struct {
	Builds []string `json:"builds"`
	Blocks int      `json:"blocks"`
	Reason string   `json:"reason"` // a sentence
}

// Results are those of the requested step. Fewer blocks than requested are possible.
type Results struct {
	// Blocks are the values by build. A failed run has none. Logarithms of positive values make the
	// threshold and shifts relative.
	Blocks []map[string]float64 `json:"blocks,omitempty"`
	Broken []string             `json:"broken,omitempty"` // builds that cannot run
}

// Constants of the search.
const (
	searchBlocks = 2    // per step of the search
	newest       = 40   // good and bad runs that give error rates
	drifting     = 4    // blocks that give the level of a drifting machine
	sure         = 0.9  // posterior at which a build is confirmed
	whole        = 0.8  // share of the shift that one change explains at least
	maxEvidence  = 6    // of a confirmation's many runs, as a logarithm: error rates are estimates
	refutedOdds  = 0.02 // factor of a build's chance after its confirmation failed
	openOdds     = 0.2  // the same where it ended undecided
)

// reading is a value, and its distance to the middle of good and bad in the blocks before.
type reading struct{ value, relative float64 }

// segment is the builds from a good one to a bad one.
type segment struct{ good, bad int }

// stage is the kind of the current step.
type stage int

const (
	ends   stage = iota // confirm good against bad
	narrow              // compare a build between them with both
	pair                // confirm a build against the one before
	done
)

// Search is the state of a bisection. It is not safe for concurrent use. Its JSON has the options
// and all results, from which the state is computed again.
type Search struct {
	options Options
	results []Results
	index   map[string]int
	broken  []bool

	stage       stage
	todo        []segment // wait for their turn
	seg, pair   segment
	level       float64 // of the current confirmation, or of the next one
	differences []float64
	good, bad   []reading // newest of the segment's ends
	middles     []float64 // between good and bad in the newest blocks
	evidence    []float64 // by build: log P(values | bad) − log P(values | good)
	odds        []float64 // by build: logarithms of factors of failed confirmations
	shift       stats.Interval
	outcome     Outcome
}

// New returns a search that has not begun.
func New(o Options) (*Search, error) {
	if o.Delta == 0 {
		o.Delta = 0.01
	}
	o.Builds = slices.Clone(o.Builds)
	s := &Search{options: o, index: map[string]int{}, level: o.Delta / 2}
	for i, b := range o.Builds {
		s.index[b] = i
	}
	n := len(o.Builds)
	switch {
	case n < 2 || n > MaxBuilds:
		return nil, fmt.Errorf("bisect: %d builds, want 2 to %d", n, MaxBuilds)
	case len(s.index) != n:
		return nil, errors.New("bisect: a build is listed twice")
	case !(o.Delta > 0 && o.Delta <= 0.2):
		return nil, fmt.Errorf("bisect: delta is %v, want up to 0.2", o.Delta)
	case !(o.Threshold >= 0 && o.Threshold <= math.MaxFloat32):
		return nil, fmt.Errorf("bisect: threshold is %v, want 0 or more", o.Threshold)
	case o.Budget < 1 || o.Budget > MaxBudget:
		return nil, fmt.Errorf("bisect: budget is %d runs, want 1 to %d", o.Budget, MaxBudget)
	}
	s.broken, s.evidence, s.odds = make([]bool, n), make([]float64, n), make([]float64, n)
	s.seg = segment{0, n - 1}
	s.outcome.State = Searching
	s.settle()
	return s, nil
}

// MarshalJSON returns the options and all results.
func (s *Search) MarshalJSON() ([]byte, error) {
	return json.Marshal(saved{s.options, s.results})
}

type saved struct {
	Options Options   `json:"options"`
	Results []Results `json:"results"`
}

// UnmarshalJSON adds the saved results to a new search. A search that its results do not fit is an
// error.
func (s *Search) UnmarshalJSON(data []byte) error {
	var v saved
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("read bisect: %w", err)
	}
	read, err := New(v.Options)
	if err != nil {
		return err
	}
	for i, r := range v.Results {
		if err := read.Add(r); err != nil {
			return fmt.Errorf("read bisect: step %d: %w", i+1, err)
		}
	}
	*s = *read
	return nil
}

// Next returns the runs to do. It returns the same step until results are added, and false once the
// search has ended.
func (s *Search) Next() (Step, bool) {
	name := func(i int) string { return s.options.Builds[i] }
	switch s.stage {
	case ends, pair:
		at := s.compared()
		return Step{[]string{name(at.good), name(at.bad)}, s.missing(),
			fmt.Sprintf("Confirm %s against %s.", name(at.good), name(at.bad))}, true
	case narrow:
		_, middle, _ := s.posterior()
		return Step{[]string{name(s.seg.good), name(s.seg.bad), name(middle)}, searchBlocks,
			fmt.Sprintf("Compare %s with %s and %s.", name(middle), name(s.seg.good), name(s.seg.bad))}, true
	}
	return Step{}, false
}

// compared returns the builds of the current confirmation.
func (s *Search) compared() segment {
	if s.stage == pair {
		return s.pair
	}
	return s.seg
}

func (s *Search) confirmation() stats.ConfirmationResult {
	return stats.DefaultConfirmation(s.level, s.options.Threshold).Judge(s.differences)
}

// missing returns the number of blocks up to the next look.
func (s *Search) missing() int { return max(1, s.confirmation().Blocks-len(s.differences)) }

// Add takes the results of the current step. On an error nothing changes.
func (s *Search) Add(r Results) error {
	step, ok := s.Next()
	switch {
	case !ok:
		return errors.New("add results: the bisection has ended")
	case len(r.Blocks) > step.Blocks:
		return fmt.Errorf("add results: %d blocks, the step has %d", len(r.Blocks), step.Blocks)
	case len(r.Blocks) == 0 && len(r.Broken) == 0:
		return errors.New("add results: the step has neither blocks nor broken builds")
	}
	for _, block := range r.Blocks {
		for build, v := range block {
			if !slices.Contains(step.Builds, build) {
				return fmt.Errorf("add results: build %q is not in the step", build)
			}
			if !(math.Abs(v) <= math.MaxFloat32) {
				return fmt.Errorf("add results: build %q has the value %v", build, v)
			}
		}
	}
	for _, build := range r.Broken {
		if !slices.Contains(step.Builds, build) {
			return fmt.Errorf("add results: broken build %q is not in the step", build)
		}
	}
	s.results = append(s.results, r)
	s.outcome.Runs += len(r.Blocks) * len(step.Builds)
	for _, block := range r.Blocks {
		s.take(step, block)
	}
	for _, build := range r.Broken {
		s.broken[s.index[build]] = true
	}
	s.settle()
	return nil
}

// take adds the values of a block. Higher is worse in all that follows.
func (s *Search) take(step Step, block map[string]float64) {
	value := func(i int) (float64, bool) {
		v, ok := block[step.Builds[i]]
		if s.options.BadIsLow {
			v = -v
		}
		return v, ok
	}
	good, hasGood := value(0)
	bad, hasBad := value(1)
	if s.stage == pair { // without good and bad in the block, so that drift is unknown
		for i, v := range []float64{good, bad} {
			if ok := [...]bool{hasGood, hasBad}[i]; ok && !s.drifts() {
				s.weigh(s.index[step.Builds[i]], reading{v, v}, maxEvidence)
			}
		}
	} else {
		if hasGood && hasBad && len(s.middles) == 0 {
			s.middles = []float64{(good + bad) / 2}
		}
		level := 0.0
		for _, m := range s.middles {
			level += m / float64(len(s.middles))
		}
		if hasGood {
			s.good = latest(append(s.good, reading{good, good - level}), newest)
		}
		if hasBad {
			s.bad = latest(append(s.bad, reading{bad, bad - level}), newest)
		}
		if v, ok := value(len(step.Builds) - 1); ok && s.stage == narrow {
			s.weigh(s.index[step.Builds[2]], reading{v, v - level}, math.Inf(1))
		}
		if hasGood && hasBad {
			s.middles = latest(append(s.middles, (good+bad)/2), drifting)
		}
	}
	if s.stage == narrow {
		return
	}
	difference := math.NaN() // a block that does not count
	if hasGood && hasBad {
		difference = bad - good
	}
	s.differences = append(s.differences, difference)
}

func latest[T any](values []T, n int) []T { return values[max(0, len(values)-n):] }
