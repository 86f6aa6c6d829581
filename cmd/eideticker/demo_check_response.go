package main

import (
	"slices"

	"github.com/eideticker/eideticker/analyze"
)

// checkResponse: each input is answered in the frame that first shows the picture which the page says was its answer; and the median of the times from
// when the page was told to these frames.
func (t *demoTruth) checkResponse() []demoCheck {
	var frames []int
	var low, mid, high []float64
	for _, a := range t.report.Answers {
		n, ok := t.firstWith(int(a.ID))
		if !ok {
			continue
		}
		if k := len(frames); k == 0 || frames[k-1] < n {
			frames = append(frames, n)
		}
		times := t.outcome.Times
		low = append(low, milliseconds(times.Since(n).Earliest.Sub(a.At.Latest)))
		mid = append(mid, milliseconds(times.At(n).Sub(a.At.Mid())))
		high = append(high, milliseconds(times.Bounds(n).Latest.Sub(a.At.Earliest)))
	}
	answers := demoCheck{What: "answers", Unit: "frames", Drawn: exactSpan(len(frames)), Note: "not measured"}
	r := t.result("response")
	if r == nil || len(mid) == 0 {
		return []demoCheck{answers}
	}
	if s := t.series("response", "latency"); s != nil {
		answers.Measured, answers.Note = exactSpan(len(s.Frames)), ""
		answers.Frames = difference(s.Frames, frames)
		answers.Agrees = len(answers.Frames) == 0
	}
	latency := demoCheck{What: "click latency, median", Unit: "ms", of: "response.latency_p50", Drawn: demoSpan{median(mid), median(low), median(high)}}
	if v, ok := r.Find("latency_p50"); ok && v.State != analyze.Refused {
		latency.Measured = spanOf(v)
		latency.Agrees = latency.Measured.meets(latency.Drawn)
	}
	return []demoCheck{answers, latency}
}

// firstWith returns the first frame that shows a picture, or a later one where that was never seen.
func (t *demoTruth) firstWith(id int) (frame int, ok bool) {
	for i := range t.views {
		if shown, whole := t.views[i].whole(); whole && shown >= id {
			return t.views[i].frame, true
		}
	}
	return 0, false
}

// median is by nearest rank, as the measure's percentiles are.
func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[(len(sorted)+1)/2-1]
}
