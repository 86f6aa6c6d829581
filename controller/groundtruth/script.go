package groundtruth

import (
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
)

// slowOnes are functions of the stutter page that hold up pictures, with the names of their claims.
// The page claims how often they were called and for how long they ran.
var slowOnes = []struct{ claim, name, file string }{
	{"slow", "slow", "/assets/stutter.js"}, {"late", "(script)", "/assets/late.js"},
}

// claimStep is the resolution of a page's clock, in ms. A claimed duration has two readings.
const claimStep = 1.0

// checkScript compares the calls of slow functions with the page's claims.
func (t *played) checkScript() (all []check) {
	if t.Script == nil || len(t.Script.Policies) > 0 && !slices.Contains(t.Script.Policies, "calls") {
		return nil // calls are not recorded
	}
	if p := t.Script.Plan; p != nil && (p.Adapt != "" || p.Probability > 0 || p.Plain) {
		return nil // only those of some functions are
	}
	for _, of := range slowOnes {
		if calls, ok := t.Report.Truth.Claim(of.claim + "_calls"); ok && calls.Value > 0 {
			all = append(all, t.checkFunction(of.claim, of.name, of.file, calls.Value)...)
		}
	}
	return all
}

// checkFunction compares the calls of a function of a file with the page's claims.
func (t *played) checkFunction(claim, name, file string, n float64) (all []check) {
	count := newCheck("calls of "+name, "calls", "")
	count.Drawn = exact(n)
	named := newCheck("late frames because of "+name, "frames", "")
	// A busy browser shows the frame before the call while it runs. Then two frames are late.
	named.Drawn = result.Span{Value: n, Low: n, High: 2 * n}
	total := newCheck("time in "+name, "ms", "")
	longest := newCheck("longest call of "+name, "ms", "")
	total.Drawn, longest.Drawn = t.claimed(claim+"_total", 2*claimStep*n), t.claimed(claim+"_longest", 2*claimStep)
	all = []check{count, named, total, longest}
	for i := range all {
		all[i].Note = "scripts sent no call of it"
	}
	for i := range t.Script.Functions {
		f := &t.Script.Functions[i]
		if f.Name != name || !strings.HasSuffix(f.URL, file) {
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

// claimed returns a claimed duration: within calls, and around them. On a busy machine another
// process can run between a call's entry and the page's first look at its clock.
func (t *played) claimed(name string, bound float64) result.Span {
	inside, _ := t.Report.Truth.Claim(name + "_inside")
	around, _ := t.Report.Truth.Claim(name + "_around")
	return result.Span{Value: inside.Value, Low: max(0, inside.Value-bound), High: around.Value + bound}
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
