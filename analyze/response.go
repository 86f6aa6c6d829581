package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// # response: responsiveness
//
// A ping is an event at T ± u, u being the uncertainty of whoever sent it. Only those count from whose T − u on all frames are in the window, or show the held green
// before it: what answered an earlier one may lie before. Its pong is the first frame i, sampled after T − u, in which
// the expected thing happened: a change in a region, or a colour that fills 99 % of it and did not before, as far as pixels of the region count. What answers a ping comes
// before the next ping and within the time limit; else the ping is missed. Where the window ends before that time is over, and no answer was seen, the ping is unfinished: it
// may be answered yet, or missed.
//
// The latency lies in (earliest(i−1) − T − u, latest(i) − T + u], i−1 being the last stored frame before i; its value is the time of
// frame i − T. It may be negative, since T is uncertain. Where it is known, the delay of the card is taken off all times of frames, before anything else is asked of them: they are
// then those at which the frames were on the screen. Of a signal that is scanned out from top to bottom while a frame is sampled, the row in which the pong begins is
// that far into its interval, by what the scan takes: the interval is narrower by that much, and its middle moves.
//
//	pings, answered, missed, unfinished
//	latency_min, latency_p50, latency_p95, latency_max, latency_mean   ms; percentiles by nearest rank
//	latency_p99                                                        ms, from 100 pings on
//
// Bounds of a percentile are those percentiles of the lower and of the upper ends. Where frames are lost, one ping's answer may be another's, or may
// not have been seen: then answered and missed have bounds too, and those of a percentile are the least and the most of all that is possible. So it is with pings that are unfinished. Series "latency" has each answer at its pong.
func responseMeasure() measure {
	return measure{name: "response", version: 1, pixels: true, begin: beginResponse}
}

// ResponseOptions say what is asked and what counts as an answer. The zero value takes any change after an event "ping" or "input".
type ResponseOptions struct {
	Kinds  []string      // of the events that ask; empty: "ping", "input"
	Region frame.Region  // where the answer is expected; empty: anywhere in R
	Colour *Colour       // that fills the region; nil: any change
	Limit  time.Duration // for an answer; 0: 5 s
	// Delay is what the card adds to a frame's time, known to ± DelayWithin; ScanOut what a signal takes from its first row to its last. 0 where not known.
	Delay, DelayWithin, ScanOut time.Duration
}

// mostDelay bounds what can be said of a card.
const mostDelay = 10 * time.Second

// Colour is one in RGB.
type Colour struct{ R, G, B byte }

// near is by how much a sample of a colour that is looked for may be off: YUV and limited range take that much.
const near = 12

func (c Colour) is(p []byte, tau int) bool {
	off := max(tau, near)
	return apart(p[0], c.R) <= off && apart(p[1], c.G) <= off && apart(p[2], c.B) <= off
}

func apart(a, b byte) int { return max(int(a)-int(b), int(b)-int(a)) }

// response collects the frames in which what is expected happened; which ping each answers is decided when all are known.
type response struct {
	*Case
	pings  []timeline.Event
	next   timeline.Time // of the first ping behind the window
	region frame.Region
	held   int // pixels of it that count
	conv   *frame.Converter
	row    []byte
	begun  bool
	filled bool // the frame before had the colour

	at  []int // frames
	top []int // first row of each, in the picture
}

