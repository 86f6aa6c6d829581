package analyze

import (
	"fmt"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// TestPings holds latencies against those that the scene says.
func TestPings(t *testing.T) {
	for seed := range analyzetest.Seeds(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m, truth := filmScene(t, "pingpong", fmt.Sprintf("size=320x180&frames=700&seed=%d", seed), nil)
			cycle := truth.Cycle
			var want []float64
			for from := cycle.From; from < truth.Frames; from += cycle.Frames {
				for _, p := range truth.Pings {
					ping, pong := p.Frame-cycle.From+from, p.Pong-cycle.From+from
					if pong >= truth.Frames {
						continue
					}
					m.events = append(m.events, timeline.Event{At: m.metas[ping].Sampled.Mid(), Uncertainty: time.Millisecond, Source: "synth", Kind: "ping"})
					want = append(want, ms(m.metas[pong].Sampled.Mid().Sub(m.metas[ping].Sampled.Mid())))
				}
			}
			area := truth.PingArea
			o := Options{Response: ResponseOptions{Region: frame.Region{X: area.X, Y: area.Y, Width: area.Width, Height: area.Height}}, share: 50}
			r := one(t, m, FramesWindow(m, 0, len(m.metas)), o, "response")
			wantValue(t, r, "answered", float64(len(want)))
			wantValue(t, r, "missed", 0)
			for i, got := range r.Series[0].Values {
				if got != want[i] {
					t.Errorf("answer %d took %v ms, want %v", i, got, want[i])
				}
			}
		})
	}
}

// TestPongBounds holds the definition's interval against a case worked by hand: pings at 100 ms ± 2 ms, frames every 1/60 s of which
// those from 7 to 9 are lost, and number 10 shows the answer.
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
	m.events = []timeline.Event{{At: 100e6, Uncertainty: 2e6, Kind: "ping"}}
	r := one(t, m, FramesWindow(m, 0, len(m.metas)), Options{}, "response")
	v, _ := r.Find("latency_p50")
	at := func(n timeline.Time) float64 { return float64(n*timeline.Time(m.period)-100e6) / 1e6 }
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
func TestNoPing(t *testing.T) {
	m, _ := filmScene(t, "caret", "size=64x64&frames=10", nil)
	if r := one(t, m, FramesWindow(m, 0, 10), Options{}, "response"); r.State != Refused || r.Refusal == "" {
		t.Errorf("got %+v", r)
	}
}
