package bisect

import (
	"fmt"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze/stats"
)

// States of a bisection.
const (
	Searching     = "searching"
	FirstBad      = "first bad"       // one change was found
	Several       = "several changes" // more than one was found
	NotReproduced = "not reproduced"  // good and bad do not differ enough
	NotDecided    = "not decided"     // the budget is spent, or an end is broken
)

// Outcome is the result of a bisection, or its state so far.
type Outcome struct {
	State  string         `json:"state"`
	Found  []Found        `json:"found,omitempty"` // in order of builds
	Shift  stats.Interval `json:"shift"`           // of bad against good; above 0 is worse
	Runs   int            `json:"runs"`
	Reason string         `json:"reason,omitempty"` // a sentence
	// Detectable is the smallest shift that these runs would have confirmed, where NotReproduced.
	Detectable float64 `json:"detectable,omitempty"`
}

// Found is a confirmed change.
type Found struct {
	Good  string         `json:"good"`  // last usable build before it
	Bad   string         `json:"bad"`   // first usable build with it
	Range int            `json:"range"` // builds that may have brought it: 1, or more where builds are broken
	P     float64        `json:"p"`
	Shift stats.Interval `json:"shift"`
	Share float64        `json:"share"` // of the whole shift
	at    int
}

// Outcome returns the result so far.
func (s *Search) Outcome() Outcome {
	o := s.outcome
	o.Found = slices.Clone(o.Found)
	return o
}

// settle changes the stage until runs are needed, or the search has ended.
func (s *Search) settle() {
	for s.stage != done {
		if !s.decide() {
			break
		}
	}
	if step, ok := s.Next(); ok && s.outcome.Runs+step.Blocks*len(step.Builds) > s.options.Budget {
		s.end(NotDecided, fmt.Sprintf("The budget of %d runs is spent.", s.options.Budget))
	}
}

// decide changes the stage once if the values suffice.
func (s *Search) decide() bool {
	for _, i := range []int{s.seg.good, s.seg.bad} {
		if s.broken[i] {
			s.end(NotDecided, fmt.Sprintf("Build %s cannot run.", s.options.Builds[i]))
			return true
		}
	}
	switch s.stage {
	case ends:
		return s.decideEnds()
	case narrow:
		weights, _, first := s.posterior()
		if weights[first-s.seg.good-1] < sure {
			return false
		}
		s.stage, s.pair, s.differences = pair, segment{s.before(first), first}, nil
		return true
	case pair:
		return s.decidePair()
	}
	return false
}

func (s *Search) decideEnds() bool {
	result := s.confirmation()
	if result.State == stats.More {
		return false
	}
	first := len(s.outcome.Found) == 0
	if first {
		s.outcome.Shift = result.Shift
	}
	s.shift = result.Shift
	s.level /= 2
	switch {
	case result.State == stats.Confirmed && s.before(s.seg.bad) == s.seg.good:
		s.found(s.seg, result)
	case result.State == stats.Confirmed:
		s.stage = narrow
	case first:
		s.outcome.Detectable = s.detectable(result.Blocks)
		s.end(NotReproduced, "")
	default:
		s.nextSegment()
	}
	return true
}

func (s *Search) decidePair() bool {
	if s.broken[s.pair.good] || s.broken[s.pair.bad] {
		s.stage = narrow // builds beside them take their place
		s.level /= 2     // a look may have spent it
		return true
	}
	result := s.confirmation()
	switch result.State {
	case stats.More:
		return false
	case stats.Confirmed:
		s.level /= 2
		s.found(s.pair, result)
		return true
	case stats.Refuted:
		s.odds[s.pair.bad] += math.Log(refutedOdds)
	case stats.Undecided:
		s.odds[s.pair.bad] += math.Log(openOdds)
	}
	s.level /= 2
	s.stage = narrow
	return true
}

// found adds a change, and has both sides searched if it does not explain the shift.
func (s *Search) found(at segment, result stats.ConfirmationResult) {
	builds := s.options.Builds
	s.outcome.Found = append(s.outcome.Found, Found{builds[at.good], builds[at.bad], at.bad - at.good, result.P,
		result.Shift, result.Shift.Estimate / s.outcome.Shift.Estimate, at.bad})
	slices.SortFunc(s.outcome.Found, func(a, b Found) int { return a.at - b.at })
	if result.Shift.Estimate < whole*s.shift.Estimate {
		for _, side := range []segment{{s.seg.good, at.good}, {at.bad, s.seg.bad}} {
			if side.good < side.bad {
				s.todo = append(s.todo, side)
			}
		}
	}
	s.nextSegment()
}

// nextSegment begins with the next one, or ends the search.
func (s *Search) nextSegment() {
	if len(s.todo) == 0 {
		s.end(s.state(), "")
		return
	}
	s.seg, s.todo = s.todo[0], s.todo[1:]
	s.stage, s.differences, s.good, s.bad, s.middles = ends, nil, nil, nil, nil
	clear(s.evidence)
	clear(s.odds)
}

// state is that of the changes found.
func (s *Search) state() string {
	return []string{NotDecided, FirstBad, Several}[min(2, len(s.outcome.Found))]
}

// end ends the search. Changes that were found stay valid.
func (s *Search) end(state, reason string) {
	s.stage, s.outcome.State, s.outcome.Reason = done, state, reason
	if state == NotDecided && len(s.outcome.Found) > 0 {
		s.outcome.State, s.outcome.Reason = s.state(), reason+" Other changes are possible."
	}
}