func beginResponse(c *Case) (part, error) {
	o := &c.Options.Response
	if o.Delay < 0 || o.DelayWithin < 0 || o.ScanOut < 0 || o.Delay > mostDelay || o.DelayWithin > mostDelay || o.ScanOut > mostDelay {
		return nil, fmt.Errorf("a delay of %v ± %v and a scan-out of %v cannot be: name what is known of the card, each from 0 to %v", o.Delay, o.DelayWithin, o.ScanOut, mostDelay)
	}
	r := &response{Case: c, region: o.Region, conv: frame.NewConverter(c.Layout)}
	if r.region == (frame.Region{}) {
		r.region = c.Area.Region
	} else if !r.region.In(c.Layout.Format.Width, c.Layout.Format.Height) {
		return nil, fmt.Errorf("the region %v in which the answer is expected does not lie in a picture of %dx%d", o.Region, c.Layout.Format.Width, c.Layout.Format.Height)
	}
	if r.held = c.Area.count(r.region); r.held == 0 {
		return nil, fmt.Errorf("no pixel of the region %v in which the answer is expected counts: it lies outside of the content, %v, or under a mask; name another, or look at all of the picture",
			r.region, c.Area.Region)
	}
	kinds := o.Kinds
	if len(kinds) == 0 {
		kinds = []string{"ping", "input"}
	}
	known, to := r.known(), r.onScreen(c.Times.Bounds(c.Window.End))
	r.next = math.MaxInt64
	for _, e := range c.Recording.Events() {
		switch {
		case !slices.Contains(kinds, e.Kind):
		case e.At > to.Latest:
			r.next = min(r.next, e.At)
		case e.At.Add(-e.Uncertainty) >= known:
			r.pings = append(r.pings, e)
		}
	}
	if len(r.pings) == 0 {
		return nil, fmt.Errorf("no event of kind %v lies in the window; events come from whoever sends the input, or name another kind", kinds)
	}
	slices.SortStableFunc(r.pings, func(a, b timeline.Event) int { return int(min(max(a.At-b.At, -1), 1)) })
	r.row = make([]byte, 4*r.region.Width)
	return r, nil
}

// known is from when on it is known of every frame whether it answers. The held green does not change, as long as none of it is lost.
func (p *response) known() timeline.Time {
	w := &p.Window
	at := p.onScreen(p.Times.Bounds(w.first())).Latest
	next := p.Times.Meta(w.first()).Sequence
	for n := w.Green - 1; w.Green != None && n >= max(0, w.Green-w.Held); n-- {
		m, err := p.Recording.Meta(n)
		if err != nil || m.Sequence+1 != next {
			break
		}
		at, next = p.onScreen(m.Sampled).Latest, m.Sequence
	}
	return at
}

func (p *response) limit() time.Duration {
	if d := p.Options.Response.Limit; d > 0 {
		return d
	}
	return 5 * time.Second
}

func (p *response) fork() part {
	return &response{Case: p.Case, pings: p.pings, region: p.region, held: p.held, conv: p.conv, row: make([]byte, len(p.row))}
}

func (p *response) add(f *Frame) {
	if !p.begun {
		p.begun = true
		before := f.Previous
		if before.Rows == nil {
			before = f.Image
		}
		p.filled = p.fills(before)
	}
	if f.Diff == nil || f.Diff.Pixels == 0 {
		return
	}
	top := p.firstRow(f.Diff)
	if top < 0 {
		return
	}
	if p.Options.Response.Colour != nil {
		was := p.filled
		if p.filled = p.fills(f.Image); was || !p.filled {
			return
		}
	}
	p.at, p.top = append(p.at, f.Number), append(p.top, top)
}

// firstRow returns the first row of the region in which anything differs, or -1.
func (p *response) firstRow(d *Diff) int {
	r := p.region
	for i := range d.Lines {
		l := &d.Lines[i]
		if l.Y < r.Y || l.Y >= r.Y+r.Height {
			continue
		}
		found := false
		from, to := max(r.X, 64*l.Word), min(r.X+r.Width, 64*(l.Word+len(l.Bits)))
		eachWord(from, max(from, to), func(w int, mask uint64) { found = found || l.Bits[w-l.Word]&mask != 0 })
		if found {
			return l.Y
		}
	}
	return -1
}

// fills reports whether the colour that is looked for fills at least 99 % of what counts of the region.
func (p *response) fills(m frame.Image) bool {
	c := p.Options.Response.Colour
	if c == nil {
		return false
	}
	missing, most := 0, p.held/100
	for y := p.region.Y; y < p.region.Y+p.region.Height; y++ {
		p.conv.RGBARow(p.row, m, y, p.region.X, p.region.X+p.region.Width)
		for i := 0; i < len(p.row); i += 4 {
			if !c.is(p.row[i:], p.Options.Tolerance) && p.Area.Holds(p.region.X+i/4, y) {
				missing++
			}
		}
		if missing > most {
			return false
		}
	}
	return true
}

func (p *response) merge(next part) {
	n := next.(*response)
	p.at, p.top = append(p.at, n.at...), append(p.top, n.top...)
}

