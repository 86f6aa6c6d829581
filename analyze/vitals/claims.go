package vitals

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/wording"
)

// Name is the name of the claims as a measure.
const Name = "vitals"

const version = 1

// Claims are a page's claims about itself in results. A claim that the browser does not offer is a
// refused value. Its note states why.
type Claims struct {
	Sentence string         `json:"sentence"` // compares the claimed LCP with the seen one
	Result   measure.Result `json:"result"`   // of the measure [Name]
	Element  string         `json:"lcp_element,omitempty"`
	Region   []int          `json:"lcp_region_px,omitempty"` // of the element on the screen: x, y, width, height
	// OriginNS is the time of the page's navigation on the recording's clock, known to OriginWithinNS.
	OriginNS       int64     `json:"origin_ns"`
	OriginWithinNS int64     `json:"origin_uncertainty_ns"`
	Timings        []Timing  `json:"user_timings"`
	Errors         []string  `json:"console_errors"`
	ByType         []Traffic `json:"by_type"` // of its resource timing; empty with a test network
	ByDomain       []Traffic `json:"by_domain"`
}

// Values returns the names of all values.
func Values() []string {
	return []string{"lcp", "lcp_seen", "lcp_difference", "cls", "inp", "ttfb", "long_tasks", "long_task_time",
		"console_errors", "requests", "bytes"}
}

const ms = "ms"

// threshold is the smallest relevant difference of a claim, as a fraction.
const threshold = 0.05

// None returns the claims of a page that gave none.
func None(why string) *Claims {
	c := &Claims{Result: measure.Result{Measure: Name, Version: version, State: measure.Refused, Refusal: why}}
	c.Fill()
	return c
}

// Fill sorts the values and makes empty lists of those that are nil.
func (c *Claims) Fill() {
	names := Values()
	slices.SortStableFunc(c.Result.Values, func(a, b measure.Value) int {
		return cmp.Compare(slices.Index(names, a.Name), slices.Index(names, b.Name))
	})
	c.Result = c.Result.Complete()
	c.Timings, c.Errors = measure.OrEmpty(c.Timings), measure.OrEmpty(c.Errors)
	c.ByType, c.ByDomain = measure.OrEmpty(c.ByType), measure.OrEmpty(c.ByDomain)
}

// Claims returns the page's claims. [Claims.See] completes them. The requests are those that a test
// network saw. nil: there was none, and the page's resource timing has them.
func (p *Page) Claims(network []Request) *Claims {
	c := &Claims{Timings: p.timings, Errors: p.errors}
	r := &c.Result
	r.Measure, r.Version = Name, version
	switch {
	case p.lcp != nil:
		c.Element = cmp.Or(p.lcp.Selector, "an element that is gone")
		r.Add(measure.Exactly("lcp", ms, p.lcp.Time, measure.Lower, threshold))
	case p.offers("largest-contentful-paint"):
		r.Add(none("lcp", ms, "the page claims no largest contentful paint"))
	default:
		r.Add(none("lcp", ms, notOffered))
	}
	p.stable(r)
	p.responsive(r)
	if p.document {
		r.Add(measure.Exactly("ttfb", ms, p.firstByte, measure.Lower, threshold))
	} else {
		r.Add(none("ttfb", ms, "the page has no navigation timing"))
	}
	if p.offers("longtask") {
		sum := 0.0
		for _, t := range p.tasks {
			sum += t[1]
		}
		n := measure.Exactly("long_tasks", "tasks", float64(len(p.tasks)), measure.Lower, threshold)
		time := measure.Exactly("long_task_time", ms, sum, measure.Lower, threshold)
		r.Add(p.partly("tasks", p.tasks, n), p.partly("tasks", p.tasks, time))
	} else {
		r.Add(none("long_tasks", "tasks", notOffered), none("long_task_time", ms, notOffered))
	}
	errors := max(len(p.errors), p.total["errors"])
	r.Add(measure.Exactly("console_errors", "errors", float64(errors), measure.Lower, 0))
	p.traffic(c, network)
	if p.invalid > 0 {
		r.Warnf("%s with impossible numbers left out", wording.Plural(p.invalid, "claim"))
	}
	return c
}

const notOffered = "this browser does not offer it"

func none(name, unit, why string) measure.Value {
	return measure.Value{Name: name, Unit: unit, State: measure.Refused, Better: measure.Lower, Threshold: threshold,
		Note: why}
}

// partly notes that a list has not all entries.
func (p *Page) partly(list string, kept [][2]float64, v measure.Value) measure.Value {
	if all := p.total[list]; all > len(kept) {
		v.Note = fmt.Sprintf("of the first %s, of %s", wording.Count(len(kept)), wording.Count(all))
	}
	return v
}

// Limits of a session window of layout shifts, in ms (https://web.dev/articles/cls).
const (
	shiftGap  = 1000
	shiftSpan = 5000
)

// stable adds the cumulative layout shift: the largest sum of a session window.
func (p *Page) stable(r *measure.Result) {
	if !p.offers("layout-shift") {
		r.Add(none("cls", "score", notOffered))
		return
	}
	shifts := slices.Clone(p.shifts)
	slices.SortStableFunc(shifts, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	var worst, sum, begin, last float64
	for i, s := range shifts {
		if i == 0 || s[0]-last >= shiftGap || s[0]-begin >= shiftSpan {
			sum, begin = 0, s[0]
		}
		last = s[0]
		sum += s[1]
		worst = max(worst, sum)
	}
	r.Add(p.partly("shifts", p.shifts, measure.Exactly("cls", "score", worst, measure.Lower, threshold)))
}

// ignored is the number of interactions for which the longest one is left out.
const ignored = 50

// responsive adds the interaction to next paint: the longest interaction, without one per 50
// (https://web.dev/articles/inp).
func (p *Page) responsive(r *measure.Result) {
	switch {
	case !p.offers("event") || !p.ids:
		r.Add(none("inp", ms, notOffered))
	case len(p.durations) == 0 && p.interactions == 0:
		r.Add(none("inp", ms, "nobody used the page"))
	case len(p.durations) == 0:
		v := measure.Between("inp", ms, 0, 0, shortest, measure.Lower, threshold)
		v.Note = "all interactions were shorter than the browser reports"
		r.Add(v)
	default:
		all := slices.Sorted(slices.Values(p.durations))
		n := min(len(all)-1, max(len(all), p.interactions)/ignored)
		r.Add(measure.Exactly("inp", ms, all[len(all)-1-n], measure.Lower, threshold))
	}
}

// shortest is the duration from which on browsers report an interaction, in ms.
const shortest = 16

// traffic adds the requests and bytes.
func (p *Page) traffic(c *Claims, network []Request) {
	all := network
	if network == nil {
		all = p.requests
		c.ByType, c.ByDomain = Count(all)
	}
	bytes := int64(0)
	for _, r := range all {
		bytes += r.Bytes
	}
	requests := measure.Exactly("requests", "requests", float64(len(all)), measure.Lower, threshold)
	size := measure.Exactly("bytes", "bytes", float64(bytes), measure.Lower, threshold)
	switch n := p.total["resources"]; {
	case network != nil:
		requests.Note, size.Note = FromNetwork, FromNetwork
	case n > len(all):
		requests.Note = fmt.Sprintf("the first of %s", wording.Count(n))
	}
	if network == nil && p.hidden > 0 {
		size.Note = fmt.Sprintf("the sizes of %s of other sites are missing; a test network has them",
			wording.Plural(p.hidden, "request"))
	}
	c.Result.Add(requests, size)
}

// FromNetwork is the note of a value that is not claimed.
const FromNetwork = "seen by the test network"
