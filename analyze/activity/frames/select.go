package frames

import (
	"cmp"
	"slices"

	"github.com/eideticker/eideticker/analyze/result"
)

// Selection selects changed frames.
type Selection struct {
	From, To int  // frames, To excluded
	Window   int  // from 1; 0: all
	Late     bool // only late ones, with late answers to inputs
}

// Select returns the selected frames of results, in order.
func Select(r *result.Results, s Selection) (all []result.FrameSpan) {
	// The activity shows more late frames than the median does, and answers to inputs.
	listed, answers := map[result.FrameSpan]bool{}, []result.FrameSpan(nil)
	if r.Profile != nil {
		for _, l := range r.Profile.Late {
			listed[l.Span()] = true
		}
	}
	for i := range r.Windows {
		if s.Window > 0 && i != s.Window-1 {
			continue
		}
		for _, f := range result.FrameSpans(r.Windows, i) {
			same := f
			same.Long = false
			switch {
			case f.Frame < s.From || f.Frame >= s.To:
			case !f.Response && (!s.Late || f.Long || listed[same]):
				all = append(all, f)
			case f.Response && s.Late && listed[same]:
				answers = append(answers, f)
			}
		}
	}
	for _, f := range answers { // no time counts twice
		if !slices.ContainsFunc(all, func(o result.FrameSpan) bool { return o.FromNS < f.ToNS && f.FromNS < o.ToNS }) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b result.FrameSpan) int { return cmp.Compare(a.ToNS, b.ToNS) })
	return all
}