// answer is a ping and its pong, as it stands in Detail. Times are on the recording's clock.
type answer struct {
	PingNS int64   `json:"ping_ns"`
	Frame  int     `json:"frame"` // None: missed
	Row    int     `json:"row"`
	MS     float64 `json:"latency_ms"`
	LowMS  float64 `json:"low_ms"`
	HighMS float64 `json:"high_ms"`
	// Unsure: lost frames may have answered what seems missed, or what seems answered may have happened before the ping.
	Unsure bool `json:"unsure,omitempty"`
	// Unfinished: the window ends before the time for an answer is over, and none was seen for certain.
	Unfinished bool `json:"unfinished,omitempty"`
}

// happening is a frame that may answer a ping: what is expected was seen to happen in it, or in the frames lost just before it, or it may have
// happened in these and gone again.
type happening struct {
	frame, top int
	seen, lost bool
}

// happenings merges what was seen with the places where frames are lost.
func (p *response) happenings() (all []happening) {
	k := 0
	until := func(n int) {
		for ; k < len(p.at) && p.at[k] < n; k++ {
			all = append(all, happening{p.at[k], p.top[k], true, false})
		}
	}
	w := &p.Window
	for n := w.first() + 1; n <= max(w.End, w.Red); n++ {
		if p.Times.Lost(n) == 0 {
			continue
		}
		until(n)
		h := happening{n, p.region.Y, false, true}
		if k < len(p.at) && p.at[k] == n {
			h.top, h.seen = p.top[k], true
			k++
		}
		all = append(all, h)
	}
	until(max(w.End, w.Red) + 1)
	return all
}

// answer finds what answers ping i. What frames lost just before one showed may have answered it too: so the bounds reach from the first
// happening that could be the answer to the first that, if none before was, is it for certain.
func (p *response) answer(i int, all []happening) answer {
	ping := p.pings[i]
	a := answer{PingNS: int64(ping.At), Frame: None}
	from, until := ping.At.Add(-ping.Uncertainty), ping.At.Add(p.limit())
	if i+1 < len(p.pings) {
		until = min(until, p.pings[i+1].At)
	} else {
		until = min(until, p.next)
	}
	sure, possible := false, false
	for _, h := range all {
		at, b, since := p.Times.At(h.frame).Add(-p.Options.Response.Delay), p.onScreen(p.Times.Bounds(h.frame)), p.onScreen(p.Times.Since(h.frame)).Earliest
		if b.Latest <= from {
			continue
		}
		if at > until && !(h.lost && since <= until) {
			break
		}
		top, bottom := h.top, h.top
		if h.lost { // it may have begun in any row
			top, bottom = p.region.Y, p.region.Y+p.region.Height-1
		}
		if !possible {
			_, before := p.shown(h.frame, top)
			if h.frame > p.Window.first() {
				_, last := p.shown(p.Times.Before(h.frame), top)
				before.Earliest = min(before.Earliest, last.Earliest)
			}
			a.LowMS, possible = ms(before.Earliest.Sub(ping.At)-ping.Uncertainty), true
		}
		_, behind := p.shown(h.frame, bottom)
		a.HighMS = max(a.LowMS, ms(behind.Latest.Sub(ping.At)+ping.Uncertainty))
		if h.seen && at <= until {
			if a.Frame == None {
				row, _ := p.shown(h.frame, h.top)
				a.Frame, a.Row, a.MS = h.frame, h.top, ms(row.Sub(ping.At))
			}
			if sure = !h.lost || since > from; sure {
				break
			}
		}
	}
	a.Unsure = possible && !sure
	if end, _ := p.Times.end(&p.Window); !sure && end.Add(-p.Options.Response.Delay) <= until {
		p.unfinished(&a, &ping, until, possible)
	}
	return a
}

// note says by what latencies are corrected.
func (p *response) note(r *Result) {
	o := &p.Options.Response
	var said []string
	if o.Delay != 0 || o.DelayWithin != 0 {
		said = append(said, fmt.Sprintf("the card's delay of %.3f ± %.3f ms is taken off", ms(o.Delay), ms(o.DelayWithin)))
	}
	if o.ScanOut > 0 {
		said = append(said, fmt.Sprintf("corrected for the row of the answer, by a scan-out of %.3f ms", ms(o.ScanOut)))
	}
	for i := range r.Values {
		if strings.HasPrefix(r.Values[i].Name, "latency_") {
			r.Values[i].Note = strings.Join(said, "; ")
		}
	}
}

