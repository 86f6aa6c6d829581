package frames

import (
	"slices"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
)

// claim is what a trace claims about a frame.
type claim struct {
	at      int64 // on the recording's clock, the middle of its bounds
	picture int   // number of the stored frame that shows it, from 1; 0: unknown
	verdict activity.Verdict
}

// Limits. The delay is that from a claimed present to the captured frame, in ns. Several delays may
// fit equally well.
const (
	maxDelay  = 500e6
	maxDelays = 8
)

// addClaim notes an event, if it is a claim.
func (b *builder) addClaim(s *Source, e activity.Event) {
	if v, ok := activity.VerdictOf(s.Functions()[e.Ref]); ok && len(b.claims) < activity.MaxFrames {
		b.claims = append(b.claims, claim{s.When(e.At), int(e.Value), v})
	}
}

// compareClaims compares the claims of a trace with the captured frames of each window.
func (b *builder) compareClaims(name string, clock int64) {
	for i := range b.windows {
		c := comparison{window: &b.windows[i], clock: clock, spans: slices.DeleteFunc(result.FrameSpans(b.windows, i),
			func(s result.FrameSpan) bool { return s.Response })}
		for _, one := range b.claims {
			if one.at >= c.window.StartNS-maxDelay-clock && one.at <= c.window.EndNS+clock {
				c.claims = append(c.claims, one)
			}
		}
		if len(c.claims) > 0 && len(c.spans) > 1 && len(b.Claims) < result.MaxClaims {
			of := c.result()
			of.Trace, of.Window = name, i
			b.Claims = append(b.Claims, of)
		}
	}
	b.claims = nil
}

// comparison compares claims with captured frames. A match has a span for each claim, whose end is
// the first frame that shows it; -1: none.
type comparison struct {
	window *result.Window
	claims []claim
	spans  []result.FrameSpan
	clock  int64 // half width
	near   int64 // half of the median time between captured frames
}

// result matches by pictures if some are known. Else it takes the delays with which the most claims
// have a frame. A finding must hold with each of them.
func (c *comparison) result() (of result.ProfileClaims) {
	of.By = result.ByStrip
	matches := c.byPicture()
	if matches == nil {
		of.By, matches = result.ByOrder, c.byOrder()
	}
	if len(matches) == 0 {
		of.By = ""
	}
	c.trim(matches)
	for _, one := range c.claims {
		if one.verdict != activity.Dropped {
			of.Frames++
		}
		if one.verdict != activity.Good {
			of.Jank++
		}
	}
	harmless, good := map[int]int{}, map[int]int{} // number of matches with the finding, by claim and span
	var best, all []int64                          // delays
	early, late := c.clock, c.clock                // how far a frame's time may be off
	for n, match := range matches {
		var jank []int // claims that no frame has shown yet
		for i, k := range match {
			if c.claims[i].verdict != activity.Good {
				jank = append(jank, i)
			}
			if k < 0 {
				continue
			}
			span := &c.spans[k]
			if span.Long && len(jank) == 0 {
				good[k]++
			}
			for _, claim := range jank {
				if !span.Long {
					harmless[claim]++
				}
			}
			jank = nil
			if all = append(all, span.ToNS-c.claims[i].at); n == 0 {
				best = append(best, span.ToNS-c.claims[i].at)
				earliest, latest := c.window.Bounds(span.Frame)
				early, late = max(early, c.clock+span.ToNS-earliest), max(late, c.clock+latest-span.ToNS)
			}
		}
	}
	for _, n := range harmless {
		if n == len(matches) {
			of.Harmless++
		}
	}
	for k, s := range c.spans {
		if s.Long {
			of.Late++
		}
		if n := good[k]; n > 0 && n == len(matches) {
			if of.CalledGood++; len(of.GoodFrames) < result.MaxLate {
				of.GoodFrames = append(of.GoodFrames, s.Frame)
			}
		}
	}
	if of.Matched = len(best); of.Matched > 0 {
		slices.Sort(best)
		slices.Sort(all)
		n := len(all)
		of.Delay = result.Span{Value: float64(best[len(best)/2]), Low: float64(all[n/40] - early),
			High: float64(all[n-1-n/40] + late)}
	}
	return of
}

// trim drops the claims before the first and after the last one that has a frame: the window does
// not have theirs.
func (c *comparison) trim(matches [][]int) {
	from, to := 0, len(c.claims)
	for ; len(matches) > 0 && from < to && matches[0][from] < 0; from++ {
	}
	for ; len(matches) > 0 && to > from && matches[0][to-1] < 0; to-- {
	}
	c.claims = c.claims[from:to]
	for n := range matches {
		matches[n] = matches[n][from:to]
	}
}

// byPicture returns the match by pictures, if any is known.
func (c *comparison) byPicture() [][]int {
	ends := map[int]int{}
	for k, s := range c.spans {
		ends[s.Frame+1] = k
	}
	known, match := false, make([]int, len(c.claims))
	for i, one := range c.claims {
		k, ok := ends[one.picture]
		if match[i] = k; !ok {
			match[i] = -1
		}
		known = known || ok
	}
	if !known {
		return nil
	}
	return [][]int{match}
}

// byOrder returns the matches with the delays with which the most claims have a frame, best first.
// Regular frames fit with several delays: a period more costs one match at the end. Each late frame
// costs one more. Frames without a claim make the number of matches as uncertain.
func (c *comparison) byOrder() (matches [][]int) {
	var all, lengths []int64
	for _, s := range c.spans {
		lengths = append(lengths, s.ToNS-s.FromNS)
	}
	slices.Sort(lengths)
	c.near = lengths[len(lengths)/2] / 2
	first := 0
	for _, one := range c.claims {
		for first < len(c.spans) && c.spans[first].ToNS < one.at-2*c.clock {
			first++
		}
		for _, s := range c.spans[first:] {
			if one.verdict == activity.Dropped || s.ToNS-one.at > maxDelay+2*c.clock || len(all) == 1<<20 {
				break
			}
			all = append(all, s.ToNS-one.at)
		}
	}
	slices.Sort(all)
	for best := 0; len(matches) < maxDelays; {
		most, at, to := 0, 0, 0
		for from := range all {
			for to < len(all) && all[to] <= all[from]+c.near {
				to++
			}
			if to-from > most {
				most, at = to-from, from
			}
		}
		if best = max(best, most); most == 0 || most < best-1-max(0, len(c.spans)-best) {
			break
		}
		delay := all[at+most/2]
		matches = append(matches, c.match(delay))
		all = slices.DeleteFunc(all, func(d int64) bool { return d > delay-c.near && d < delay+c.near })
	}
	return matches
}

// match returns the match with a delay.
func (c *comparison) match(delay int64) []int {
	match, next := make([]int, len(c.claims)), 0
	for i, one := range c.claims {
		for next < len(c.spans) && c.spans[next].ToNS < one.at+delay-c.near {
			next++
		}
		match[i] = -1
		if one.verdict != activity.Dropped && next < len(c.spans) && c.spans[next].ToNS <= one.at+delay+c.near {
			match[i] = next
			next++
		}
	}
	return match
}
