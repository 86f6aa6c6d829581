package clock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/activity"
)

// simulated is a clock with a known relation and the evidence that it leaves.
type simulated struct {
	origin, offset int64 // rig(origin)
	drift          float64
	length         int64
	evidence       []Evidence
	midpoint       []Limit // of each request
}

// rig returns the true time of a time of the trace.
func (s *simulated) rig(at int64) float64 {
	return float64(s.offset) + float64(at-s.origin)*(1+s.drift)
}

// trace returns the time of the trace at a true time.
func (s *simulated) trace(rig float64) float64 {
	return float64(s.origin) + (rig-float64(s.offset))/(1+s.drift)
}

// simulate makes a clock with requests whose records wait 1.5 and 2.5 ms on the average. A wait is
// the sum of two with exponential distributions, so short waits are rare.
func simulate(r *rand.Rand, requests, inputs int) *simulated {
	s := &simulated{origin: r.Int64N(1e14), offset: r.Int64N(1e14), drift: (2*r.Float64() - 1) * 100e-6,
		length: 1e9 + r.Int64N(20e9)}
	for i := range requests {
		begin := float64(s.offset) + r.Float64()*float64(s.length)
		seen := begin + 0.75e6*(r.ExpFloat64()+r.ExpFloat64())
		delivered := seen + 30e6*r.Float64()
		end := delivered + 1.25e6*(r.ExpFloat64()+r.ExpFloat64())
		from := Limit{At: int64(math.Floor(s.trace(begin))), Time: int64(math.Ceil(seen)), Latest: true}
		to := Limit{At: int64(math.Ceil(s.trace(end))), Time: int64(math.Floor(delivered))}
		s.evidence = append(s.evidence, Evidence{Kind: "request", Witness: fmt.Sprint("GET /", i),
			Limits: []Limit{from, to}})
		s.midpoint = append(s.midpoint, Limit{At: (from.At + to.At) / 2, Time: (from.Time + to.Time) / 2})
	}
	for i := range inputs {
		sent := float64(s.offset) + r.Float64()*float64(s.length)
		s.evidence = append(s.evidence, Evidence{Kind: "input", Witness: fmt.Sprint("key ", i),
			Limits: []Limit{{At: int64(math.Ceil(s.trace(sent + 8e6*r.ExpFloat64()))), Time: int64(math.Floor(sent))}}})
	}
	return s
}

// covers reports whether bounds contain the true time. Simulated true times have errors of
// floating-point numbers, 20 ns at most.
func (s *simulated) covers(c *activity.Clock, at int64) bool {
	earliest, latest := c.Bounds(at)
	rig := s.rig(at)
	return float64(earliest)-20 <= rig && rig <= float64(latest)+20
}

func TestSimulatedClocks(t *testing.T) {
	clocks := 10_000
	if testing.Short() {
		clocks = 500
	}
	for _, kind := range []struct {
		requests, inputs int
		most             int64 // of the median half width
	}{{30, 0, 1e6}, {200, 10, 0.6e6}, {2, 3, 20e6}} {
		var widths []int64
		best := 0 // clocks whose best sample's midpoint is right within the error that its width states
		r := rand.New(rand.NewPCG(uint64(kind.requests), 2))
		n := clocks
		if kind.requests != 30 {
			n /= 10
		}
		for i := range n {
			s := simulate(r, kind.requests, kind.inputs)
			found, err := Solve(t.Context(), s.evidence, s.origin, s.origin, s.origin+s.length)
			if err != nil {
				t.Fatalf("clock %d: %v", i, err)
			}
			for range 10 {
				at := s.origin + r.Int64N(s.length)
				if !s.covers(&found.Clock, at) {
					earliest, latest := found.Clock.Bounds(at)
					t.Fatalf("clock %d: at %d: %d to %d, want %.0f", i, at, earliest, latest, s.rig(at))
				}
				widths = append(widths, found.Clock.HalfWidth(at))
			}
			if s.midpointCovers(r, found.Clock.HalfWidth(s.origin+s.length/2)) {
				best++
			}
		}
		slices.Sort(widths)
		median := widths[len(widths)/2]
		t.Logf("%d requests, %d inputs: median half width %s; midpoints with least squares cover %d of %d",
			kind.requests, kind.inputs, milliseconds(median), best, n)
		if median > kind.most {
			t.Errorf("%d requests: median half width %s, at most %s wanted", kind.requests, milliseconds(median),
				milliseconds(kind.most))
		}
		if kind.requests == 30 && best == n {
			t.Errorf("least squares over midpoints covered all %d clocks: the simulation is too easy", n)
		}
	}
}

