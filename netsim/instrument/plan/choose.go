package plan

import (
	"hash/fnv"
	"math"
	"slices"
	"sort"

	"github.com/eideticker/eideticker/netsim/instrument"
)

// Choice selects the functions of one load. It does not change and is safe for concurrent use.
type Choice struct {
	plan   *Plan
	load   int
	scale  float64 // of the probabilities of known points
	shared bool
}

// Next returns the choice for the next load. The plan must not change while it is in use.
func (p *Plan) Next() *Choice {
	return &Choice{plan: p, load: p.Count, scale: p.scale(), shared: p.Share > 0 && p.Share < 1}
}

// Active reports whether the load may measure a point. It is for [instrument.Options].
func (c *Choice) Active(_, hash string, start uint32) bool {
	return !c.shared || chosen(c.plan.Seed, c.load, hash, start, c.probability(hash, start))
}

// Gate returns how the load measures an active function. It is for [instrument.Options].
func (c *Choice) Gate(hash string, start uint32) instrument.Gate {
	of, known := c.plan.Programs[hash]
	at := of.Points[start]
	switch {
	case c.plan.Adapt == "":
		return instrument.Measured
	case at.Verdict == Slow:
		return instrument.Slow
	case c.plan.Stable && known:
		return instrument.Unmeasured
	case at.Verdict == Fast:
		return instrument.Fast
	}
	return instrument.Undecided
}

// Gates reports whether functions have gates, and whether the page moves them.
func (c *Choice) Gates() (any, live bool) { return c.plan.Adapt != "", c.plan.Adapt == Live }

// probability returns the part of the loads that measures a point. Rarely called functions have a
// larger one.
func (c *Choice) probability(hash string, start uint32) float64 {
	if !c.shared {
		return 1
	}
	at := c.plan.Programs[hash].Points[start]
	if at.Tested == 0 || at.Calls == 0 {
		return c.plan.Share
	}
	return rarely(c.scale, at)
}

// rarely is in inverse proportion to the square root of the calls of a load.
func rarely(scale float64, at Point) float64 {
	return min(max(scale*math.Sqrt(float64(at.Tested)/float64(at.Calls)), minShare), 1)
}

// scale returns the factor for which the mean probability of known points is the share.
func (p *Plan) scale() float64 {
	var all []Point
	p.each(func(_ string, _ uint32, at Point) {
		if at.Tested > 0 && at.Calls > 0 {
			all = append(all, at)
		}
	})
	if len(all) == 0 {
		return 1
	}
	low, high := 0.0, 1e7 // of counts up to maxCount
	for range 60 {
		scale, sum := (low+high)/2, 0.0
		for _, at := range all {
			sum += rarely(scale, at)
		}
		if sum < p.Share*float64(len(all)) {
			low = scale
		} else {
			high = scale
		}
	}
	return high
}

// chosen reports whether a hash of its arguments is below a probability.
func chosen(seed uint64, load int, program string, start uint32, p float64) bool {
	h := fnv.New64a()
	var text [20]byte
	for i := range 8 {
		text[i], text[8+i] = byte(seed>>(8*i)), byte(load>>(8*i))
	}
	for i := range 4 {
		text[16+i] = byte(start >> (8 * i))
	}
	h.Write(text[:]) // a hash never fails
	h.Write([]byte(program))
	x := h.Sum64() // similar texts have similar sums, so its bits are mixed
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11)/(1<<53) < p
}

// Every tenth load of a set stays plain, at a random place of each ten, but not the first.
const plainEvery = 10

// LeastMeta is the min number of runs of a set with plain ones.
const LeastMeta = 10

// Plain reports whether the next load stays plain, for comparison with instrumented ones.
func (p *Plan) Plain() bool {
	ten := p.Count / plainEvery
	for place := 1; place < plainEvery-1; place++ {
		// each place has the same chance
		if chosen(p.Seed, ten, "plain", uint32(place), 1/float64(plainEvery-place)) {
			return p.Count%plainEvery == place
		}
	}
	return p.Count%plainEvery == plainEvery-1
}

// tested returns the share of points that the loads so far have tested. needed loads test 95 % of
// them, with the present probabilities; 0: too many.
func (p *Plan) tested(points map[string]map[uint32]bool) (share float64, needed int) {
	c := p.Next()
	if !c.shared {
		return 1, 1
	}
	var probabilities []float64
	tested := 0
	for hash, starts := range points {
		of := p.Programs[hash]
		for start := range starts {
			probabilities = append(probabilities, c.probability(hash, start))
			if of.Points[start].Tested > 0 || p.wasChosen(of.Since, hash, start) {
				tested++
			}
		}
	}
	if len(probabilities) == 0 {
		return 0, 0
	}
	missing := func(loads int) (sum float64) {
		for _, probability := range probabilities {
			sum += math.Pow(1-probability, float64(loads))
		}
		return sum / float64(len(probabilities))
	}
	for needed = 1; missing(needed) > 1-sure; needed *= 2 {
		if needed > maxNeeded {
			return float64(tested) / float64(len(probabilities)), 0
		}
	}
	needed = needed/2 + 1 + sort.Search(needed-needed/2-1, func(n int) bool { return missing(needed/2+1+n) <= 1-sure })
	return float64(tested) / float64(len(probabilities)), needed
}

// wasChosen reports whether an earlier load has tested a point without calls. Its probability was
// always the share.
func (p *Plan) wasChosen(since int, hash string, start uint32) bool {
	for load := max(since, p.Count-maxPlain); load < p.Count; load++ {
		if chosen(p.Seed, load, hash, start, p.Share) && !slices.Contains(p.Plains, load) {
			return true
		}
	}
	return false
}
