// Package response measures the time from an input to its first visible answer. Its bounds cover
// the uncertainty of the input, the sampling of frames and the delay of the card. An answer that
// may belong to another input widens the bounds and is not left out.
package response

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// # response: responsiveness
//
// A ping is an event at T ± u, where u is the sender's uncertainty. A ping counts only if no frame
// from T − u on is before the window. Frames of the held green are permitted. The answer to an
// earlier ping may be before the window.
//
// Its pong is the first frame i, sampled after T − u, in which the expected change happened. This
// is a change in a region, or a colour that newly fills 99 % of it. Only pixels that count are
// compared. The answer comes before the next ping and within the time limit. Otherwise the ping is
// missed. If the window ends before the limit without an answer, the ping is unfinished: it may
// still be answered or missed.
//
// The latency is in (earliest(i−1) − T − u, latest(i) − T + u]. Here i−1 is the last stored frame
// before i. Its value is the time of frame i − T. It may be negative, since T is uncertain. A known
// delay of the card is subtracted from all times of frames first: the times are then those at which
// the frames were on the screen. If the signal's scan-out is known, the row in which the pong
// begins narrows its interval: the row was scanned out that part of the scan-out later. The middle
// moves accordingly.
//
//	pings, answered, missed, unfinished
//	latency_min, latency_p50, latency_p95, latency_max, latency_mean   ms; nearest rank;
//	latency_p99                                                        ms, from 100 pings on.
//
// Bounds of a percentile are those percentiles of the lower and of the upper ends. With lost
// frames, one ping's answer may be another's, or may not have been seen. Then answered and missed
// have bounds too. The bounds of a percentile are the minimum and maximum of all possible cases.
// The same holds for unfinished pings. Series "latency" has each answer at its pong.
func Measure(o Options) measure.Measure {
	begin := func(c *measure.Case) (measure.Part, error) { return newPart(c, &o) }
	return measure.Measure{Name: "response", Version: 1, Pixels: true, Begin: begin, Values: []string{
		"latency_p50", "latency_mean", "latency_min", "latency_p95", "latency_p99", "latency_max", "pings", "answered",
		"missed", "unfinished",
	}}
}

// Options describe the pings and their answers. The zero value accepts any change after an
// event "ping" or "input".
type Options struct {
	Kinds  []string      // of the events that ask; empty: "ping", "input"
	Region frame.Region  // where the answer is expected; empty: anywhere in R
	Colour *Colour       // that fills the region; nil: any change
	Limit  time.Duration // for an answer; 0: 5 s
	// Delay is what the card adds to a frame's time, known to ± DelayWithin; ScanOut what a signal
	// takes from its first row to its last. 0 where not known.
	Delay, DelayWithin, ScanOut time.Duration
}

// maxDelay bounds the times given for a card.
const maxDelay = 10 * time.Second

// Colour is one in RGB.
type Colour struct{ R, G, B byte }

// near is by how much a sample of a colour that is looked for may be off: YUV and limited range
// take that much.
const near = 12

func (c Colour) is(p []byte, tau int) bool {
	off := max(tau, near)
	return measure.AbsDiff(p[0], c.R) <= off && measure.AbsDiff(p[1], c.G) <= off && measure.AbsDiff(p[2], c.B) <= off
}

// part collects the frames with the expected change. The pings that they answer are found when
// all frames are known.
type part struct {
	*measure.Case
	options *Options
	pings   []timeline.EventHead
	next    timeline.Time // of the first ping behind the window
	region  frame.Region
	held    int // pixels of it that count
	conv    *frame.Converter
	row     []byte
	begun   bool
	filled  bool // the frame before had the colour

	at  []int // frames
	top []int // first row of each, in the picture
}