// midpointCovers fits a line through the midpoints of the requests by least squares. It reports
// whether the line is within a width at a random time.
func (s *simulated) midpointCovers(r *rand.Rand, width int64) bool {
	var sx, sy, sxx, sxy float64
	for _, m := range s.midpoint {
		x, y := float64(m.At-s.origin), float64(m.Time-s.offset)-float64(m.At-s.origin)
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	n := float64(len(s.midpoint))
	b := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	a := (sy - b*sx) / n
	x := float64(r.Int64N(s.length))
	return math.Abs(a+b*x-s.drift*x) <= float64(width)
}

// TestPlantedContradictions: evidence that contradicts the rest is found and named.
func TestPlantedContradictions(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	for i := range 200 {
		s := simulate(r, 12, 4)
		wrong := r.IntN(12)
		by := int64(50e6) * int64(1+r.IntN(20))
		if i%2 == 0 {
			by = -by
		}
		limits := slices.Clone(s.evidence[wrong].Limits)
		for k := range limits {
			limits[k].At += by
		}
		s.evidence[wrong].Limits = limits
		found, err := Solve(t.Context(), s.evidence, s.origin, s.origin, s.origin+s.length)
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Discarded) != 1 || found.Discarded[0].Witness != s.evidence[wrong].Witness {
			t.Fatalf("clock %d: discarded %v, want %s", i, found.Discarded, s.evidence[wrong].Witness)
		}
		side := "early"
		if by > 0 {
			side = "late"
		}
		if text := found.Discarded[0].Sentence(&found.Clock); !strings.Contains(text, "too "+side) {
			t.Errorf("clock %d: %q, want too %s", i, text, side)
		}
		for range 10 {
			if at := s.origin + r.Int64N(s.length); !s.covers(&found.Clock, at) {
				t.Fatalf("clock %d: the true time is outside the bounds", i)
			}
		}
	}
}

// TestAmbiguousContradiction: of two that contradict each other and nothing else, both are listed,
// and the bounds hold both possibilities.
func TestAmbiguousContradiction(t *testing.T) {
	both := func(name string, at, low, high int64) Evidence {
		return Evidence{"request", name, []Limit{{at, at + high, true}, {at, at + low, false}}}
	}
	evidence := []Evidence{both("a", 0, 100, 900), both("b", 10, 100, 900), both("c", 20, 100, 900),
		both("low", 30, 100, 200), both("high", 30, 800, 900)}
	found, err := Solve(t.Context(), evidence, 0, 0, 30)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Discarded) != 2 || len(found.Used) != 3 {
		t.Errorf("discarded %v, used %v", found.Discarded, found.Used)
	}
	if earliest, latest := found.Clock.Bounds(15); earliest > 15+101 || latest < 15+899 {
		t.Errorf("bounds %d to %d, want both possibilities", earliest, latest)
	}
}

// TestManyContradictions: the bounds hold all possibilities, also if there are too many to list.
func TestManyContradictions(t *testing.T) {
	var evidence []Evidence
	add := func(at, low, high int64) {
		evidence = append(evidence, Evidence{"request", "x", []Limit{{at, at + high, true}, {at, at + low, false}}})
	}
	const others = 50
	for i := range int64(3 * others) {
		add(i, 0, 100*others)
	}
	for i := range int64(others) {
		add(i, 100*i+20, 100*i+80)
	}
	found, err := Solve(t.Context(), evidence, 0, 0, others)
	if err != nil {
		t.Fatal(err)
	}
	if earliest, latest := found.Clock.Bounds(0); earliest > 20 || latest < 100*others-20 {
		t.Errorf("bounds %d to %d, want all possibilities", earliest, latest)
	}
}

// TestLargestSets: no set of random evidence that agrees is larger than the one that is found.
func TestLargestSets(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 4))
	for range 400 {
		n := 2 + r.IntN(7)
		spread := int64(1) << (4 + r.IntN(24))
		evidence := make([]Evidence, n)
		for i := range evidence {
			at, low := r.Int64N(1e10), r.Int64N(spread)-spread/2+int64(1e-3*2e10*(r.Float64()-0.5))
			evidence[i] = Evidence{"request", fmt.Sprint(i), []Limit{{at, at + low + r.Int64N(1+spread/4), true},
				{at + r.Int64N(1e6), at + low, false}}}
		}
		best := 0
		for set := 1<<n - 1; set > 0 && best < n; set-- { // large ones come early
			var some []Evidence
			for i := range evidence {
				if set>>i&1 == 1 {
					some = append(some, evidence[i])
				}
			}
			if len(some) > best && len(corners(some, 0)) > 0 {
				best = len(some)
			}
		}
		if s := newSearch(t.Context(), evidence, 0); !s.run() || s.best != best {
			t.Errorf("found %d of %d that agree, want %d: %v", s.best, n, best, evidence)
		}
	}
}

