package result

import (
	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/wording"
)

// Texts of numbers are written into results.json once. Terminal, pages and pictures print them.

func measured(v analyze.Value) wording.Measured {
	return wording.Measured{Value: v.Value, Low: v.Low, High: v.High, Unit: v.Unit, Bounded: v.State == analyze.Bounded}
}

// ValueText returns a value with its unit, as all reports print it.
func ValueText(v analyze.Value) string {
	if v.State == analyze.Refused {
		return "not measured"
	}
	return measured(v).Text()
}

// BoundsText returns the bounds of a value without their unit. It is empty unless it is bounded.
func BoundsText(v analyze.Value) string { return measured(v).Bounds() }

// describe fills in the texts of a check.
func (k *Check) describe() {
	spanTexts := func(s Span) (text, bounds string) {
		m := wording.Measured{Value: s.Value, Low: s.Low, High: s.High, Unit: k.Unit, Bounded: s.Low != s.High}
		return m.Text(), m.Bounds()
	}
	k.MeasuredText, k.MeasuredBounds = spanTexts(k.Measured)
	k.DrawnText, k.DrawnBounds = spanTexts(k.Drawn)
	k.ClaimedText = ""
	if k.Claimed != nil {
		k.ClaimedText = wording.Measured{Value: *k.Claimed, Unit: k.Unit}.Text()
	}
}

// claimTexts returns the text of each claim, in the unit of the value that it is about. A claim
// about another value has no unit.
func claimTexts(w *Window) map[string]string {
	units := map[string]string{}
	for _, r := range w.Results {
		for _, v := range r.Values {
			units[r.Measure+"."+v.Name] = v.Unit
		}
	}
	texts := map[string]string{}
	for name, x := range w.Claims {
		texts[name] = wording.Measured{Value: x, Unit: units[name]}.Text()
	}
	return texts
}
