package frames_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/frames"
	"github.com/eideticker/eideticker/analyze/result"
)

// TestClaims: claims of a trace are compared with captured frames 4 ms later. Frames 30 and 60 are
// late. The trace calls 60 good. It claims that 80 is late and that a frame before 90 was dropped,
// without a visible effect.
func TestClaims(t *testing.T) {
	const tick = 16_666_667
	verdicts := map[int]activity.Verdict{30: activity.Partial, 80: activity.Late}
	for _, tc := range []struct {
		name         string
		strip, still bool // pictures are known; no frame is late
		by           string
		matched      int
		harmless     int
		good         []int
	}{
		{"by strip", true, false, result.ByStrip, 98, 2, []int{60}},
		{"by order", false, false, result.ByOrder, 98, 2, []int{60}},
		{"regular frames by order", false, true, result.ByOrder, 98, 3, []int{}},
	} {
		random := rand.New(rand.NewPCG(1, 2))
		info := native
		info.Clock = activity.Clock{Origin: 0, Text: "±0.2 ms",
			Corners: []activity.Corner{{Offset: start - ms/5}, {Offset: start + ms/5}}}
		d := newDevice(t, info)
		one := d.Thread(activity.Thread{Process: 1, ID: 1, Name: "main"})
		d.event(activity.Event{At: ms, Thread: one, Kind: activity.Sample, Ref: d.stack("main"), Value: period})
		times, at := []int64{}, int64(0)
		claims := activity.Claims{}
		for i := range 100 {
			if at += tick; (i == 30 || i == 60) && !tc.still {
				at += 2 * tick
			}
			if i == 90 {
				claims.Frames = append(claims.Frames, activity.Frame{At: at - 6*ms, Verdict: activity.Dropped})
			}
			f := activity.Frame{At: at - 4*ms + random.Int64N(ms/2), Verdict: verdicts[i]}
			if tc.strip {
				f.Picture = i + 1
			}
			times, claims.Frames = append(times, at), append(claims.Frames, f)
		}
		for i := range times {
			times[i] -= tick
		}
		for i := range claims.Frames {
			claims.Frames[i].At -= tick
		}
		claims.Frames = slices.DeleteFunc(claims.Frames, func(f activity.Frame) bool { return f.At < 0 })
		if err := claims.WriteFrames(d); err != nil {
			t.Fatal(err)
		}
		w := window(times)
		p := completed(t, frames.Results([]*activity.Trace{d.open()}, []result.Window{w}), w)
		if len(p.Claims) != 1 {
			t.Fatalf("%s: claims %+v", tc.name, p.Claims)
		}
		c := p.Claims[0]
		if c.By != tc.by || c.Matched != tc.matched || c.Frames != tc.matched || c.Jank != 3 ||
			c.Harmless != tc.harmless || !slices.Equal(c.GoodFrames, tc.good) || c.CalledGood != len(tc.good) {
			t.Errorf("%s: %+v", tc.name, c)
		}
		if c.Delay.Low > 3.5*ms || c.Delay.High < 4*ms || c.Delay.Low < 3*ms ||
			(c.Delay.High > 5*ms) != tc.still || c.Delay.Value < 3.5*ms || c.Delay.Value > 4*ms {
			t.Errorf("%s: delay %+v, want 3.5 to 4 ms, and several only without late frames", tc.name, c.Delay)
		}
	}
}

// TestForeignClaims: claims of another time have no captured frame.
func TestForeignClaims(t *testing.T) {
	d := newDevice(t, native)
	one := d.Thread(activity.Thread{Process: 1, ID: 1, Name: "main"})
	d.event(activity.Event{At: start, Thread: one, Kind: activity.Sample, Ref: d.stack("main"), Value: period})
	claims := activity.Claims{Frames: []activity.Frame{{At: start + 39*ms},
		{At: start + 39*ms, Verdict: activity.Dropped}, {At: start + 1e12}}}
	if err := claims.WriteFrames(d); err != nil {
		t.Fatal(err)
	}
	w := window([]int64{0, 10 * ms, 20 * ms, 30 * ms, 40 * ms})
	p := completed(t, frames.Results([]*activity.Trace{d.open()}, []result.Window{w}), w)
	if len(p.Claims) != 1 || p.Claims[0].Matched != 0 || p.Claims[0].By != "" || p.Claims[0].Frames != 1 {
		t.Errorf("claims %+v", p.Claims)
	}
}
