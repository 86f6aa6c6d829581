package response_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/response"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// asked is a random film of which something is asked.
type asked struct {
	*filmtest.Film
	window measure.Window
	o      analyze.Options
	region frame.Region
}

// newAsked draws boxes on small frames whose stamps are a little wide, and has pings come at any
// time.
func newAsked(t *testing.T, seed uint64) *asked {
	rng := rand.New(rand.NewPCG(seed, 44))
	const width, height = 40, 16
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, width, height))(t)
	a := &asked{Film: filmtest.New(t, f), region: frame.Region{Width: width, Height: height}}
	pix, lively := make([]byte, a.Layout.Size), rng.Float64()/2
	for n := range 60 {
		if rng.Float64() < lively {
			x, y := rng.IntN(width), rng.IntN(height)
			w, h, v := 1+rng.IntN(width-x), 1+rng.IntN(height-y), byte(100*rng.IntN(3))
			if rng.IntN(3) == 0 {
				x, y, w, h = 0, 0, width, height
			}
			for row := y; row < y+h; row++ {
				filmtest.Fill(pix[4*(row*width+x):4*(row*width+x+w)], v)
			}
		}
		a.Shoot(pix, 0)
		wide := timeline.Time(rng.IntN(4e6))
		m := &a.Metas[n].Sampled
		m.Earliest, m.Latest = m.Earliest-wide, m.Latest+wide
	}
	for range rng.IntN(12) {
		a.Log = append(a.Log, timeline.Event{At: timeline.Time(rng.Int64N(60 * int64(a.Period))),
			Uncertainty: time.Duration(rng.IntN(5e6)), Kind: []string{"ping", "input", "other"}[rng.IntN(3)]})
	}
	from := rng.IntN(20)
	a.window = measure.FramesWindow(a, from, from+2+rng.IntN(59-from))
	a.o.MinShare = 1 + rng.IntN(20)
	r := &a.o.Response
	r.Limit = time.Duration(1+rng.IntN(20)) * a.Period / 2
	if rng.IntN(2) == 0 {
		r.Delay, r.DelayWithin, r.ScanOut = time.Duration(rng.IntN(3e7)), time.Duration(rng.IntN(5e6)),
			2*time.Duration(rng.IntN(4e6))
	}
	if rng.IntN(2) == 0 {
		a.region = frame.Region{X: rng.IntN(20), Y: rng.IntN(8), Width: 1 + rng.IntN(20), Height: 1 + rng.IntN(8)}
		r.Region = a.region
	}
	if rng.IntN(3) == 0 {
		r.Colour = &response.Colour{200, 200, 200}
	}
	return a
}

// row is a line of the region in a frame.
func (a *asked) row(n, y int) []byte {
	return a.Pix[n][4*(y*40+a.region.X) : 4*(y*40+a.region.X+a.region.Width)]
}

// happens reports whether the expected change happens in a frame, and its first line.
func (a *asked) happens(n int) (row int, ok bool) {
	filled := func(n int) bool {
		other := 0
		for y := a.region.Y; y < a.region.Y+a.region.Height; y++ {
			for _, v := range a.row(n, y) {
				if v != 200 {
					other++
				}
			}
		}
		return other/4 <= a.region.Width*a.region.Height/100
	}
	if a.o.Response.Colour != nil && (filled(n-1) || !filled(n)) {
		return 0, false
	}
	for y := a.region.Y; y < a.region.Y+a.region.Height; y++ {
		if !bytes.Equal(a.row(n-1, y), a.row(n, y)) {
			return y, true
		}
	}
	return 0, false
}

// row16 is when row of 16 of frame n was on the screen.
func (a *asked) row16(n, row int) timeline.Interval {
	o, in := &a.o.Response, a.Metas[n].Sampled
	scan := min(o.ScanOut, in.Latest.Sub(in.Earliest))
	return timeline.Interval{
		Earliest: in.Earliest.Add(-o.Delay - o.DelayWithin + scan*time.Duration(row)/16),
		Latest:   in.Latest.Add(-o.Delay + o.DelayWithin - (scan - scan*time.Duration(row)/16)),
	}
}

