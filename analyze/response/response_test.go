package response_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
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

// TestPings holds latencies against those that the scene says.
func TestPings(t *testing.T) {
	for seed := range analyzetest.Seeds(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m, truth := filmtest.Scene(t, "pingpong",
				fmt.Sprintf("size=%s&frames=400&seed=%d", []string{"64x64", "80x48", "130x66"}[seed%3], seed), nil)
			cycle := truth.Cycle
			var want []float64
			for from := cycle.From; from < truth.Frames; from += cycle.Frames {
				for _, p := range truth.Pings {
					ping, pong := p.Frame-cycle.From+from, p.Pong-cycle.From+from
					if pong >= truth.Frames {
						continue
					}
					m.Log = append(m.Log,
						timeline.Event{At: m.Metas[ping].Sampled.Mid(), Uncertainty: time.Millisecond, Source: "synth",
							Kind: "ping"})
					want = append(want, measure.MS(m.Metas[pong].Sampled.Mid().Sub(m.Metas[ping].Sampled.Mid())))
				}
			}
			area := truth.PingArea
			o := analyze.Options{Response: response.Options{Region: frame.Region{X: area.X, Y: area.Y,
				Width:  area.Width,
				Height: area.Height}}, MinShare: 50}
			r := filmtest.One(t, m, measure.FramesWindow(m, 0, len(m.Metas)), o, "response")
			filmtest.WantValue(t, r, "answered", float64(len(want)))
			filmtest.WantValue(t, r, "missed", 0)
			if got := r.Series[0].Values; len(want) == 0 || !slices.Equal(got, want) {
				t.Errorf("answers took %v ms, want %v", got, want)
			}
		})
	}
}

// TestPongBounds compares the definition's interval with a case worked by hand. The ping is at 80
// ms ± 2 ms. Frames come every 1/60 s, those from 7 to 9 are lost, and number 10 shows the answer.
func TestPongBounds(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 64, 8)
	m := filmtest.New(t, f)
	pix := make([]byte, m.Layout.Size)
	for range 7 {
		m.Shoot(pix, 0)
	}
	pix[4*(64*4+5)] = 200 // row 4
	m.Shoot(pix, 3)
	m.Shoot(pix, 0)
	m.Log = []timeline.Event{{At: 80e6, Uncertainty: 2e6, Kind: "ping"}}
	r := filmtest.One(t, m, measure.FramesWindow(m, 0, len(m.Metas)), analyze.Options{}, "response")
	v, _ := r.Find("latency_p50")
	at := func(n timeline.Time) float64 { return float64(n*timeline.Time(m.Period)-80e6) / 1e6 }
	if want := at(10); v.Value != want {
		t.Errorf("latency is %v, want %v", v.Value, want)
	}
	if want := at(6) - 2; v.Low != want {
		t.Errorf("it is at least %v, want %v", v.Low, want)
	}
	if want := at(10) + 2; v.High != want {
		t.Errorf("it is at most %v, want %v", v.High, want)
	}
	if rows := r.Evidence[0].Rows; len(rows) != 1 || rows[0] != 4 {
		t.Errorf("the answer begins in rows %v, want 4", rows)
	}
}

// TestNoPing is refused with a sentence, and the other measures still come out.
//
// Fault: A measure lacks its input
func TestNoPing(t *testing.T) {
	m, _ := filmtest.Scene(t, "caret", "size=64x64&frames=10", nil)
	if r := filmtest.One(t, m, measure.FramesWindow(m, 0, 10), analyze.Options{},
		"response"); r.State != measure.Refused ||
		r.Refusal == "" {
		t.Errorf("got %+v", r)
	}
}

// TestPingsOfTheWindow: pings count from when on all frames are known. Frame 103 and 350 change;
// those from 290 to 300 are a green where there is one.
func TestPingsOfTheWindow(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 16, 8)
	m := filmtest.New(t, f)
	pix := make([]byte, m.Layout.Size)
	for n := range 420 {
		if n == 103 || n == 350 {
			filmtest.Fill(pix, byte(n))
		}
		m.Shoot(pix, 0)
	}
	at := func(n float64) timeline.Time { return timeline.Time(n * float64(m.Period)) }
	green := measure.Window{Kind: measure.ByMarkers, Green: 300, Held: 10, Start: 301, End: 400, Red: 401}
	short := green
	short.Held = 0
	frames := measure.FramesWindow(m, 300, 400)
	for _, tc := range []struct {
		name   string
		window measure.Window
		ping   timeline.Event
		want   float64 // frames until the answer; 0: not a ping of the window
	}{
		{"answered before the window", frames, timeline.Event{At: at(100)}, 0},
		{"before the window", frames, timeline.Event{At: at(299)}, 0},
		{"perhaps before the window", frames, timeline.Event{At: at(300.5), Uncertainty: m.Period}, 0},
		{"with its first frame", frames, timeline.Event{At: at(300)}, 50},
		{"in the window", frames, timeline.Event{At: at(310), Uncertainty: m.Period}, 40},
		{"behind the window", frames, timeline.Event{At: at(400)}, 0},
		{"in the held green", green, timeline.Event{At: at(293)}, 57},
		{"before the held green", green, timeline.Event{At: at(289)}, 0},
		{"in a green of which only g is known", short, timeline.Event{At: at(293)}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.ping.Kind = "ping"
			m.Log = []timeline.Event{tc.ping}
			r := filmtest.One(t, m, tc.window, analyze.Options{}, "response")
			if tc.want == 0 {
				if r.State != measure.Refused {
					t.Errorf("it is answered: %+v", r.Values)
				}
				return
			}
			filmtest.WantValue(t, r, "answered", 1)
			if v, _ := r.Find("latency_p50"); math.Abs(v.Value-tc.want*measure.MS(m.Period)) > 1e-3 {
				t.Errorf("it took %v, want %v", v.Value, tc.want*measure.MS(m.Period))
			}
		})
	}
	lossy := filmtest.New(t, f)
	for n, pix := range m.Pix[:360] {
		switch n {
		case 295:
		case 296:
			lossy.Shoot(pix, 1)
		default:
			lossy.Shoot(pix, 0)
		}
	}
	lossy.Log = []timeline.Event{{At: at(293), Kind: "ping"}, {At: at(297), Kind: "ping"}}
	r := filmtest.One(t, lossy, measure.Window{Kind: measure.ByMarkers, Green: 299, Held: 10, Start: 300, End: 357,
		Red: 358},
		analyze.Options{},
		"response")
	filmtest.WantValue(t, r, "pings", 1) // lost frames may have answered the first
}

