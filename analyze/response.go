package analyze

import (
	"fmt"
	"slices"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// # response: responsiveness
//
// A ping is an event at T ± u, u being the uncertainty of whoever sent it. Its pong is the first frame i, sampled after T − u, in which
// the expected thing happened: a change in a region, or a colour that fills it and did not before. What answers a ping comes
// before the next ping and within the time limit; else the ping is missed.
//
// The latency lies in (earliest(i−1) − T − u, latest(i) − T + u], i−1 being the last stored frame before i; its value is the time of
// frame i − T. Both may be negative: T is uncertain, and a frame is on its way before it is stamped. Where it is known, the delay of the card is taken off, and a signal's scan-out adds what passes until the row in which the pong
// begins.
//
//	pings, answered, missed
//	latency_min, latency_p50, latency_p95, latency_max, latency_mean   ms; percentiles by nearest rank
//	latency_p99                                                        ms, from 100 answers on
//
// Bounds of a percentile are those percentiles of the lower and of the upper ends. Series "latency" has each answer at its pong.
func responseMeasure() measure {
	return measure{name: "response", version: 1, pixels: true, begin: beginResponse}
}

// ResponseOptions say what is asked and what counts as an answer. The zero value takes any change after an event "ping" or "input".
type ResponseOptions struct {
	Kinds  []string      // of the events that ask; empty: "ping", "input"
	Region frame.Region  // where the answer is expected; empty: anywhere in R
	Colour *Colour       // that fills the region; nil: any change
	Limit  time.Duration // for an answer; 0: 5 s
	// Delay is what the card adds to a frame's time, ScanOut what a signal takes from its first row to its last. 0 where not known.
	Delay, ScanOut time.Duration
}

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
	region frame.Region
	conv   *frame.Converter
	row    []byte
	begun  bool
	filled bool // the frame before had the colour

	at  []int // frames
	top []int // first row of each, in the picture
}

func beginResponse(c *Case) (part, error) {
	o := &c.Options.Response
	r := &response{Case: c, region: o.Region, conv: frame.NewConverter(c.Layout)}
	if r.region == (frame.Region{}) {
		r.region = c.Area.Region
	} else if !r.region.In(c.Layout.Format.Width, c.Layout.Format.Height) {
		return nil, fmt.Errorf("the region %v in which the answer is expected does not lie in a picture of %dx%d", o.Region, c.Layout.Format.Width, c.Layout.Format.Height)
	}
	kinds := o.Kinds
	if len(kinds) == 0 {
		kinds = []string{"ping", "input"}
	}
	from, to := c.Times.Bounds(c.Window.Start), c.Times.Bounds(c.Window.End)
	for _, e := range c.Recording.Events() {
		if slices.Contains(kinds, e.Kind) && e.At >= from.Earliest.Add(-r.limit()) && e.At <= to.Latest {
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

func (p *response) limit() time.Duration {
	if d := p.Options.Response.Limit; d > 0 {
		return d
	}
	return 5 * time.Second
}

func (p *response) fork() part {
	return &response{Case: p.Case, pings: p.pings, region: p.region, conv: p.conv, row: make([]byte, len(p.row))}
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

// fills reports whether the colour that is looked for fills at least 99 % of the region.
func (p *response) fills(m frame.Image) bool {
	c := p.Options.Response.Colour
	if c == nil {
		return false
	}
	missing, most := 0, p.region.Width*p.region.Height/100
	for y := p.region.Y; y < p.region.Y+p.region.Height; y++ {
		p.conv.RGBARow(p.row, m, y, p.region.X, p.region.X+p.region.Width)
		for i := 0; i < len(p.row); i += 4 {
			if !c.is(p.row[i:], p.Options.Tolerance) {
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
}

func (p *response) answer(i int) answer {
	ping := p.pings[i]
	a := answer{PingNS: int64(ping.At), Frame: None}
	until := ping.At.Add(p.limit())
	if i+1 < len(p.pings) {
		until = min(until, p.pings[i+1].At)
	}
	for k, n := range p.at {
		b := p.Times.Bounds(n)
		if b.Latest <= ping.At.Add(-ping.Uncertainty) {
			continue
		}
		if p.Times.At(n) > until {
			break
		}
		o := &p.Options.Response
		shift := -o.Delay + o.ScanOut*time.Duration(p.top[k])/time.Duration(p.Layout.Format.Height)
		before := b.Earliest
		if n > p.Window.first() {
			before = min(before, p.Times.Bounds(p.Times.Before(n)).Earliest)
		}
		a.Frame, a.Row = n, p.top[k]
		a.MS = ms(p.Times.At(n).Sub(ping.At) + shift)
		a.LowMS = ms(before.Sub(ping.At) - ping.Uncertainty + shift)
		a.HighMS = ms(b.Latest.Sub(ping.At) + ping.Uncertainty + shift)
		break
	}
	return a
}

func (p *response) result() Result {
	var answers []answer
	var mid, low, high []float64
	series := Series{Name: "latency", Unit: "ms"}
	worst := -1
	for i := range p.pings {
		a := p.answer(i)
		answers = append(answers, a)
		if a.Frame == None {
			continue
		}
		mid, low, high = append(mid, a.MS), append(low, a.LowMS), append(high, a.HighMS)
		if n := len(series.Frames); n == 0 || series.Frames[n-1] < a.Frame {
			series.Frames, series.Values = append(series.Frames, a.Frame), append(series.Values, a.MS)
		}
		if worst < 0 || a.MS > answers[worst].MS {
			worst = i
		}
	}
	missed := len(answers) - len(mid)
	r := Result{Series: []Series{series}, Detail: detail(answers), Values: []Value{
		exactly("pings", "pings", float64(len(answers)), Neither, 0),
		exactly("answered", "pings", float64(len(mid)), Neither, 0),
		exactly("missed", "pings", float64(missed), Lower, 0),
	}}
	if missed > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %d pings were not answered before the next, or within %v", missed, len(answers), p.limit()))
	}
	if len(mid) == 0 {
		return r
	}
	r.latencies(mid, low, high)
	r.Evidence = append(r.Evidence, Evidence{Kind: "pong", Frame: answers[worst].Frame, Rows: []int{answers[worst].Row}, Text: fmt.Sprintf("the slowest answer, after %.1f ms", answers[worst].MS)})
	return r
}

// latencies adds the distribution of some latencies and their bounds.
func (r *Result) latencies(mid, low, high []float64) {
	var sums [3]float64
	for i := range mid {
		sums[0], sums[1], sums[2] = sums[0]+mid[i], sums[1]+low[i], sums[2]+high[i]
	}
	n := float64(len(mid))
	mean := between("latency_mean", "ms", sums[0]/n, sums[1]/n, sums[2]/n, Lower, 0.05)
	slices.Sort(mid)
	slices.Sort(low)
	slices.Sort(high)
	add := func(name string, percent int) {
		i := max(0, (percent*len(mid)+99)/100-1)
		r.Values = append(r.Values, between(name, "ms", mid[i], low[i], high[i], Lower, 0.05))
	}
	add("latency_min", 0)
	add("latency_p50", 50)
	add("latency_p95", 95)
	if len(mid) >= 100 {
		add("latency_p99", 99)
	} else {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d answers are too few for a 99th percentile: that needs 100", len(mid)))
	}
	add("latency_max", 100)
	r.Values = append(r.Values, mean)
}
