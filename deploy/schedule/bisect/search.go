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
		_, first, chance := s.posterior()
		if chance < sure {
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
		s.end(NotReproduced, fmt.Sprintf("Good and bad differ by %.3g; these runs confirm %.3g or more.",
			result.Shift.Estimate, s.outcome.Detectable))
	default:
		s.nextSegment()
	}
	return true
}

func (s *Search) decidePair() bool {
	if s.broken[s.pair.good] || s.broken[s.pair.bad] {
		s.stage = narrow // builds beside them take their place
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
	default:
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
	s.stage, s.differences, s.good, s.bad = ends, nil, nil, nil
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
// the weight independent of the noise's form, such as several modes.
func (s *Search) weigh(build int, v float64) {
	all := slices.Sorted(slices.Values(slices.Concat(s.good, s.bad)))
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
	weight := math.Log(share(s.bad) / share(s.good))
	s.evidence[build] = max(-maxEvidence, min(maxEvidence, s.evidence[build]+weight))
}

// posterior returns the most probable first bad build and its chance, and the usable build between
// the ends that divides the chances best. All builds of a segment are equally likely before runs.
// The chance of a broken build is that of the next usable one.
func (s *Search) posterior() (middle, first int, chance float64) {
	good, bad := s.seg.good, s.seg.bad
	weights := make([]float64, bad-good) // of builds good+1 … bad
	suffix, most := 0.0, math.Inf(-1)
	for i := bad; i > good; i-- {
		if s.broken[i] {
			weights[i-good-1] = math.Inf(-1)
			continue
		}
		if i < bad {
			suffix += s.evidence[i] // first bad ≤ i: its values are of a bad build
		}
		weights[i-good-1] = suffix + s.odds[i] + math.Log(float64(i-s.before(i)))
		most = max(most, weights[i-good-1])
	}
	sum := 0.0
	for i, w := range weights {
		weights[i] = math.Exp(w - most)
		sum += weights[i]
	}
	below, nearest := 0.0, math.Inf(1)
	for i, w := range weights {
		at := good + 1 + i
		below += w / sum
		if w/sum > chance {
			first, chance = at, w/sum
		}
		distance := math.Abs(below - 0.5)
		if at < bad && !s.broken[at] && (distance < nearest-1e-9 ||
			distance < nearest+1e-9 && math.Abs(s.evidence[at]) < math.Abs(s.evidence[middle])) {
			middle, nearest = at, distance
		}
	}
	return middle, first, chance
}

// detectable returns the smallest shift with which the differences would have been confirmed.
func (s *Search) detectable(blocks int) float64 {
	shift := s.outcome.Shift
	c := stats.Confirmation{Looks: []int{blocks}, Alpha: 2 * s.level / 3, Threshold: s.options.Threshold}
	low, high := 0.0, s.options.Threshold
	for _, d := range s.differences {
		if !math.IsNaN(d) {
			high = max(high, 2*math.Abs(d-shift.Estimate)+s.options.Threshold)
		}
	}
	for range 50 {
		middle, moved := (low+high)/2, slices.Clone(s.differences)
		for i := range moved {
			moved[i] += middle - shift.Estimate
		}
		if c.Judge(moved).State == stats.Confirmed {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}