// TestHostileEvidence: the search ends after a number of comparisons, for any contradictions. It
// says so. It ends with its context.
func TestHostileEvidence(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	random := func(n int) (all []Evidence) {
		for range n {
			at, low := r.Int64N(2e10), r.Int64N(1e9)
			high := low + r.Int64N(1e8)
			all = append(all, Evidence{"request", "x", []Limit{{at, at + high, true}, {at, at + low, false}}})
		}
		return all
	}
	same := func(n int) (all []Evidence) { // two halves
		for i := range int64(n) {
			all = append(all, Evidence{"request", "x", []Limit{{i, i + i%2*1e9 + 1e6, true}, {i, i + i%2*1e9, false}}})
		}
		return all
	}
	for name, all := range map[string][]Evidence{"random": random(maxEvidence), "halves": same(maxEvidence)} {
		s := newSearch(t.Context(), all, 0)
		whole := s.run()
		if used := maxComparisons - s.left; used > maxComparisons+maxComparisons/10 { // the last sweeps
			t.Errorf("%s: %d comparisons", name, used)
		}
		if whole != (name == "halves") || whole && s.best != maxEvidence/2 {
			t.Errorf("%s: %d of %d agree, complete: %t", name, s.best, maxEvidence, whole)
		}
	}
	var round []Evidence // each one bounds the clock
	for i := range int64(maxEvidence) {
		x := (i - maxEvidence/2) * 1e9
		y := x / 1e9 * (x / 1e9) * 45
		round = append(round, Evidence{"request", "x", []Limit{{x, x + y + 1000, true}, {x, x - y - 1000, false}}})
	}
	found, err := Solve(t.Context(), round, 0, 0, 1)
	above, _ := points(round, 0)
	if n := len(hull(above)); err != nil || n > maxHull || found.Clock.HalfWidth(0) > 100_000 {
		t.Errorf("%v: %d points, half width %d", err, n, found.Clock.HalfWidth(0))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Solve(ctx, random(100), 0, 0, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that of the context", err)
	}
}

func TestRefused(t *testing.T) {
	upper := Evidence{"request", "a", []Limit{{0, 100, true}}}
	lower := Evidence{"input", "b", []Limit{{0, 50, false}}}
	late := Evidence{"input", "c", []Limit{{0, 1000, false}}}
	for _, tc := range []struct {
		name     string
		evidence []Evidence
		want     string
	}{
		{"nothing", nil, "no record of the trace has a counterpart"},
		{"no latest time", []Evidence{lower}, "have an earliest time, and none a latest"},
		{"no earliest time", []Evidence{upper}, "have a latest time, and none an earliest"},
		{"halves", []Evidence{upper, late}, "only 1 of 2 pieces"},
		{"impossible times", []Evidence{{"request", "a", []Limit{{math.MinInt64, math.MaxInt64, true}}}},
			"no record of the trace"},
	} {
		_, err := Solve(t.Context(), tc.evidence, 0, 0, 1)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
	}
	_, err := Solve(t.Context(), []Evidence{upper, late}, 0, 0, 1)
	var contradiction *ContradictionError
	if !errors.As(err, &contradiction) {
		t.Errorf("%v, want a contradiction", err)
	}
}

func TestText(t *testing.T) {
	evidence := []Evidence{
		{"request", "a", []Limit{{0, 1_000_000, true}, {0, 400_000, false}}},
		{"request", "b", []Limit{{1e10, 1e10 + 1_000_000, true}, {1e10, 1e10 + 400_000, false}}},
		{"input", "c", []Limit{{5e9, 5e9, false}}},
	}
	found, err := Solve(t.Context(), evidence, 0, 0, 1e10)
	if err != nil {
		t.Fatal(err)
	}
	if want := "±0.31 ms (2 requests, 1 input; drift −60…+60 ppm)"; found.Clock.Text != want {
		t.Errorf("%q, want %q", found.Clock.Text, want)
	}
}

// FuzzSolve: each result holds for all evidence that was used, at every corner.
func FuzzSolve(f *testing.F) {
	f.Add(int64(0), int64(100), int64(40), int64(5), int64(90), uint8(0b01))
	f.Add(int64(1)<<59, int64(-1)<<59, int64(3), int64(1e9), int64(1e9+1), uint8(0b10))
	f.Add(int64(5), int64(5), int64(5), int64(5), int64(5), uint8(0b11))
	f.Fuzz(func(t *testing.T, a, b, c, d, e int64, sides uint8) {
		evidence := []Evidence{
			{"request", "1", []Limit{{a, b, true}, {c, d, false}}},
			{"request", "2", []Limit{{d, e, sides&1 > 0}, {b, a, sides&2 > 0}}},
			{"input", "3", []Limit{{e, c, false}}},
		}
		found, err := Solve(t.Context(), evidence, a, min(a, d), max(a, d))
		if err != nil {
			return
		}
		if len(found.Clock.Corners) == 0 || found.Clock.Text == "" {
			t.Fatal("a relation without corners or text")
		}
		if len(found.Discarded) > 0 {
			return // the corners belong to several sets
		}
		for _, k := range found.Clock.Corners {
			one := activity.Clock{Origin: found.Clock.Origin, Corners: []activity.Corner{k}}
			for _, e := range found.Used {
				for _, l := range e.Limits {
					if x := float64(l.At - one.Origin); math.Abs(x) > 1e15 || math.Abs(k.Drift) > activity.MaxDrift {
						continue // the bounds have errors of floating-point numbers there
					}
					earliest, latest := one.Bounds(l.At)
					if l.Latest && earliest > l.Time || !l.Latest && latest < l.Time {
						t.Errorf("corner %v contradicts %v: %d to %d", k, l, earliest, latest)
					}
				}
			}
		}
	})
}