func newPart(c *measure.Case, o *Options) (measure.Part, error) {
	if o.Delay < 0 || o.DelayWithin < 0 || o.ScanOut < 0 || o.Delay > maxDelay || o.DelayWithin > maxDelay ||
		o.ScanOut > maxDelay {
		return nil, fmt.Errorf("bad delay of %v ± %v or scan-out of %v: name the card's, each from 0 to %v", o.Delay,
			o.DelayWithin, o.ScanOut, maxDelay)
	}
	r := &part{Case: c, options: o, region: o.Region, conv: frame.NewConverter(c.Layout)}
	if r.region == (frame.Region{}) {
		r.region = c.Area.Region
	} else if !r.region.In(c.Layout.Format.Width, c.Layout.Format.Height) {
		return nil, fmt.Errorf("the answer's region %v is outside a picture of %dx%d",
			o.Region, c.Layout.Format.Width, c.Layout.Format.Height)
	}
	if r.held = c.Area.Count(r.region); r.held == 0 {
		return nil, fmt.Errorf("no pixel of the region %v in which the answer is expected counts: it lies outside of "+
			"the content, %v, or under a mask; name another, or look at all of the picture",
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
		return nil, fmt.Errorf("no event of kind %v is in the window; let the input send events, or name another kind",
			kinds)
	}
	slices.SortStableFunc(r.pings, func(a, b timeline.EventHead) int { return int(min(max(a.At-b.At, -1), 1)) })
	r.row = make([]byte, 4*r.region.Width)
	return r, nil
}

// known is from when on it is known of every frame whether it answers. The held green does not
// change, as long as none of it is lost.
func (p *part) known() timeline.Time {
	w := &p.Window
	at := p.onScreen(p.Times.Bounds(w.First())).Latest
	next := p.Times.Meta(w.First()).Sequence
	for n := w.Green - 1; w.Green != measure.None && n >= max(0, w.Green-w.Held); n-- {
		m, err := p.Recording.Meta(n)
		if err != nil || m.Sequence+1 != next {
			break
		}
		at, next = p.onScreen(m.Sampled).Latest, m.Sequence
	}
	return at
}

func (p *part) limit() time.Duration {
	if d := p.options.Limit; d > 0 {
		return d
	}
	return 5 * time.Second
}

func (p *part) Fork() measure.Part {
	return &part{Case: p.Case, options: p.options, pings: p.pings, region: p.region, held: p.held, conv: p.conv,
		row: make([]byte, len(p.row))}
}

func (p *part) Add(f *measure.Frame) {
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
	if p.options.Colour != nil {
		was := p.filled
		if p.filled = p.fills(f.Image); was || !p.filled {
			return
		}
	}
	p.at, p.top = append(p.at, f.Number), append(p.top, top)
}

// firstRow returns the first row of the region in which anything differs, or -1.
func (p *part) firstRow(d *measure.Diff) int {
	r := p.region
	for i := range d.Lines {
		l := &d.Lines[i]
		if l.Y < r.Y || l.Y >= r.Y+r.Height {
			continue
		}
		found := false
		from, to := max(r.X, 64*l.Word), min(r.X+r.Width, 64*(l.Word+len(l.Bits)))
		measure.EachWord(from, max(from, to), func(w int, mask uint64) { found = found || l.Bits[w-l.Word]&mask != 0 })
		if found {
			return l.Y
		}
	}
	return -1
}

// fills reports whether the colour that is looked for fills at least 99 % of what counts of the
// region.
func (p *part) fills(m frame.Image) bool {
	c := p.options.Colour
	if c == nil {
		return false
	}
	missing, most := 0, p.held/100
	for y := p.region.Y; y < p.region.Y+p.region.Height; y++ {
		p.conv.RGBARow(p.row, m, y, p.region.X, p.region.X+p.region.Width)
		for i := 0; i < len(p.row); i += 4 {
			if !c.is(p.row[i:], p.Tolerance) && p.Area.Holds(p.region.X+i/4, y) {
				missing++
			}
		}
		if missing > most {
			return false
		}
	}
	return true
}

func (p *part) Merge(next measure.Part) {
	n := next.(*part)
	p.at, p.top = append(p.at, n.at...), append(p.top, n.top...)
}

func (p *part) Result() measure.Result {
	var answers []Answer
	var l latencies
	all := p.happenings()
	series := measure.Series{Name: "latency", Unit: "ms"}
	worst, unsure, never := -1, 0, 0
	unfinished, maxUnfinished, minUnfinished := 0, 0, 0
	for i := range p.pings {
		a := p.answer(i, all)
		answers = append(answers, a)
		if a.Unsure {
			unsure++
		}
		if a.Unfinished {
			maxUnfinished++
			if !a.Unsure {
				minUnfinished++
			}
			if a.Frame == measure.None {
				unfinished++
			}
		}
		if a.Unsure || a.Unfinished {
			l.unsure(a.LowMS, a.HighMS)
		}
		if a.Frame == measure.None {
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
	count := func(name string, n, low, high int, better measure.Better) measure.Value {
		return measure.Between(name, "pings", float64(n), float64(low), float64(high), better, 0)
	}
	r := measure.Result{Series: []measure.Series{series}, Detail: measure.Detail(answers), Values: []measure.Value{
		count("pings", asked, asked, asked, measure.Neither),
		count("answered", len(l.mid), len(l.low), asked-never, measure.Neither),
		count("missed", missed, never, asked-len(l.low), measure.Lower),
		count("unfinished", unfinished, minUnfinished, maxUnfinished, measure.Neither),
	}}
	r.Warnings = p.warnings(asked, missed, unfinished, unsure)
	if len(l.mid) == 0 {
		return r
	}
	l.add(&r, asked)
	p.note(&r, unsure)
	r.Evidence = append(r.Evidence, measure.Evidence{Kind: "pong", Frame: answers[worst].Frame,
		Rows: []int{answers[worst].Row},
		Text: fmt.Sprintf("the slowest answer, after %.1f ms", answers[worst].MS)})
	return r
}

// warnings returns sentences about a number of pings, of which some were missed, unfinished or
// unsure.
func (p *part) warnings(asked, missed, unfinished, unsure int) (said []string) {
	if all := p.region.Width * p.region.Height; p.held < all && p.options.Region != (frame.Region{}) {
		said = append(said, fmt.Sprintf(
			"%d of %d pixels of the region in which the answer is expected lie outside of the content, or under a "+
				"mask, and do not count", all-p.held, all))
	}
	if missed > 0 {
		said = append(said, fmt.Sprintf("%d of %d pings were not answered before the next, or within %v", missed, asked,
			p.limit()))
	}
	if unfinished > 0 {
		said = append(said, fmt.Sprintf(
			"%d of %d pings came less than %v before the end of the window, and were not answered by then: they may "+
				"have been later", unfinished, asked, p.limit()))
	}
	if unsure > 0 {
		said = append(said, fmt.Sprintf(
			"whether and when %d of %d pings were answered is not sure: frames are lost there", unsure, asked))
	}
	return said
}