// before returns the usable build before one.
func (s *Search) before(i int) int {
	for i--; i > s.seg.good && s.broken[i]; i-- {
	}
	return i
}

// weigh adds the value of a build to its evidence. The good and bad values together are divided
// into bins of equal numbers. Their shares in the bin of the value are the likelihoods. Bins make
// the weight independent of the noise's form, such as several modes. The evidence does not grow
// beyond the limit.
func (s *Search) weigh(build int, r reading, limit float64) {
	drifts := s.drifts()
	good, bad, v := pick(s.good, drifts), pick(s.bad, drifts), pick([]reading{r}, drifts)[0]
	all := slices.Sorted(slices.Values(slices.Concat(good, bad)))
	if len(all) == 0 {
		return
	}
	bins := min(max(len(all)/10, 2), 8)
	bin := func(v float64) (i int) {
		for i < bins-1 && v > all[(i+1)*len(all)/bins-1] {
			i++
		}
		return i
	}
	at := bin(v)
	share := func(values []float64) float64 {
		n := 1.0 // so that a likelihood is never 0
		for _, x := range values {
			if bin(x) == at {
				n++
			}
		}
		return n / float64(len(values)+bins)
	}
	weight := math.Log(share(bad) / share(good))
	old := s.evidence[build]
	s.evidence[build] = max(min(old, -limit), min(max(old, limit), old+weight))
}

// drifts says that values relative to the blocks before spread less.
func (s *Search) drifts() bool {
	width := func(relative bool) (w float64) {
		for _, side := range [][]reading{s.good, s.bad} {
			if len(side) > 0 {
				spread := stats.NewSpread(pick(side, relative))
				w += spread.Upper - spread.Lower
			}
		}
		return w
	}
	return width(true) < width(false)
}

func pick(readings []reading, relative bool) (values []float64) {
	for _, r := range readings {
		if values = append(values, r.value); relative {
			values[len(values)-1] = r.relative
		}
	}
	return values
}

// Builds returns the builds that the search has, in order.
func (s *Search) Builds() []string { return slices.Clone(s.options.Builds) }

// Chances returns the chance of each build to be the first bad one in the part that is searched.
func (s *Search) Chances() []float64 {
	all := make([]float64, len(s.options.Builds))
	if s.stage != done {
		weights, _, _ := s.posterior()
		copy(all[s.seg.good+1:], weights)
	}
	return all
}

// Values returns the values of each build's runs, in their order.
func (s *Search) Values() map[string][]float64 {
	all := map[string][]float64{}
	for _, r := range s.results {
		for _, block := range r.Blocks {
			for build, v := range block {
				all[build] = append(all[build], v)
			}
		}
	}
	return all
}

// Stop ends the search without a decision. Changes that were found stay valid.
func (s *Search) Stop(reason string) {
	if s.stage != done {
		s.end(NotDecided, reason)
	}
}

// posterior returns the chances of the segment's builds after the good one, and the most probable
// first bad build. middle is the usable build between the ends that divides the chances best.
// Before runs all builds are equally likely. The chance of a broken build is that of the next
// usable one.
func (s *Search) posterior() (weights []float64, middle, first int) {
	good, bad := s.seg.good, s.seg.bad
	weights = make([]float64, bad-good) // of builds good+1 … bad
	suffix, highest := 0.0, math.Inf(-1)
	for i := bad; i > good; i-- {
		if s.broken[i] {
			weights[i-good-1] = math.Inf(-1)
			continue
		}
		if i < bad {
			suffix += s.evidence[i] // first bad ≤ i: its values are of a bad build
		}
		weights[i-good-1] = suffix + s.odds[i] + math.Log(float64(i-s.before(i)))
		highest = max(highest, weights[i-good-1])
	}
	sum := 0.0
	for i, w := range weights {
		weights[i] = math.Exp(w - highest)
		sum += weights[i]
	}
	below, most, nearest := 0.0, 0.0, math.Inf(1)
	for i := range weights {
		at := good + 1 + i
		weights[i] /= sum
		below += weights[i]
		if weights[i] > most {
			first, most = at, weights[i]
		}
		distance := math.Abs(below - 0.5)
		if at < bad && !s.broken[at] && (distance < nearest-1e-9 ||
			distance < nearest+1e-9 && math.Abs(s.evidence[at]) < math.Abs(s.evidence[middle])) {
			middle, nearest = at, distance
		}
	}
	return weights, middle, first
}

// detectable returns the smallest shift with which the differences would have been confirmed, or 0
// if none would.
func (s *Search) detectable(blocks int) float64 {
	shift := s.outcome.Shift
	c := stats.Confirmation{Looks: []int{blocks}, Alpha: 2 * s.level / 3, Threshold: s.options.Threshold}
	low, high := 0.0, s.options.Threshold
	for _, d := range s.differences {
		if !math.IsNaN(d) {
			high = max(high, 2*math.Abs(d-shift.Estimate)+s.options.Threshold)
		}
	}
	able := false
	for range 50 {
		middle, moved := (low+high)/2, slices.Clone(s.differences)
		for i := range moved {
			moved[i] += middle - shift.Estimate
		}
		if c.Judge(moved).State == stats.Confirmed {
			high, able = middle, true
		} else {
			low = middle
		}
	}
	if !able {
		return 0
	}
	return high
}
