package groundtruth

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/timeline"
)

// seen is an answer of the page as frames show it.
type seen struct {
	// the first frame that shows any of the answering picture, or of a later one; and the first
	// that shows nothing older
	from, to int
}

// checkResponse checks three facts. The page got as many inputs as were sent, each after it was
// sent. Each is answered in the frame that first shows the picture that the page reports as its
// answer. The median is that of the times from sending to these frames. The browser's delay before
// the page gets an input is unknown.
func (t *played) checkResponse() []check {
	if !t.asked("response") {
		return nil
	}
	inputs := newCheck("inputs sent and told", "inputs", "response.pings")
	order := newCheck("inputs told after they were sent", "inputs", "")
	frames := newCheck("answers", "frames", "")
	latency := newCheck("latency, median", "ms", "response.latency_p50")
	r := t.result("response")
	if r == nil {
		inputs.Note, order.Note, frames.Note, latency.Note = notMeasured, notMeasured, notMeasured, notMeasured
		return []check{inputs, order, frames, latency}
	}
	sent, answers := t.sent(r), t.Report.Answers
	inputs.Measured, inputs.Drawn = exactly(len(sent)), exactly(len(answers))
	inputs.Agrees = len(sent) == len(answers)
	all, hidden := t.answers()
	frames = t.checkAnswers(frames, all, hidden)
	if len(sent) != len(answers) {
		const unpaired = "which of the inputs the page was told of is not known"
		return []check{inputs, order.notMade(unpaired), frames, latency.notMade(unpaired)}
	}
	for i, a := range answers {
		if a.At.Latest >= sent[i].Earliest {
			order.Measured.Value++
		}
	}
	order.Measured, order.Drawn = exact(order.Measured.Value), exactly(len(sent))
	order.Agrees = order.Measured == order.Drawn
	v, ok := r.Find("latency_p50")
	switch {
	case hidden > 0:
		latency = latency.notMade("%d answers came and went where nobody could see them", hidden)
	case !ok || len(all) == 0:
		latency.Note = notMeasured
	default:
		latency.Drawn, latency.Measured = t.latency(sent, all), spanOf(v)
		latency.Agrees = meet(latency.Measured, latency.Drawn)
	}
	return []check{inputs, order, frames, latency}
}

// stamped is by how much an event's time in a page may be before the input: displays and devices
// stamp in whole milliseconds.
const stamped = time.Millisecond

// sent returns when the inputs were sent that the measure looked for answers to, as the recording's
// events say. It begins as much sooner as an event's stamp may be.
func (t *played) sent(r *analyze.Result) (all []timeline.Interval) {
	var asked []struct {
		PingNS int64 `json:"ping_ns"`
	}
	if json.Unmarshal(r.Detail, &asked) != nil {
		return nil
	}
	within := map[timeline.Time]time.Duration{}
	for _, e := range t.Reader.Events() {
		within[e.At] = max(within[e.At], e.Uncertainty)
	}
	for _, a := range asked {
		at := timeline.Time(a.PingNS)
		all = append(all, timeline.Interval{Earliest: at.Add(-within[at] - stamped), Latest: at.Add(within[at])})
	}
	return all
}

// latency is the median of the times from each input to the frames with its answer.
func (t *played) latency(sent []timeline.Interval, answers []seen) result.Span {
	var low, mid, high []float64
	for i, a := range answers {
		times := t.Outcome.Times
		low = append(low, milliseconds(times.Since(a.from).Earliest.Sub(sent[i].Latest)))
		mid = append(mid, milliseconds(times.At(a.to).Sub(sent[i].Latest)))
		high = append(high, milliseconds(times.Bounds(a.to).Latest.Sub(sent[i].Earliest)))
	}
	return result.Span{Value: median(mid), Low: median(low), High: median(high)}
}

// answers finds the frames with the page's answers. hidden counts those that no frame can show:
// they look like the frame before, or were gone before the next stored frame.
func (t *played) answers() (all []seen, hidden int) {
	for _, a := range t.Report.Answers {
		i := slices.IndexFunc(t.views, func(v view) bool { return v.newest() >= int(a.ID) })
		j := slices.IndexFunc(t.views, func(v view) bool { return slices.Min(v.ids[:]) >= int(a.ID) })
		if i < 0 || j < 0 {
			hidden++
			continue
		}
		if i > 0 {
			if differ, known := t.differ(&t.views[i-1], &t.views[i]); known && !differ {
				hidden++
				continue
			}
		}
		all = append(all, seen{t.views[i].frame, t.views[j].frame})
	}
	return all, hidden
}

// checkAnswers: there is a frame that was measured to answer for each answer of the page, and no
// other.
func (t *played) checkAnswers(c check, answers []seen, hidden int) check {
	if len(answers) == 0 {
		if hidden > 0 {
			return c.notMade("%d answers came and went where nobody could see them", hidden)
		}
		c.Note = "the page was told of no input"
		return c
	}
	s := t.series("response", "latency")
	if s == nil {
		c.Note = notMeasured
		return c
	}
	var first []int
	for _, a := range answers {
		first = append(first, a.from)
		if !slices.ContainsFunc(s.Frames, func(n int) bool { return a.from <= n && n <= a.to }) {
			c.Frames = append(c.Frames, a.from)
		}
	}
	for _, n := range s.Frames {
		if !slices.ContainsFunc(answers, func(a seen) bool { return a.from <= n && n <= a.to }) {
			c.Frames = append(c.Frames, n)
		}
	}
	slices.Sort(first)
	slices.Sort(c.Frames)
	c.Frames = slices.Compact(c.Frames)
	c.Measured, c.Drawn, c.Agrees = exactly(len(s.Frames)), exactly(len(slices.Compact(first))), len(c.Frames) == 0
	if hidden > 0 {
		c.Note = fmt.Sprintf("left out: %d answers that came and went where nobody could see them", hidden)
	}
	return c
}

// median is by nearest rank, as the measure's percentiles are.
func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[(len(sorted)+1)/2-1]
}
