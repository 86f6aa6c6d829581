// Package codestrip measures by the code strip of test pages. It finds drawn frames that were
// never seen, repeated frames and the rate of the page's clock. Where a page draws a strip, its
// ids decide over every guess from pixels; package strip decodes them.
package codestrip

import (
	"fmt"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/timeline"
)

// # strip: code strip
//
// Pages that draw the code strip number the frames that they draw, and put their clock into them.
// These values are of the ids and clocks that the frames from s to e show:
//
//	distinct_ids   ids that were seen, whole or not;
//	drawn          b − a + 1, of ids from a to b;
//	unseen         ids in between that no frame shows; for losses see package fps;
//	repeated       frames that show only the ids of the previous frame;
//	out_of_order   frames that show only ids below one that was seen before;
//	runts          ids that no frame shows in all copies of the strip: only part of the rows had them;
//	unreadable     frames without a readable copy;
//	clock_rate     ms of the page's clock in a ms of the rig's.
//
// Lost frames may have shown anything: repeated and out_of_order may be as many more. unseen and
// runts beside losses may be as many fewer. An unseen id beside a loss may have been a runt. A
// frame that repeats the frame before a loss may not repeat the lost one.
//
// clock_rate is the slope of the least-squares line through the page's clock at the first frame of
// each id. A page draws an id some time before it is seen, and its clock has whole ms. E is the
// largest distance of a point from the line. T is the time from the first point to the last. A line
// that passes within E of both has a slope of at most 2E/T more or less. The uncertainty of T is
// added. Fewer than 10 ids have no clock_rate.
//
// By hand: frames that show ids 7 8 8 9 12 12 13 have 5 distinct ids of 7 drawn. 10 and 11 are
// unseen, and 2 frames are repeated.
//
// Series "data" has the 8 bits that pages may use freely, unless they are always 0. Unless
// requested, the measure is left out of windows without a strip. The strip is searched for at their
// beginning, middle and end.
func Measure() measure.Measure {
	return measure.Measure{Name: "strip", Version: 1, Begin: beginStrip, Values: []string{
		"distinct_ids", "drawn", "unseen", "repeated", "out_of_order", "runts", "unreadable", "clock_rate",
	}}
}

// Detail is the detail of a result, as JSON.
type Detail struct {
	Page    int `json:"page"`    // its number
	Whole   int `json:"whole"`   // frames whose copies all say the same
	Partial int `json:"partial"` // with copies that cannot be read
	Torn    int `json:"torn"`    // whose copies disagree
	Foreign int `json:"foreign"` // that show another page's strip
	// Unlike are frames about which pixels and ids disagree: they differ without a new id, or have
	// a new id and differ in nothing else. The first ones.
	Unlike []int `json:"unlike"`
}

type part struct {
	ids     *Reader
	account *strip.Account
	lost    int
	last    strip.Reading // of the frame before
	begun   bool
}

func beginStrip(c *measure.Case) (measure.Part, error) {
	for _, n := range []int{c.Window.Start, (c.Window.Start + c.Window.End) / 2, c.Window.End} {
		if ids := newReaderAt(c, n); ids != nil {
			return &part{ids: ids, account: strip.NewAccount(ids.page)}, nil
		}
	}
	return nil, fmt.Errorf("%w: no frame shows a code strip; measure a page that draws one, and the region that it "+
		"fills", measure.ErrAbsent)
}

func (p *part) NeedsPixels() bool { return true }

func (p *part) Fork() measure.Part {
	return &part{ids: p.ids.Fork(), account: strip.NewAccount(p.ids.page)}
}

func (p *part) Add(f *measure.Frame) {
	start := f.Number == p.ids.Window.Start
	if !start || p.ids.Window.Green != measure.None {
		p.lost += f.Lost
	}
	p.ids.lost(f)
	if f.Lost > 0 {
		p.account.Missing()
	}
	if !p.begun || len(f.Change.Spans) > 0 {
		p.last = p.ids.decoder.ReadContent(f.Image)
	}
	if start || len(f.Change.Spans) > 0 {
		p.ids.note(f, p.last)
	}
	p.begun = true
	p.account.Add(f.Number, f.Unique || start, p.last)
}

func (p *part) Merge(next measure.Part) {
	n := next.(*part)
	p.account.Merge(n.account)
	p.ids.Merge(n.ids)
	p.lost += n.lost
}

