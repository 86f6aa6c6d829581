package groundtruth

import (
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
)

// slowFunction is the function of the stutter page that holds up pictures. The page claims how
// often it was called and for how long it ran.
const slowFunction = "slow"

// claimStep is the resolution of a page's clock, in ms. A claimed duration has two readings.
const claimStep = 1.0

// checkScript compares the calls of the slow function with the page's claims.
func (t *played) checkScript() (all []check) {
	calls, claims := t.Report.Truth.Claim("slow_calls")
	if !claims || t.Script == nil {
		return nil
	}
	n := calls.Value
	count := newCheck("calls of "+slowFunction, "calls", "")
	count.Drawn = exact(n)
	named := newCheck("late frames because of "+slowFunction, "frames", "")
	// A busy browser shows the frame before the call while it runs. Then two frames are late.
	named.Drawn = result.Span{Value: n, Low: n, High: 2 * n}
	total := newCheck("time in "+slowFunction, "ms", "")
	longest := newCheck("longest call of "+slowFunction, "ms", "")
	total.Drawn, longest.Drawn = t.claimed("slow_total", 2*claimStep*n), t.claimed("slow_longest", 2*claimStep)
	all = []check{count, named, total, longest}
	for i := range all {
		all[i].Note = "scripts sent no call of it"
	}
	for i := range t.Script.Functions {
		f := &t.Script.Functions[i]
		if f.Name != slowFunction || !strings.HasSuffix(f.URL, "/assets/stutter.js") {
			continue
		}
		all[0].Measured = exact(float64(f.Calls))
		all[1].Measured, all[1].Frames = t.lateBecauseOf(i)
		all[2].Measured, all[3].Measured = inMilliseconds(f.Total), inMilliseconds(f.Max)
		for k := range all {
			all[k].Note, all[k].Agrees = "", meet(all[k].Measured, all[k].Drawn)
		}
	}
	return all
}

// claimed returns a claim with bounds on both sides.
func (t *played) claimed(name string, bound float64) result.Span {
	c, _ := t.Report.Truth.Claim(name)
	return result.Span{Value: c.Value, Low: max(0, c.Value-bound), High: c.Value + bound}
}

// lateBecauseOf counts the late frames before which a function ran longest. It returns those of
// them that are in the window.
func (t *played) lateBecauseOf(function int) (result.Span, []int) {
	n, frames := 0, []int{}
	for _, l := range t.Script.Late {
		if len(l.Functions) > 0 && l.Functions[0].Function == function {
			n++
			frames = append(frames, l.Frame)
		}
	}
	return exactly(n), frames
}

func inMilliseconds(ns result.Span) result.Span {
	return result.Span{Value: ns.Value / 1e6, Low: ns.Low / 1e6, High: ns.High / 1e6}
}
