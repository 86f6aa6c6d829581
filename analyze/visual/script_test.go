package visual

import "testing"

func TestScriptFigures(t *testing.T) {
	for _, tc := range []struct {
		name   string
		points []ScriptPoint
		want   ScriptFigures
	}{
		{"no frames", nil, ScriptFigures{}},
		{
			"one frame: it is complete at 0", []ScriptPoint{{0, 100}},
			ScriptFigures{Has85: true, Has95: true, Has99: true},
		},
		{
			// 100·1 + 33·(1 − 0.5) + 367·(1 − 0.9) = 100 + 16.5 + 36.7 = 153.2
			"rises", []ScriptPoint{{0, 0}, {100, 50}, {133, 90}, {500, 100}},
			ScriptFigures{100, 500, 153, 133, 500, 500, true, true, true},
		},
		{
			// 86 at 100 is forgotten at 200; 98 at 300 gives 85 and 95; 90 at 400 forgets 95. 100 +
			// 14 + 50 + 2 + 10 = 176
			"goes back", []ScriptPoint{{0, 0}, {100, 86}, {200, 50}, {300, 98}, {400, 90}, {500, 100}},
			ScriptFigures{100, 500, 176, 300, 500, 500, true, true, true},
		},
		{
			// 99 % is not forgotten when 85 % and 95 % are, so it comes before them: browsertime's
			// oversight. 100 + 0 + 50 = 150
			"99 stays while 85 goes", []ScriptPoint{{0, 0}, {100, 100}, {200, 50}, {300, 100}},
			ScriptFigures{100, 300, 150, 300, 300, 100, true, true, true},
		},
		{
			// but it goes at the next frame that is below
			"99 goes one frame later", []ScriptPoint{{0, 0}, {100, 100}, {200, 50}, {250, 60}, {300, 100}},
			ScriptFigures{100, 300, 145, 300, 300, 300, true, true, true}, // 100 + 0 + 25 + 20
		},
		{
			"complete at 0 is moved to the next frame", []ScriptPoint{{0, 97}, {40, 100}},
			ScriptFigures{40, 40, 1, 40, 40, 40, true, true, true}, // 40·(1 − 0.97) = 1.2
		},
		{
			"never", []ScriptPoint{{0, 0}, {40, 84}},
			ScriptFigures{40, 40, 40, 0, 0, 0, false, false, false},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := NewScriptFigures(tc.points); got != tc.want {
				t.Errorf("is   %+v\nwant %+v", got, tc.want)
			}
		})
	}
}

// TestScriptPerceptual: until 100 nothing is there: 100; then 50·(1 − 0.5) = 25 and 100·(1 − 0.75)
// = 25. The SSIM of the first frame, 0.9, plays no part.
func TestScriptPerceptual(t *testing.T) {
	times := []int{0, 100, 150, 250}
	if got := ScriptPerceptual(times, []float64{0.9, 0.5, 0.75, 1}); got != 150 {
		t.Errorf("is %d, want 150", got)
	}
	if got := ScriptPerceptual(times[:1], []float64{1}); got != 0 {
		t.Errorf("of one frame it is %d, want 0", got)
	}
}

// TestScriptContentful: 100 until the second frame, then 50·(1 − 30/60) = 25, and 100·(1 − 60/60) =
// 0. The last frame has fewer edges, 45, which is allowed. The first frame's 99 are not used.
func TestScriptContentful(t *testing.T) {
	times := []int{0, 100, 150, 250}
	if got := ScriptContentful(times, []int{99, 30, 60, 45}); got != 125 {
		t.Errorf("is %d, want 125", got)
	}
	if got := ScriptContentful(times, []int{0, 0, 0, 0}); got != 250 {
		t.Errorf("without edges it is %d, want 250", got)
	}
	if got := ScriptContentful(nil, nil); got != 0 {
		t.Errorf("of no frames it is %d, want 0", got)
	}
}
