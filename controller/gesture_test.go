package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/suite"
)

func kindOf(w *world, kind string) (all []timeline.Event) {
	for _, e := range w.events {
		if e.Kind == kind {
			all = append(all, e)
		}
	}
	return all
}

// sentOf returns the events of an action.
func sentOf(w *world, did string) (all []timeline.Event) {
	for _, e := range w.events {
		if e.Source == input.EventSource && strings.Contains(string(e.Data), did) {
			all = append(all, e)
		}
	}
	return all
}

func TestGestures(t *testing.T) {
	r := &run{Setup: Setup{Test: &suite.Test{}, Size: frame.Region{Width: 640, Height: 360}}}
	r.played.Area = frame.Region{X: 100, Y: 50, Width: 400, Height: 200}
	percent := func(x, y float64) suite.Point {
		return suite.Point{X: suite.Coordinate{Value: x, Percent: true}, Y: suite.Coordinate{Value: y, Percent: true}}
	}
	for _, tc := range []struct {
		name string
		do   suite.Action
		want string
	}{
		{"chord", suite.Key{Chord: suite.Chord{"ControlLeft", "f"}, Hold: 5 * time.Millisecond},
			"0s [key down ControlLeft key down f]; 5ms [key up f key up ControlLeft]"},
		{"keys", suite.Key{Chord: suite.Chord{"a"}, Times: 2, Every: time.Second},
			"0s [key down a]; 0s [key up a]; 1s [key down a]; 1s [key up a]"},
		{"text", suite.Text{Text: "ab"}, `0s [text "ab"]`},
		{"slow text", suite.Text{Text: "aé日", Every: time.Second}, `0s [text "a"]; 1s [text "é"]; 2s [text "日"]`},
		{"click", suite.Click{At: px(1, 2), Button: input.Right},
			"0s [move to 101,52]; 0s [button down right]; 0s [button up right]"},
		{"double click in percent", suite.Click{At: percent(100, 0), Button: input.Left, Times: 2},
			"0s [move to 499,50]; 0s [button down left]; 0s [button up left]; 120ms [button down left]; " +
				"120ms [button up left]"},
		{"tap", suite.Tap{At: px(0, 0), Hold: time.Second}, "0s [finger 0 down at 100,50]; 1s [finger 0 up]"},
		{"move at once", suite.Move{To: px(0, 0)}, "0s [move to 100,50]"},
		{"move", suite.Move{From: &suite.Point{}, To: px(40, 0), Duration: 16 * time.Millisecond},
			"0s [move to 100,50]; 8ms [move to 120,50]; 16ms [move to 140,50]"},
		{"drag at once", suite.Drag{From: px(0, 0), To: px(9, 9), Button: input.Left},
			"0s [move to 100,50]; 0s [button down left]; 0s [move to 109,59]; 0s [button up left]"},
		{"drag round a corner", suite.Drag{From: px(0, 0), Via: []suite.Point{px(30, 0)}, To: px(30, 10),
			Button: input.Left, Duration: 16 * time.Millisecond},
			"0s [move to 100,50]; 0s [button down left]; 8ms [move to 120,50]; 16ms [move to 130,60]; " +
				"16ms [button up left]"},
		{"wheel", suite.Wheel{At: &suite.Point{}, Y: 2, Times: 2, Every: time.Second},
			"0s [move to 100,50]; 0s [wheel 0,2]; 1s [wheel 0,2]"},
		{"swipe", suite.Swipe{From: px(0, 0), To: px(0, 8), Duration: 8 * time.Millisecond},
			"0s [finger 0 down at 100,50]; 8ms [finger 0 to 100,58]; 8ms [finger 0 up]"},
		{"pinch", suite.Pinch{At: px(100, 100), From: 20, To: 40, Duration: 8 * time.Millisecond},
			"0s [finger 0 down at 190,150 finger 1 down at 210,150]; 8ms [finger 0 to 180,150 finger 1 to 220,150]; " +
				"8ms [finger 0 up finger 1 up]"},
		{"a finger that stays", suite.Touch{
			Fingers: []suite.Finger{{Path: []suite.Point{px(1, 1)}, After: time.Second, Duration: time.Second}}},
			"1s [finger 0 down at 101,51]; 2s [finger 0 up]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			timed, err := r.gesture(do(tc.do))
			if err != nil {
				t.Fatal(err)
			}
			var parts []string
			for _, one := range timed {
				parts = append(parts, fmt.Sprintf("%v %v", one.After, one.Actions))
			}
			if got := strings.Join(parts, "; "); got != tc.want {
				t.Errorf("\n%s\n, want\n%s", got, tc.want)
			}
		})
	}
}

func TestPlacesOfTheScreen(t *testing.T) {
	r := &run{Setup: Setup{Test: &suite.Test{Places: suite.Screen}, Size: frame.Region{Width: 640, Height: 360}}}
	r.played.Area = frame.Region{X: 100, Y: 50, Width: 400, Height: 200}
	if p := r.at(px(3, 4)); p != [2]float64{3, 4} {
		t.Errorf("a point of the screen is at %v", p)
	}
	rect := frame.Region{X: 1, Y: 1, Width: 2, Height: 2}
	if got := r.place(rect); got != rect {
		t.Errorf("a region of the screen is at %v", got)
	}
}