// literal answers each ping by the definition's words.
func (a *asked) literal() (all []response.Answer) {
	var pings []timeline.Event
	for _, e := range a.Log {
		if e.Kind != "other" {
			pings = append(pings, e)
		}
	}
	slices.SortStableFunc(pings, func(a, b timeline.Event) int { return int(a.At - b.At) })
	o := &a.o.Response
	later := o.DelayWithin - o.Delay
	for i, p := range pings {
		if p.At.Add(-p.Uncertainty) < a.Metas[a.window.Start].Sampled.Latest.Add(later) ||
			p.At > a.Metas[a.window.End].Sampled.Latest.Add(later) {
			continue
		}
		until := p.At.Add(o.Limit)
		if i+1 < len(pings) {
			until = min(until, pings[i+1].At)
		}
		got := response.Answer{PingNS: int64(p.At), Frame: measure.None}
		for n := a.window.Start + 1; n <= a.window.End; n++ {
			in := a.Metas[n].Sampled
			row, happens := a.happens(n)
			if !happens || in.Latest.Add(later) <= p.At.Add(-p.Uncertainty) || in.Mid().Add(-o.Delay) > until {
				continue
			}
			shown, before := a.row16(n, row), a.row16(n-1, row)
			got.Frame, got.Row, got.MS = n, row, measure.MS(shown.Mid().Sub(p.At))
			got.LowMS = measure.MS(before.Earliest.Sub(p.At) - p.Uncertainty)
			got.HighMS = measure.MS(shown.Latest.Sub(p.At) + p.Uncertainty)
			break
		}
		e := a.Metas[a.window.End].Sampled.Mid().Add(-o.Delay)
		if got.Frame == measure.None && e.Add(a.Period) <= until {
			first, last := a.row16(a.window.End, a.region.Y), a.row16(a.window.End, a.region.Y+a.region.Height-1)
			got.Unfinished = true
			got.LowMS = measure.MS(first.Earliest.Sub(p.At) - p.Uncertainty)
			got.HighMS = max(got.LowMS, measure.MS(until.Sub(p.At)+max(0, last.Latest.Sub(e))+p.Uncertainty))
		}
		// Fault: an input whose time is uncertain was answered up to 4 ms before it was sent.
		got.MS, got.LowMS, got.HighMS = max(0, got.MS), max(0, got.LowMS), max(0, got.HighMS)
		all = append(all, got)
	}
	return all
}

// TestResponseLiteral compares each ping's answer, and all figures, with the definition on random
// films.
func TestResponseLiteral(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range analyzetest.Seeds(uint64(600)) {
		a := newAsked(t, seed)
		want := a.literal()
		r := filmtest.One(t, a, a.window, a.o, "response")
		if len(want) == 0 {
			if outcomes["refused"]++; r.State != measure.Refused {
				t.Errorf("seed %d: %+v, want none", seed, r.Values)
			}
			continue
		}
		var got []response.Answer
		if err := json.Unmarshal(r.Detail, &got); err != nil {
			t.Fatalf("seed %d: %v: %s", seed, err, r.Refusal)
		}
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: answers are %+v\nwant %+v", seed, got, want)
		}
		var all []float64
		unfinished := 0
		for _, w := range want {
			switch {
			case w.Frame != measure.None:
				all = append(all, w.MS)
				outcomes["answered"]++
			case w.Unfinished:
				unfinished++
				outcomes["unfinished"]++
			default:
				outcomes["missed"]++
			}
		}
		filmtest.WantValue(t, r, "pings", float64(len(want)))
		filmtest.WantValue(t, r, "answered", float64(len(all)))
		filmtest.WantValue(t, r, "unfinished", float64(unfinished))
		filmtest.WantValue(t, r, "missed", float64(len(want)-len(all)-unfinished))
		slices.Sort(all)
		for name, p := range map[string]float64{"latency_min": 0, "latency_p50": 0.5, "latency_p95": 0.95,
			"latency_max": 1} {
			if len(all) > 0 {
				filmtest.WantValue(t, r, name, all[max(0, int(math.Ceil(p*float64(len(all))))-1)])
			}
		}
	}
	for _, kind := range []string{"refused", "answered", "unfinished", "missed"} {
		if outcomes[kind] < 10 {
			t.Error(fmt.Sprint("too few are ", kind, ": ", outcomes))
		}
	}
}

// TestPingAtTheEnd: the time for an answer is not over when the window ends.
func TestPingAtTheEnd(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 16, 8)
	m := filmtest.New(t, f)
	pix := make([]byte, m.Layout.Size)
	for n := range 120 {
		if n == 110 {
			filmtest.Fill(pix, 9)
		}
		m.Shoot(pix, 0)
	}
	at := func(n int) timeline.Time { return timeline.Time(n) * timeline.Time(m.Period) }
	for _, tc := range []struct {
		name                       string
		next                       int // another ping comes then
		limit                      int // frames
		answered, missed, finished measure.Value
	}{
		{"before the limit", 0, 300, measure.Value{High: 1}, measure.Value{High: 1}, measure.Value{Value: 1, Low: 1,
			High: 1}},
		{"with the limit", 0, 3, measure.Value{High: 1}, measure.Value{High: 1}, measure.Value{Value: 1, Low: 1,
			High: 1}},
		{"behind the limit", 0, 2, measure.Value{}, measure.Value{Value: 1, Low: 1, High: 1}, measure.Value{}},
		{"before the next ping", 105, 300, measure.Value{High: 1}, measure.Value{High: 1}, measure.Value{Value: 1,
			Low: 1, High: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m.Log = []timeline.Event{{At: at(97), Kind: "ping"}}
			if tc.next > 0 {
				m.Log = append(m.Log, timeline.Event{At: at(tc.next), Kind: "ping"})
			}
			o := analyze.Options{Response: response.Options{Limit: time.Duration(tc.limit) * m.Period}}
			r := filmtest.One(t, m, measure.FramesWindow(m, 0, 100), o, "response")
			for name, want := range map[string]measure.Value{"answered": tc.answered, "missed": tc.missed,
				"unfinished": tc.finished} {
				if v, _ := r.Find(name); v.Value != want.Value || v.Low != want.Low || v.High != want.High {
					t.Errorf("%s is %v, %v to %v, want %v, %v to %v", name, v.Value, v.Low, v.High, want.Value,
						want.Low, want.High)
				}
			}
		})
	}
}