// unfinished widens an answer to what may come behind the window, in frames like its last.
func (p *response) unfinished(a *answer, ping *timeline.Event, until timeline.Time, possible bool) {
	a.Unfinished = true
	e := p.Window.End
	if !possible {
		_, last := p.shown(e, p.region.Y)
		a.LowMS = ms(last.Earliest.Sub(ping.At) - ping.Uncertainty)
	}
	_, last := p.shown(e, p.region.Y+p.region.Height-1)
	late := max(0, last.Latest.Sub(p.Times.At(e).Add(-p.Options.Response.Delay)))
	a.HighMS = max(a.LowMS, ms(until.Sub(ping.At)+late+ping.Uncertainty))
}

// onScreen is the interval of a frame without the card's delay.
func (p *response) onScreen(in timeline.Interval) timeline.Interval {
	o := &p.Options.Response
	return timeline.Interval{Earliest: in.Earliest.Add(-o.Delay - o.DelayWithin), Latest: in.Latest.Add(o.DelayWithin - o.Delay)}
}

// shown is when a row of frame n was on the screen. What a scan-out takes cannot be more than the interval in which all of the frame was sampled.
func (p *response) shown(n, row int) (timeline.Time, timeline.Interval) {
	b, at := p.Times.Bounds(n), p.Times.At(n).Add(-p.Options.Response.Delay)
	scan := min(p.Options.Response.ScanOut, b.Width())
	above := scan * time.Duration(row) / time.Duration(p.Layout.Format.Height)
	at = at.Add(above - scan/2)
	in := p.onScreen(timeline.Interval{Earliest: b.Earliest.Add(above), Latest: b.Latest.Add(above - scan)})
	return at, timeline.Interval{Earliest: min(in.Earliest, at), Latest: max(in.Latest, at)}
}

func (p *response) result() Result {
	var answers []answer
	var l latencies
	all := p.happenings()
	series := Series{Name: "latency", Unit: "ms"}
	worst, unsure, never := -1, 0, 0
	unfinished, mostUnfinished, leastUnfinished := 0, 0, 0
	for i := range p.pings {
		a := p.answer(i, all)
		answers = append(answers, a)
		if a.Unsure {
			unsure++
		}
		if a.Unfinished {
			mostUnfinished++
			if !a.Unsure {
				leastUnfinished++
			}
			if a.Frame == None {
				unfinished++
			}
		}
		if a.Unsure || a.Unfinished {
			l.unsure(a.LowMS, a.HighMS)
		}
		if a.Frame == None {
			if !a.Unsure && !a.Unfinished {
				never++
			}
			continue
		}
		l.mid = append(l.mid, a.MS)
		if !a.Unsure {
			l.low, l.high = append(l.low, a.LowMS), append(l.high, a.HighMS)
		}
		if n := len(series.Frames); n == 0 || series.Frames[n-1] < a.Frame {
			series.Frames, series.Values = append(series.Frames, a.Frame), append(series.Values, a.MS)
		}
		if worst < 0 || a.MS > answers[worst].MS {
			worst = i
		}
	}
	asked := len(answers)
	missed := asked - len(l.mid) - unfinished
	count := func(name string, n, low, high int, better Better) Value {
		return between(name, "pings", float64(n), float64(low), float64(high), better, 0)
	}
	r := Result{Series: []Series{series}, Detail: detail(answers), Values: []Value{
		count("pings", asked, asked, asked, Neither),
		count("answered", len(l.mid), len(l.low), asked-never, Neither),
		count("missed", missed, never, asked-len(l.low), Lower),
		count("unfinished", unfinished, leastUnfinished, mostUnfinished, Neither),
	}}
	if all := p.region.Width * p.region.Height; p.held < all && p.Options.Response.Region != (frame.Region{}) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %d pixels of the region in which the answer is expected lie outside of the content, or under a mask, and do not count", all-p.held, all))
	}
	if missed > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %d pings were not answered before the next, or within %v", missed, len(answers), p.limit()))
	}
	if unfinished > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %d pings came less than %v before the end of the window, and were not answered by then: they may have been later", unfinished, len(answers), p.limit()))
	}
	if unsure > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("whether and when %d of %d pings were answered is not sure: frames are lost there", unsure, len(answers)))
	}
	if len(l.mid) == 0 {
		return r
	}
	l.add(&r, asked)
	p.note(&r)
	r.Evidence = append(r.Evidence, Evidence{Kind: "pong", Frame: answers[worst].Frame, Rows: []int{answers[worst].Row}, Text: fmt.Sprintf("the slowest answer, after %.1f ms", answers[worst].MS)})
	return r
}
