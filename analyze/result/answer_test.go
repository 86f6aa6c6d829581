package result

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
)

// said returns a window's answer in one text: sentence, primary values, moments.
func said(w *Window, declared ...string) string {
	a := NewAnswer(w, declared)
	text := a.Sentence + " | " + strings.Join(a.Primary, " ") + " |"
	for _, m := range a.Moments {
		text += fmt.Sprintf(" %d at %s: %s,", m.Frame, m.At, m.What)
	}
	return strings.TrimSuffix(text, ",")
}

// window has frames 10 to 19, 100 ms apart, 50 ms after T0.
func window(results ...analyze.Result) *Window {
	w := &Window{Kind: Markers, Start: 10, End: 19, StartNS: 2e9, T0: &T0{AtNS: 1_950_000_000},
		Times: FrameTimes{First: 10}, Results: results}
	for i := range int64(10) {
		w.Times.Time = append(w.Times.Time, i*1e8)
	}
	return w
}

func value(name string, x float64, unit string, better analyze.Better, frames ...int) analyze.Value {
	return analyze.Value{Name: name, Value: x, Low: x, High: x, Unit: unit, State: analyze.Exact, Better: better,
		Frames: frames}
}

func TestAnswer(t *testing.T) {
	dropped := []analyze.Value{value("framerate", 9, "frames/s", analyze.Higher),
		value("longest_freeze", 500, "ms", analyze.Lower), value("drawn_frames", 8, "frames", analyze.Neither),
		value("dropped_frames", 3, "frames", analyze.Lower)}
	times := []analyze.Series{{Name: "frame_time", Unit: "ms", Frames: []int{10, 11, 12, 14},
		Values: []float64{100, 100, 200, 500}}}
	fps := analyze.Result{Measure: "fps", Values: dropped, Series: times}
	scroll := analyze.Result{Measure: "scroll",
		Values: []analyze.Value{value("framerate", 10, "frames/s", analyze.Higher)},
		Series: []analyze.Series{{Name: "speed", Frames: []int{11, 12, 14}, Values: []float64{1, 1, 1}}}}
	speed := analyze.Result{Measure: "speedindex", Values: []analyze.Value{
		value("pixel.speed_index", 300, "ms", analyze.Lower),
		value("pixel.complete_100", 1250, "ms", analyze.Lower, 18),
		value("first_visual_change", 50, "ms", analyze.Lower, 10),
		value("histogram.speed_index", 200, "ms", analyze.Lower)},
		Series: []analyze.Series{{Name: "pixel.progress", Unit: "fraction", Frames: []int{9, 10, 15, 18},
			Values: []float64{0, 0.2, 0.9, 1}}}}
	response := analyze.Result{Measure: "response", Values: []analyze.Value{
		value("pings", 3, "pings", analyze.Neither), value("missed", 1, "pings", analyze.Lower),
		value("latency_p50", 20, "ms", analyze.Lower), value("latency_p95", 1500, "ms", analyze.Lower),
		value("latency_max", 1500, "ms", analyze.Lower)},
		Series: []analyze.Series{{Name: "latency", Frames: []int{11, 15}, Values: []float64{20, 1500}}}}
	click := analyze.Result{Measure: "response", Values: []analyze.Value{
		value("pings", 1, "pings", analyze.Neither), value("missed", 0, "pings", analyze.Lower),
		value("latency_p50", 20, "ms", analyze.Lower)}}
	unanswered := analyze.Result{Measure: "response", Values: []analyze.Value{
		value("pings", 1, "pings", analyze.Neither), value("missed", 1, "pings", analyze.Lower)}}
	torn := analyze.Result{Measure: "tearing",
		Values:   []analyze.Value{value("torn_frames", 2, "frames", analyze.Lower, 13)},
		Evidence: []analyze.Evidence{{Kind: "torn", Frame: 13, Text: "row 4"}, {Kind: "torn", Frame: 14}}}
	for _, tc := range []struct {
		name     string
		of       *Window
		declared []string
		want     string
	}{
		{"nothing", window(), nil, " |  |"},
		{"an animation", window(fps), nil,
			"The animation dropped 3 of 8 frames; the worst pause was 500 ms, at 0.5 s. | " +
				"fps.framerate fps.longest_freeze fps.dropped_frames | 12 at 0.250 s: a pause of 200 ms begins, " +
				"14 at 0.450 s: a pause of 500 ms begins"},
		{"a scroll ends before its last pause", window(fps, scroll), nil,
			"Scrolling dropped 3 of 8 frames; the worst pause was 200 ms, at 0.2 s. | " +
				"fps.framerate fps.longest_freeze fps.dropped_frames scroll.framerate | " +
				"12 at 0.250 s: a pause of 200 ms begins"},
		{"a load", window(speed), nil,
			"The first change came after 50 ms, and the picture was complete after 1.25 s. | " +
				"speedindex.first_visual_change speedindex.histogram.speed_index speedindex.pixel.speed_index " +
				"speedindex.pixel.complete_100 | 10 at 0.050 s: the first change, " +
				"15 at 0.550 s: the largest change: 70 % of the picture, 18 at 0.850 s: the picture is complete"},
		{"declared", window(fps, speed), []string{"speedindex.pixel.complete_100", "speedindex.none"},
			"The first change came after 50 ms, and the picture was complete after 1.25 s. | " +
				"speedindex.pixel.complete_100 fps.framerate fps.longest_freeze fps.dropped_frames | " +
				"10 at 0.050 s: the first change, 15 at 0.550 s: the largest change: 70 % of the picture, " +
				"18 at 0.850 s: the picture is complete"},
		{"answers", window(response), nil,
			"The median answer came after 20 ms, and 95 % of the answers within 1.50 s; " +
				"1 of 3 pings had no answer. | response.latency_p50 response.latency_p95 response.latency_max | " +
				"11 at 0.150 s: an answer after 20 ms, 15 at 0.550 s: the slowest answer, after 1.50 s"},
		{"an answer", window(click), nil, "The answer came after 20 ms. | response.latency_p50 |"},
		{"an answer and a picture", window(click, speed), []string{"response.latency_p50",
			"speedindex.pixel.complete_100", "speedindex.first_visual_change"},
			"The answer came after 20 ms, and the picture was complete after " +
				"1.25 s. | response.latency_p50 speedindex.pixel.complete_100 speedindex.first_visual_change |"},
		{"no answer", window(unanswered), nil, "No answer came. | response.missed |"},
		{"no answer, and a picture", window(unanswered, speed), []string{"response.latency_p50",
			"speedindex.pixel.complete_100"}, "No answer came. | response.missed |"},
		{"tears", window(torn), []string{"tearing.torn_frames"},
			"2 of 10 frames are torn. | tearing.torn_frames | 13 at 0.350 s: torn: row 4"},
		{"another measure", window(analyze.Result{Measure: "heatmap", Values: []analyze.Value{
			value("total_heat", 7, "changes", analyze.Lower),
			value("changed", 0.5, "fraction", analyze.Neither)}}), nil,
			"Total heat: 7 changes. | heatmap.total_heat |"},
	} {
		if got := said(tc.of, tc.declared...); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}
