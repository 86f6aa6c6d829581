package analyze

import (
	"errors"
	"fmt"
	"math"
	"slices"

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
//	unseen         ids in between that no frame shows; for losses see fps_dropped.go;
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
// largest distance of a point from the line, and T the time from the first to the last. A line that
// passes within E of both has a slope of at most 2E/T more or less. The uncertainty of T is added.
// Fewer than 10 ids have no clock_rate.
//
// By hand: frames that show ids 7 8 8 9 12 12 13 have 5 distinct ids of 7 drawn. 10 and 11 are
// unseen, and 2 frames are repeated.
//
// Series "data" has the 8 bits that pages may use freely, unless they are always 0. Detail is
// stripDetail. Unless requested, the measure is left out of windows without a strip. The strip is
// searched for at their beginning, middle and end.
func stripMeasure() measure {
	return measure{name: "strip", version: 1, begin: beginStrip, values: []string{
		"distinct_ids", "drawn", "unseen", "repeated", "out_of_order", "runts", "unreadable", "clock_rate",
	}}
}

// stripDetail is the Detail of the measure.
type stripDetail struct {
	Page    int `json:"page"`    // its number
	Whole   int `json:"whole"`   // frames whose copies all say the same
	Partial int `json:"partial"` // with copies that cannot be read
	Torn    int `json:"torn"`    // whose copies disagree
	Foreign int `json:"foreign"` // that show another page's strip
	// Unlike are frames about which pixels and ids disagree: they differ without a new id, or have
	// a new id and differ in nothing else. The first ones.
	Unlike []int `json:"unlike"`
}

// errAbsent is wrapped by a measure that does not apply to a window: it is refused only if it was
// asked for.
var errAbsent = errors.New("there is nothing to measure")

type stripBooks struct {
	ids     *idReader
	account *strip.Account
	lost    int
	last    strip.Reading // of the frame before
	begun   bool
}

func beginStrip(c *Case) (part, error) {
	for _, n := range []int{c.Window.Start, (c.Window.Start + c.Window.End) / 2, c.Window.End} {
		if ids := newIDReaderAt(c, n); ids != nil {
			return &stripBooks{ids: ids, account: strip.NewAccount(ids.page)}, nil
		}
	}
	return nil, fmt.Errorf("%w: no frame shows a code strip; measure a page that draws one, and the region that it fills", errAbsent)
}

func (p *stripBooks) needsPixels() bool { return true }

func (p *stripBooks) fork() part {
	return &stripBooks{ids: p.ids.fork(), account: strip.NewAccount(p.ids.page)}
}

func (p *stripBooks) add(f *Frame) {
	start := f.Number == p.ids.Window.Start
	if !start || p.ids.Window.Green != None {
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

func (p *stripBooks) merge(next part) {
	n := next.(*stripBooks)
	p.account.Merge(n.account)
	p.ids.merge(n.ids)
	p.lost += n.lost
}

func (p *stripBooks) result() Result {
	s := p.account.Close(nil)
	c := p.ids.Case
	lost := float64(p.lost)
	if c.Window.Red != None {
		lost += float64(c.Times.Lost(c.Window.Red))
	}
	more := func(n int) (value, low, high float64) { return float64(n), float64(n), float64(n) + lost }
	var r Result
	d, ok := p.ids.count()
	if ok {
		distinct, open := float64(d.drawn-d.dropped), float64(d.open)
		unseen := between("unseen", "frames", float64(d.dropped), float64(d.dropped-d.open), float64(d.dropped), Lower,
			0.05)
		unseen.Frames = d.behind
		unseen.Note = "the frames named are those behind"
		r.Values = append(r.Values, between("distinct_ids", "ids", distinct, distinct, distinct+open, Neither, 0),
			exactly("drawn", "frames", float64(d.drawn), Neither, 0), unseen)
	} else {
		r.Values = append(r.Values, exactly("distinct_ids", "ids", float64(len(p.ids.seen)), Neither, 0))
	}
	value, low, high := more(s.Repeated)
	low -= float64(s.Unsure)
	r.Values = append(r.Values, between("repeated", "frames", value, low, high, Neither, 0))
	value, low, high = more(len(s.OutOfOrder))
	order := between("out_of_order", "frames", value, low, high, Lower, 0)
	for _, n := range s.OutOfOrder {
		order.Frames = name(order.Frames, n)
	}
	r.Values = append(r.Values, order, p.runts(d), exactly("unreadable", "frames", float64(s.Unreadable), Lower, 0))
	if v, ok := p.clockRate(); ok {
		r.Values = append(r.Values, v)
	}
	if s.Truncated && len(s.OutOfOrder) > 0 {
		r.Warnings = append(r.Warnings, "there are too many frames out of order to count all")
	}
	p.data(&r)
	told := stripDetail{Page: int(p.ids.page), Whole: s.Whole, Partial: s.Partial, Torn: s.Torn, Foreign: s.Foreign,
		Unlike: []int{}}
	for _, u := range s.Disagree {
		told.Unlike = name(told.Unlike, u.Frame)
	}
	r.Detail = detail(told)
	return r
}

// runts counts ids that were never seen in all copies. Where frames are missing beside one, it may
// have been seen whole there; of those that may have been shown by missing frames alone, any may
// have been one too. Where frames come out of order, any missing frame may have shown one whole.
func (p *stripBooks) runts(d drops) Value {
	type book struct {
		copies uint8
		frame  int32
		open   bool
	}
	books := make(map[uint32]book, len(p.ids.seen))
	for i, s := range p.ids.seen {
		b, was := books[s.id]
		if !was {
			b.frame = s.frame
		}
		b.copies = max(b.copies, s.copies)
		b.open = b.open || s.gap
		for k := i + 1; k < len(p.ids.seen) && p.ids.seen[k].frame <= s.frame+1 && !b.open; k++ {
			b.open = p.ids.seen[k].gap
		}
		books[s.id] = b
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
	v := between("runts", "ids", float64(n), float64(certain), float64(n+d.open), Lower, 0.05)
	slices.Sort(frames)
	for _, f := range slices.Compact(frames) {
		v.Frames = name(v.Frames, f)
	}
	return v
}

// minClocks is how many ids a fit of clocks needs.
const minClocks = 10

// clockRate fits the page's clock to ours.
func (p *stripBooks) clockRate() (Value, bool) {
	seen := p.ids.firsts()
	if len(seen) < minClocks {
		return Value{}, false
	}
	times := p.ids.Times
	first, last := int(seen[0].frame), int(seen[len(seen)-1].frame)
	zero, clock := times.At(first), int64(seen[0].clock)
	x, y := make([]float64, len(seen)), make([]float64, len(seen))
	var meanX, meanY float64
	for i, s := range seen {
		clock += closest(clock, s.clock)
		x[i], y[i] = ms(times.At(int(s.frame)).Sub(zero)), float64(clock-int64(seen[0].clock))
		meanX, meanY = meanX+x[i]/float64(len(seen)), meanY+y[i]/float64(len(seen))
	}
	var xx, xy, worst float64
	for i := range x {
		xx, xy = xx+(x[i]-meanX)*(x[i]-meanX), xy+(x[i]-meanX)*(y[i]-meanY)
	}
	took := uncertain(times, first, last)
	if xx <= 0 || took.low <= 0 {
		return Value{}, false
	}
	slope := xy / xx
	for i := range x {
		worst = math.Max(worst, math.Abs(y[i]-meanY-slope*(x[i]-meanX)))
	}
	gone := slope * ms(took.mid)
	low, high := (gone-2*worst)/ms(took.high), (gone+2*worst)/ms(took.low)
	v := between("clock_rate", "ms/ms", slope, math.Min(low, slope), math.Max(high, slope), Neither, 0)
	v.Note = fmt.Sprintf("by %d ids; the page's clock lies within %.1f ms of the line", len(seen), worst)
	return v, true
}

func uncertain(t *Times, first, last int) lasting {
	around := func(n int) timeline.Interval {
		b, at := t.Bounds(n), t.At(n)
		return timeline.Interval{Earliest: min(b.Earliest, at), Latest: max(b.Latest, at)}
	}
	return span(t.At(first), t.At(last), around(first), around(last))
}

// data adds the bits that pages use for what they like, at the frames in which they change.
func (p *stripBooks) data(r *Result) {
	s := Series{Name: "data", Unit: "", Holds: true}
	some := false
	for _, v := range p.ids.firsts() {
		x := float64(v.data)
		some = some || x != 0
		if n := len(s.Values); n == 0 || s.Values[n-1] != x {
			s.Frames, s.Values = append(s.Frames, int(v.frame)), append(s.Values, x)
		}
	}
	if some {
		r.Series = append(r.Series, s)
	}
}

// firsts returns the first sighting of each id that is above all before it, one of a frame.
func (d *idReader) firsts() (all []sighting) {
	last := int64(0)
	for _, s := range d.seen {
		at := last + closest(last, s.id)
		if len(all) > 0 && (at <= last || s.frame == all[len(all)-1].frame) {
			continue
		}
		last, all = at, append(all, s)
	}
	return all
}

// closest returns how far it is from a number to the closest one that is the same modulo 2²⁴.
func closest(from int64, to uint32) int64 { return int64(int32((to-uint32(from))<<8) >> 8) }