func (p *part) Result() measure.Result {
	s := p.account.Close(nil)
	c := p.ids.Case
	lost := float64(p.lost)
	if c.Window.Red != measure.None {
		lost += float64(c.Times.Lost(c.Window.Red))
	}
	more := func(n int) (value, low, high float64) { return float64(n), float64(n), float64(n) + lost }
	var r measure.Result
	d, ok := p.ids.Count()
	if ok {
		distinct, open := float64(d.Drawn-d.Dropped), float64(d.Open)
		unseen := measure.Between("unseen", "frames", float64(d.Dropped), float64(d.Dropped-d.Open), float64(d.Dropped),
			measure.Lower,
			0.05)
		unseen.Frames = d.Behind
		unseen.Note = "the frames named are those behind"
		r.Add(measure.Between("distinct_ids", "ids", distinct, distinct, distinct+open, measure.Neither, 0),
			measure.Exactly("drawn", "frames", float64(d.Drawn), measure.Neither, 0), unseen)
	} else {
		r.Add(measure.Exactly("distinct_ids", "ids", float64(len(p.ids.Seen)), measure.Neither, 0))
	}
	value, low, high := more(s.Repeated)
	low -= float64(s.Unsure)
	r.Add(measure.Between("repeated", "frames", value, low, high, measure.Neither, 0))
	value, low, high = more(len(s.OutOfOrder))
	order := measure.Between("out_of_order", "frames", value, low, high, measure.Lower, 0)
	for _, n := range s.OutOfOrder {
		order.Frames = measure.AppendFrame(order.Frames, n)
	}
	r.Add(order, p.runts(d), measure.Exactly("unreadable", "frames", float64(s.Unreadable), measure.Lower, 0))
	if v, ok := p.clockRate(); ok {
		r.Add(v)
	}
	if s.Truncated && len(s.OutOfOrder) > 0 {
		r.Warnf("there are too many frames out of order to count all")
	}
	p.data(&r)
	told := Detail{Page: int(p.ids.page), Whole: s.Whole, Partial: s.Partial, Torn: s.Torn, Foreign: s.Foreign,
		Unlike: []int{}}
	for _, u := range s.Disagree {
		told.Unlike = measure.AppendFrame(told.Unlike, u.Frame)
	}
	r.Detail = measure.Detail(told)
	return r
}

// runts counts ids that were never seen in all copies. Where frames are missing beside one, it may
// have been seen whole there; of those that may have been shown by missing frames alone, any may
// have been one too. Where frames come out of order, any missing frame may have shown one whole.
func (p *part) runts(d Drops) measure.Value {
	type book struct {
		copies uint8
		frame  int32
		open   bool
	}
	books := make(map[uint32]book, len(p.ids.Seen))
	for i, s := range p.ids.Seen {
		b, was := books[s.Id]
		if !was {
			b.frame = s.Frame
		}
		b.copies = max(b.copies, s.copies)
		b.open = b.open || s.gap
		for k := i + 1; k < len(p.ids.Seen) && p.ids.Seen[k].Frame <= s.Frame+1 && !b.open; k++ {
			b.open = p.ids.Seen[k].gap
		}
		books[s.Id] = b
	}
	var frames []int
	n, certain := 0, 0
	for _, b := range books {
		if b.copies >= strip.Copies {
			continue
		}
		if n++; !b.open {
			certain++
		}
		frames = append(frames, int(b.frame))
	}
	if d.backward {
		certain = max(0, certain-p.ids.missing)
	}
	v := measure.Between("runts", "ids", float64(n), float64(certain), float64(n+d.Open), measure.Lower, 0.05)
	slices.Sort(frames)
	for _, f := range slices.Compact(frames) {
		v.Frames = measure.AppendFrame(v.Frames, f)
	}
	return v
}

// minClocks is how many ids a fit of clocks needs.
const minClocks = 10

// clockRate fits the page's clock to ours.
func (p *part) clockRate() (measure.Value, bool) {
	seen := p.ids.firsts()
	if len(seen) < minClocks {
		return measure.Value{}, false
	}
	times := p.ids.Times
	first, last := int(seen[0].Frame), int(seen[len(seen)-1].Frame)
	zero, clock := times.At(first), int64(seen[0].Clock)
	x, y := make([]float64, len(seen)), make([]float64, len(seen))
	var meanX, meanY float64
	for i, s := range seen {
		clock += closest(clock, s.Clock)
		x[i], y[i] = measure.MS(times.At(int(s.Frame)).Sub(zero)), float64(clock-int64(seen[0].Clock))
		meanX, meanY = meanX+x[i]/float64(len(seen)), meanY+y[i]/float64(len(seen))
	}
	var xx, xy, worst float64
	for i := range x {
		xx, xy = xx+(x[i]-meanX)*(x[i]-meanX), xy+(x[i]-meanX)*(y[i]-meanY)
	}
	took := uncertain(times, first, last)
	if xx <= 0 || took.Low <= 0 {
		return measure.Value{}, false
	}
	slope := xy / xx
	for i := range x {
		worst = math.Max(worst, math.Abs(y[i]-meanY-slope*(x[i]-meanX)))
	}
	gone := slope * measure.MS(took.Mid)
	low, high := (gone-2*worst)/measure.MS(took.High), (gone+2*worst)/measure.MS(took.Low)
	v := measure.Between("clock_rate", "ms/ms", slope, math.Min(low, slope), math.Max(high, slope), measure.Neither, 0)
	v.Note = fmt.Sprintf("by %d ids; the page's clock lies within %.1f ms of the line", len(seen), worst)
	return v, true
}

func uncertain(t *measure.Times, first, last int) measure.Duration {
	around := func(n int) timeline.Interval {
		b, at := t.Bounds(n), t.At(n)
		return timeline.Interval{Earliest: min(b.Earliest, at), Latest: max(b.Latest, at)}
	}
	return measure.Span(t.At(first), t.At(last), around(first), around(last))
}

// data adds the bits that pages use for what they like, at the frames in which they change.
func (p *part) data(r *measure.Result) {
	s := measure.Series{Name: "data", Unit: "", Holds: true}
	some := false
	for _, v := range p.ids.firsts() {
		x := float64(v.data)
		some = some || x != 0
		if n := len(s.Values); n == 0 || s.Values[n-1] != x {
			s.Frames, s.Values = append(s.Frames, int(v.Frame)), append(s.Values, x)
		}
	}
	if some {
		r.Series = append(r.Series, s)
	}
}
