package plan

import (
	"net/url"
	"slices"
	"strings"
)

// The sign test. runtime/gates.js has the same rules.
const (
	slowMS      = 5 // a slow call lasts longer
	minSamples  = 5
	MostSamples = 20 // of a point
	alpha       = 0.05
	sure        = 0.95 // of the points
	maxNeeded   = 100_000
)

// Served is a program of a load, with the offsets of its functions.
type Served struct {
	URL, Hash string
	Starts    []uint32
}

// Calls are those of a function that a load measured.
type Calls struct {
	Count  int64
	TimeMS float64
	// Samples are total times of the first calls with a known end, in ms; at most 20 are used.
	Samples []float64
}

// Load is what a load measured.
type Load struct {
	Plain    bool // without insertions in scripts
	Programs []Served
	Calls    map[string]map[uint32]Calls // by hash and offset
}

// Report states how far a plan is.
type Report struct {
	Points int // functions of the load's programs
	Active int // of them with measured calls
	Slow   int
	Tested float64 // share of points that a load has tested
	Needed int     // loads to test 95 % of the points
	// Unknown counts calls of functions that were not served.
	Unknown int
}

// Update adds a load to the plan. Choices of the plan end.
func (p *Plan) Update(l Load) (r Report) {
	choice := p.Next()
	p.forget(l.Programs)
	known, active := map[string]map[uint32]bool{}, map[string]map[uint32]bool{}
	for _, s := range l.Programs {
		if known[s.Hash] == nil {
			known[s.Hash], active[s.Hash] = map[uint32]bool{}, map[uint32]bool{}
		}
		for _, start := range s.Starts {
			known[s.Hash][start] = true
			// The calls of the load change the probability.
			active[s.Hash][start] = choice.Active("", s.Hash, start)
		}
		if _, ok := p.Programs[s.Hash]; !ok && len(p.Programs) < maxPrograms && len(s.Starts) > 0 {
			p.Programs[s.Hash] = Program{URL: s.URL[:min(len(s.URL), maxText)], Since: p.Count,
				Points: map[uint32]Point{}}
		}
	}
	points := 0
	p.each(func(string, uint32, Point) { points++ })
	for hash, of := range l.Calls {
		program, ok := p.Programs[hash]
		for start, calls := range of {
			at, had := program.Points[start]
			if !known[hash][start] || !ok || !had && points >= maxPoints {
				r.Unknown++
				continue
			}
			if !had {
				points++
			}
			at.add(calls, choice.probability(hash, start))
			program.Points[start] = at
		}
	}
	for hash, starts := range known {
		for start := range starts {
			r.Points++
			at, had := p.Programs[hash].Points[start]
			if _, called := l.Calls[hash][start]; called {
				r.Active++
			}
			if had && !l.Plain && active[hash][start] {
				at.Tested++
				p.Programs[hash].Points[start] = at
			}
		}
	}
	found := p.Adapt != "" && p.decide() // their callees follow
	due := false
	p.each(func(hash string, start uint32, at Point) {
		due = due || at.Verdict == Undecided && len(l.Calls[hash][start].Samples) > 0
		if at.Verdict == Slow && known[hash][start] {
			r.Slow++
		}
	})
	p.Stable = p.Adapt != "" && (p.Stable || !l.Plain && !found && !due && len(l.Calls) > 0)
	if l.Plain {
		p.Plains = append(p.Plains, p.Count)
	}
	p.Count++
	p.Plains = slices.DeleteFunc(p.Plains, func(n int) bool { return n < p.Count-maxPlain })
	r.Tested, r.Needed = p.tested(known)
	return r
}

// forget drops the points of texts whose addresses have other texts now.
func (p *Plan) forget(served []Served) {
	now := map[string]map[string]bool{}
	for _, s := range served {
		at := withoutPort(s.URL)
		if now[at] == nil {
			now[at] = map[string]bool{}
		}
		now[at][s.Hash] = true
	}
	for hash, of := range p.Programs {
		if at := now[withoutPort(of.URL)]; at != nil && !at[hash] {
			p.Dropped += len(of.Points)
			delete(p.Programs, hash)
		}
	}
}

// withoutPort returns an address without its port: the rig's own servers have any.
func withoutPort(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Host = u.Hostname()
	return u.String()
}

// add adds the calls of a load that measured the point with a probability.
func (at *Point) add(c Calls, probability float64) {
	if c.Count = min(max(c.Count, 0), maxCount); !(c.TimeMS >= 0 && c.TimeMS <= maxTime) {
		c.TimeMS = 0
	}
	at.Calls = min(at.Calls+c.Count, maxCount)
	at.TimeMS = min(at.TimeMS+c.TimeMS, maxTime)
	at.WeightedCalls = min(at.WeightedCalls+float64(c.Count)/probability, maxTime)
	at.WeightedTimeMS = min(at.WeightedTimeMS+c.TimeMS/probability, maxTime)
	for _, ms := range c.Samples[:min(len(c.Samples), MostSamples)] {
		if ms > slowMS {
			at.Samples += "1"
		} else {
			at.Samples += "0"
		}
	}
	at.Samples = at.Samples[max(0, len(at.Samples)-MostSamples):]
}

// decide tests all points with enough samples. Without a result after all samples, a point is fast.
// It reports whether another point is slow now.
func (p *Plan) decide() (found bool) {
	type candidate struct {
		hash   string
		start  uint32
		chance float64
		slow   bool // before
	}
	var all []candidate
	p.each(func(hash string, start uint32, at Point) {
		n, slow := len(at.Samples), strings.Count(at.Samples, "1")
		if n < minSamples {
			return
		}
		all = append(all, candidate{hash, start, tail(n, slow), at.Verdict == Slow})
		switch {
		case tail(n, n-slow) <= alpha:
			at.Verdict = Fast
		case at.Verdict == Slow: // until it is fast
		case n == MostSamples:
			at.Verdict = Fast
		default:
			at.Verdict = Undecided
		}
		p.Programs[hash].Points[start] = at
	})
	slices.SortStableFunc(all, func(a, b candidate) int {
		if a.chance < b.chance {
			return -1
		} else if a.chance > b.chance {
			return 1
		}
		return 0
	})
	for i, c := range all {
		if c.chance > alpha/float64(len(all)-i) {
			break
		}
		at := p.Programs[c.hash].Points[c.start]
		found = found || !c.slow
		at.Verdict = Slow
		p.Programs[c.hash].Points[c.start] = at
	}
	return found
}

// tail returns the probability of at least k heads of n coins.
func tail(n, k int) float64 {
	ways, sum := 1.0, 0.0
	for i := n; i >= k; i-- {
		sum += ways
		ways = ways * float64(i) / float64(n-i+1)
	}
	return sum / float64(uint64(1)<<n)
}
