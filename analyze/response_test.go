package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// TestPings holds latencies against those that the scene says.
func TestPings(t *testing.T) {
	for seed := range analyzetest.Seeds(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m, truth := filmScene(t, "pingpong",
				fmt.Sprintf("size=%s&frames=400&seed=%d", []string{"64x64", "80x48", "130x66"}[seed%3], seed), nil)
			cycle := truth.Cycle
			var want []float64
			for from := cycle.From; from < truth.Frames; from += cycle.Frames {
				for _, p := range truth.Pings {
					ping, pong := p.Frame-cycle.From+from, p.Pong-cycle.From+from
					if pong >= truth.Frames {
						continue
					}
					m.events = append(m.events,
						timeline.Event{At: m.metas[ping].Sampled.Mid(), Uncertainty: time.Millisecond, Source: "synth",
							Kind: "ping"})
					want = append(want, ms(m.metas[pong].Sampled.Mid().Sub(m.metas[ping].Sampled.Mid())))
				}
			}
			area := truth.PingArea
			o := Options{Response: ResponseOptions{Region: frame.Region{X: area.X, Y: area.Y, Width: area.Width,
				Height: area.Height}}, share: 50}
			r := one(t, m, FramesWindow(m, 0, len(m.metas)), o, "response")
			wantValue(t, r, "answered", float64(len(want)))
			wantValue(t, r, "missed", 0)
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
	m := newFilm(t, f)
	pix := make([]byte, m.layout.Size)
	for range 7 {
		m.shoot(pix, 0)
	}
	pix[4*(64*4+5)] = 200 // row 4
	m.shoot(pix, 3)
	m.shoot(pix, 0)
	m.events = []timeline.Event{{At: 80e6, Uncertainty: 2e6, Kind: "ping"}}
	r := one(t, m, FramesWindow(m, 0, len(m.metas)), Options{}, "response")
	v, _ := r.Find("latency_p50")
	at := func(n timeline.Time) float64 { return float64(n*timeline.Time(m.period)-80e6) / 1e6 }
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
	m, _ := filmScene(t, "caret", "size=64x64&frames=10", nil)
	if r := one(t, m, FramesWindow(m, 0, 10), Options{}, "response"); r.State != Refused || r.Refusal == "" {
		t.Errorf("got %+v", r)
	}
}

// TestPingsOfTheWindow: pings count from when on all frames are known. Frame 103 and 350 change;
// those from 290 to 300 are a green where there is one.
func TestPingsOfTheWindow(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 16, 8)
	m := newFilm(t, f)
	pix := make([]byte, m.layout.Size)
	for n := range 420 {
		if n == 103 || n == 350 {
			fill(pix, byte(n))
		}
		m.shoot(pix, 0)
	}
	at := func(n float64) timeline.Time { return timeline.Time(n * float64(m.period)) }
	green := Window{Kind: ByMarkers, Green: 300, Held: 10, Start: 301, End: 400, Red: 401}
	short := green
	short.Held = 0
	frames := FramesWindow(m, 300, 400)
	for _, tc := range []struct {
		name   string
		window Window
		ping   timeline.Event
		want   float64 // frames until the answer; 0: not a ping of the window
	}{
		{"answered before the window", frames, timeline.Event{At: at(100)}, 0},
		{"before the window", frames, timeline.Event{At: at(299)}, 0},
		{"perhaps before the window", frames, timeline.Event{At: at(300.5), Uncertainty: m.period}, 0},
		{"with its first frame", frames, timeline.Event{At: at(300)}, 50},
		{"in the window", frames, timeline.Event{At: at(310), Uncertainty: m.period}, 40},
		{"behind the window", frames, timeline.Event{At: at(400)}, 0},
		{"in the held green", green, timeline.Event{At: at(293)}, 57},
		{"before the held green", green, timeline.Event{At: at(289)}, 0},
		{"in a green of which only g is known", short, timeline.Event{At: at(293)}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.ping.Kind = "ping"
			m.events = []timeline.Event{tc.ping}
			r := one(t, m, tc.window, Options{}, "response")
			if tc.want == 0 {
				if r.State != Refused {
					t.Errorf("it is answered: %+v", r.Values)
				}
				return
			}
			wantValue(t, r, "answered", 1)
			if v, _ := r.Find("latency_p50"); math.Abs(v.Value-tc.want*ms(m.period)) > 1e-3 {
				t.Errorf("it took %v, want %v", v.Value, tc.want*ms(m.period))
			}
		})
	}
	lossy := newFilm(t, f)
	for n, pix := range m.pix[:360] {
		switch n {
		case 295:
		case 296:
			lossy.shoot(pix, 1)
		default:
			lossy.shoot(pix, 0)
		}
	}
	lossy.events = []timeline.Event{{At: at(293), Kind: "ping"}, {At: at(297), Kind: "ping"}}
	r := one(t, lossy, Window{Kind: ByMarkers, Green: 299, Held: 10, Start: 300, End: 357, Red: 358}, Options{},
		"response")
	wantValue(t, r, "pings", 1) // lost frames may have answered the first
}

// TestAnswerThatCannotBeSeen: without counted pixels an answer cannot be seen, and the ping is not
// missed. The picture's left half turns grey with frame 6.
func TestAnswerThatCannotBeSeen(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 64, 32)
	m := newFilm(t, f)
	pix := make([]byte, m.layout.Size)
	for n := range 12 {
		for k := range pix {
			if n >= 6 && k%(4*64) < 4*32 {
				pix[k] = 200
			}
		}
		m.shoot(pix, 0)
	}
	m.events = []timeline.Event{{At: timeline.Time(2 * m.period), Kind: "ping"}}
	left := frame.Region{Width: 32, Height: 32}
	for _, tc := range []struct {
		name     string
		o        Options
		answered float64
		refused  bool
		warned   string
	}{
		{"seen", Options{Response: ResponseOptions{Region: left}}, 1, false, ""},
		{"outside of R", Options{Region: frame.Region{X: 32, Width: 32, Height: 32},
			Response: ResponseOptions{Region: left}}, 0, true, "outside of the content"},
		{"under a mask", Options{Masks: []frame.Region{left},
			Response: ResponseOptions{Region: frame.Region{X: 4, Y: 4, Width: 9, Height: 9}}}, 0, true, "under a mask"},
		{"in part under a mask", Options{Masks: []frame.Region{{Width: 30, Height: 32}},
			Response: ResponseOptions{Region: left}}, 1, false, "960 of 1024 pixels"},
		{"a colour, in part outside of R", Options{Region: frame.Region{X: 16, Width: 16, Height: 32},
			Response: ResponseOptions{Region: frame.Region{Width: 32, Height: 32}, Colour: &Colour{200, 200, 200}}}, 1,
			false, "512 of 1024 pixels"},
		{"a colour beside what is masked", Options{Masks: []frame.Region{{X: 32, Width: 32, Height: 32}},
			Response: ResponseOptions{Region: frame.Region{Width: 64, Height: 32}, Colour: &Colour{200, 200, 200}}}, 1,
			false, "1024 of 2048 pixels"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := one(t, m, FramesWindow(m, 0, 12), tc.o, "response")
			if all := strings.Join(append(r.Warnings, r.Refusal), " "); (r.State == Refused) != tc.refused ||
				!strings.Contains(all, tc.warned) {
				t.Fatalf("it is %s: %s", r.State, all)
			}
			if !tc.refused {
				wantValue(t, r, "answered", tc.answered)
			}
		})
	}
}
