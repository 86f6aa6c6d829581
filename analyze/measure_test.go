package analyze

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// TestCompleteHolds: whatever a measure says, its values end up finite and within their bounds.
func TestCompleteHolds(t *testing.T) {
	for _, tc := range []struct {
		name             string
		value, low, high float64
		wantLow          float64
		wantHigh         float64
		state            State // none: left out
	}{
		{"exact", 3, 3, 3, 3, 3, Exact},
		{"within", 3, 2, 4, 2, 4, Bounded},
		{"below", -1, 0, 4, -1, 4, Bounded},
		{"above", 5, 0, 4, 0, 5, Bounded},
		{"bounds meet beside it", 5, 4, 4, 4, 5, Bounded},
		{"bounds the wrong way round", 5, 6, 4, 5, 5, Bounded},
		{"not a number", math.NaN(), 0, 1, 0, 0, ""},
		{"without end", 1, 0, math.Inf(1), 0, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Result{Values: []Value{between("x", "ms", tc.value, tc.low, tc.high, Lower, 0)}}.complete()
			if tc.state == "" {
				if len(r.Values) != 0 || len(r.Warnings) != 1 {
					t.Errorf("got %+v", r)
				}
				return
			}
			if v := r.Values[0]; v.Low != tc.wantLow || v.High != tc.wantHigh || v.Value != tc.value ||
				v.State != tc.state {
				t.Errorf("got %+v", v)
			}
		})
	}
}

// wild gives a film's frames stamps that are wide, jitter or repeat, and go back or leap.
func (m *film) wild(rng *rand.Rand) {
	leap := []time.Duration{0, 1, time.Millisecond, m.period, time.Second, 1e15, -time.Second, -m.period, 1 << 61}
	leap = leap[:3+rng.IntN(len(leap)-2)]
	wide := []time.Duration{1, time.Millisecond, 20 * time.Millisecond, time.Hour}[rng.IntN(4)]
	at := timeline.Time(0)
	for i := range m.metas {
		at = at.Add(leap[rng.IntN(len(leap))])
		m.metas[i].Sampled = timeline.Interval{Earliest: at, Latest: at.Add(time.Duration(rng.Int64N(int64(wide))))}
	}
}

// TestNoResultBreaksAReport takes every measure over films with stamps as no clock would make them.
// Each result must be one that can be written.
func TestNoResultBreaksAReport(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 31))
		m := scribble(t, rng, []frame.PixelFormat{frame.BGR4, frame.NV12, frame.RGB3}[seed%3])
		m.period = []time.Duration{1, time.Millisecond, time.Second / 60, time.Hour}[rng.IntN(4)]
		m.wild(rng)
		from := rng.IntN(10)
		w := FramesWindow(m, from, from+2+rng.IntN(12))
		if rng.IntN(2) == 0 {
			w = Window{Kind: ByMarkers, Green: from, Start: from + 1, End: w.End, Red: w.End + 1}
		}
		at := m.metas[from+rng.IntN(3)].Sampled.Earliest
		if rng.IntN(3) > 0 {
			w.T0 = &Moment{At: at, Uncertainty: time.Duration(rng.IntN(1e9))}
		}
		m.events = []timeline.Event{{At: at, Kind: "ping", Uncertainty: time.Duration(rng.IntN(1e8))},
			{At: at.Add(m.period), Kind: "ping"}}
		o := Options{Measures: Names(), OwnClock: rng.IntN(2) == 0, FPS: FPSOptions{Cadence: 60},
			Checkerboard: CheckerboardOptions{Colours: []uint32{0x404040}}}
		o.Response.Delay, o.Response.ScanOut = time.Duration(rng.IntN(1e8)), time.Duration(rng.IntN(1e8))
		found, err := Analyze(t.Context(), m, w, o)
		if err != nil {
			t.Fatal(seed, err)
		}
		wantDeclared(t, found.Results...)
		for _, r := range found.Results {
			for _, v := range r.Values {
				if !(v.Low <= v.Value && v.Value <= v.High) || v.State == Exact && v.Low < v.High {
					t.Errorf("seed %d: %s.%s is %v, between %v and %v, %s", seed, r.Measure, v.Name, v.Value, v.Low,
						v.High, v.State)
				}
			}
		}
		if _, err := json.Marshal(found.Results); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// TestPongBeforePing: where the ping's time is wide, an answer may be sampled before it. Its
// latency and their bounds are 0 at least. An answer that a card's delay moves before the ping does
// not count.
func TestPongBeforePing(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 64, 8)
	m := newFilm(t, f)
	pix := make([]byte, m.layout.Size)
	for i := range 12 {
		pix[0] = byte(i / 6)
		m.shoot(pix, 0)
	}
	o := Options{Response: ResponseOptions{Delay: 30 * time.Millisecond, DelayWithin: 2 * time.Millisecond}}
	m.events = []timeline.Event{{At: timeline.Time(6 * m.period), Uncertainty: 29 * time.Millisecond, Kind: "ping"}}
	r := one(t, m, FramesWindow(m, 0, 12), o, "response")
	v, _ := r.Find("latency_p50")
	if v.Value != 0 || v.Low != 0 || v.High != 1 {
		t.Errorf("latency is %v, between %v and %v", v.Value, v.Low, v.High)
	}
	m.events[0].Uncertainty = 27 * time.Millisecond
	wantValue(t, one(t, m, FramesWindow(m, 0, 12), o, "response"), "answered", 0)
}

// TestPongRow compares the correction for the pong's row with a case worked by hand. A signal of 60
// frames a second takes 16 ms from its first row to its last. Its stamp covers the whole period:
// frame 6 is from 91.667 ms to 108.333 ms. A change that begins in the middle row is in it from
// 99.667 to 100.333 ms.
func TestPongRow(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 64, 8)
	for _, tc := range []struct {
		row              int
		value, low, high float64
	}{
		{0, 22, 5, 22.333333},
		{4, 30, 13, 30.333333},
		{6, 34, 17, 34.333333},
	} {
		m := newFilm(t, f)
		pix := make([]byte, m.layout.Size)
		for i := range 12 {
			pix[tc.row*64*4] = byte(i / 6)
			m.shoot(pix, 0)
			s := &m.metas[i].Sampled
			s.Earliest, s.Latest = s.Earliest.Add(-m.period/2), s.Latest.Add(m.period/2)
		}
		m.events = []timeline.Event{{At: timeline.Time(6*m.period - 30*time.Millisecond), Kind: "ping"}}
		o := Options{Response: ResponseOptions{ScanOut: 16 * time.Millisecond}}
		r := one(t, m, FramesWindow(m, 0, 12), o, "response")
		v, _ := r.Find("latency_p50")
		if math.Abs(v.Value-tc.value) > 1e-5 || math.Abs(v.Low-tc.low) > 1e-5 || math.Abs(v.High-tc.high) > 1e-5 {
			t.Errorf("from row %d on it is %v, between %v and %v, want %v, between %v and %v", tc.row, v.Value, v.Low,
				v.High, tc.value, tc.low, tc.high)
		}
	}
}