// TestAnswerThatCannotBeSeen: without counted pixels an answer cannot be seen, and the ping is not
// missed. The picture's left half turns grey with frame 6.
func TestAnswerThatCannotBeSeen(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 64, 32)
	m := filmtest.New(t, f)
	pix := make([]byte, m.Layout.Size)
	for n := range 12 {
		for k := range pix {
			if n >= 6 && k%(4*64) < 4*32 {
				pix[k] = 200
			}
		}
		m.Shoot(pix, 0)
	}
	m.Log = []timeline.Event{{At: timeline.Time(2 * m.Period), Kind: "ping"}}
	left := frame.Region{Width: 32, Height: 32}
	for _, tc := range []struct {
		name     string
		o        analyze.Options
		answered float64
		refused  bool
		warned   string
	}{
		{"seen", analyze.Options{Response: response.Options{Region: left}}, 1, false, ""},
		{"outside of R", analyze.Options{Region: frame.Region{X: 32, Width: 32, Height: 32},
			Response: response.Options{Region: left}}, 0, true, "outside of the content"},
		{"under a mask", analyze.Options{Masks: []frame.Region{left},
			Response: response.Options{Region: frame.Region{X: 4, Y: 4, Width: 9, Height: 9}}}, 0, true,
			"under a mask"},
		{"in part under a mask", analyze.Options{Masks: []frame.Region{{Width: 30, Height: 32}},
			Response: response.Options{Region: left}}, 1, false, "960 of 1024 pixels"},
		{"a colour, in part outside of R", analyze.Options{Region: frame.Region{X: 16, Width: 16, Height: 32},
			Response: response.Options{Region: frame.Region{Width: 32, Height: 32}, Colour: &response.Colour{200, 200,
				200}}}, 1,
			false, "512 of 1024 pixels"},
		{"a colour beside what is masked", analyze.Options{Masks: []frame.Region{{X: 32, Width: 32, Height: 32}},
			Response: response.Options{Region: frame.Region{Width: 64, Height: 32}, Colour: &response.Colour{200, 200,
				200}}}, 1,
			false, "1024 of 2048 pixels"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := filmtest.One(t, m, measure.FramesWindow(m, 0, 12), tc.o, "response")
			if all := strings.Join(append(r.Warnings, r.Refusal), " "); (r.State == measure.Refused) != tc.refused ||
				!strings.Contains(all, tc.warned) {
				t.Fatalf("it is %s: %s", r.State, all)
			}
			if !tc.refused {
				filmtest.WantValue(t, r, "answered", tc.answered)
			}
		})
	}
}

// TestPongBeforePing: where the ping's time is wide, an answer may be sampled before it. Its
// latency and their bounds are 0 at least. An answer that a card's delay moves before the ping does
// not count.
func TestPongBeforePing(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 64, 8)
	m := filmtest.New(t, f)
	pix := make([]byte, m.Layout.Size)
	for i := range 12 {
		pix[0] = byte(i / 6)
		m.Shoot(pix, 0)
	}
	o := analyze.Options{Response: response.Options{Delay: 30 * time.Millisecond, DelayWithin: 2 * time.Millisecond}}
	m.Log = []timeline.Event{{At: timeline.Time(6 * m.Period), Uncertainty: 29 * time.Millisecond, Kind: "ping"}}
	r := filmtest.One(t, m, measure.FramesWindow(m, 0, 12), o, "response")
	v, _ := r.Find("latency_p50")
	if v.Value != 0 || v.Low != 0 || v.High != 1 {
		t.Errorf("latency is %v, between %v and %v", v.Value, v.Low, v.High)
	}
	m.Log[0].Uncertainty = 27 * time.Millisecond
	filmtest.WantValue(t, filmtest.One(t, m, measure.FramesWindow(m, 0, 12), o, "response"), "answered", 0)
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
		m := filmtest.New(t, f)
		pix := make([]byte, m.Layout.Size)
		for i := range 12 {
			pix[tc.row*64*4] = byte(i / 6)
			m.Shoot(pix, 0)
			s := &m.Metas[i].Sampled
			s.Earliest, s.Latest = s.Earliest.Add(-m.Period/2), s.Latest.Add(m.Period/2)
		}
		m.Log = []timeline.Event{{At: timeline.Time(6*m.Period - 30*time.Millisecond), Kind: "ping"}}
		o := analyze.Options{Response: response.Options{ScanOut: 16 * time.Millisecond}}
		r := filmtest.One(t, m, measure.FramesWindow(m, 0, 12), o, "response")
		v, _ := r.Find("latency_p50")
		if math.Abs(v.Value-tc.value) > 1e-5 || math.Abs(v.Low-tc.low) > 1e-5 || math.Abs(v.High-tc.high) > 1e-5 {
			t.Errorf("from row %d on it is %v, between %v and %v, want %v, between %v and %v", tc.row, v.Value, v.Low,
				v.High, tc.value, tc.low, tc.high)
		}
	}
}
