package result

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

func nsSpan(ms, within float64) Span { return Span{ms * 1e6, (ms - within) * 1e6, (ms + within) * 1e6} }

// paused has frames 100 ms apart. Frame 12 stands for 200 ms, and 14 for 500 ms until 19.
func paused(late ...LateFrame) *Results {
	fps := analyze.Result{Measure: "fps", State: analyze.Exact, Values: []analyze.Value{
		value("framerate", 9, "frames/s", analyze.Higher), value("dropped_frames", 3, "frames", analyze.Lower)},
		Series: []analyze.Series{{Name: "frame_time", Unit: "ms", Frames: []int{10, 11, 12, 14, 19},
			Values: []float64{100, 100, 200, 500, 100}}}}
	w := window(fps)
	w.Times.Earliest, w.Times.Latest, w.Red, w.EndNS = w.Times.Time, w.Times.Time, -1, w.StartNS+9e8
	r := &Results{Recording: Recording{Frames: 30, PeriodNS: 1e8}, Windows: []Window{*w},
		Quality: analyze.Result{Measure: "quality", State: analyze.Exact}}
	r.Script = &Script{Late: late, Functions: []Function{
		{Name: "slow", URL: "http://a.test/js/app.js?x=1", Line: 12, Column: 5, Calls: 1, Self: nsSpan(380, 1)},
		{Name: "(anonymous)", URL: "http://a.test/", Line: 7, Column: 900, Calls: 1, Self: nsSpan(90, 0)},
		{Name: "tiny", URL: "app.js", Line: 1, Calls: 1, Self: nsSpan(1, 0)}}}
	return r
}

// lateBy500 is frame 19, which came at 0.95 s.
func lateBy500(rest Span, ran ...RanMeantime) LateFrame {
	return LateFrame{Frame: 19, FromNS: 2_400_000_000, ToNS: 2_900_000_000, Functions: ran, UnexplainedNS: rest}
}

func TestLateFrames(t *testing.T) {
	gap := Gap{FromNS: 2_850_000_000, ToNS: 2_950_000_000, Records: 3, Cause: "quota", Realm: -1}
	soon := lateBy500(nsSpan(30, 1))
	soon.FromNS = 2_850_000_000
	answer := lateBy500(nsSpan(119, 1), RanMeantime{0, nsSpan(380, 1)})
	answer.Response = true
	native := lateBy500(nsSpan(50, 1), RanMeantime{0, nsSpan(450, 1)}, RanMeantime{1, nsSpan(90, 0)})
	native.Native = &NativeCall{Name: "JSON.parse()", Line: 14, Self: nsSpan(430, 1)}
	below := native
	below.Callers = []Place{{Function: "draw", URL: "http://a.test/app.js", Line: 30, Column: 2, Source: "src/draw.ts",
		SourceLine: 8}, {Function: "(script)", URL: "http://a.test/app.js", Line: 1}}
	const at = "The frame at 0.95 s came 400 ms late. "
	for _, tc := range []struct {
		name   string
		late   LateFrame
		gaps   []Gap
		want   string
		answer string // behind the pause in the window's answer
	}{
		{"one function", lateBy500(nsSpan(50, 1), RanMeantime{0, Span{4.5e8, 4.491e8, 4.505e8}}), nil,
			at + "slow (app.js:12) ran for 450 (449–451) ms meanwhile.", ": slow (app.js:12) ran for 450 ms of it"},
		{"several", lateBy500(nsSpan(29, 1), RanMeantime{0, nsSpan(380, 1)}, RanMeantime{1, nsSpan(90, 0)},
			RanMeantime{2, nsSpan(1, 0)}), nil,
			at + "slow (app.js:12) ran for 380 (379–381) ms; anonymous function (a.test/:7:900) for 90 ms meanwhile.",
			": slow (app.js:12) ran for 380 ms of it"},
		{"a native call", native, nil, at + "slow (app.js:12) ran for 450 (449–451) ms, of it 430 ms in " +
			"JSON.parse() (app.js:14); anonymous function (a.test/:7:900) for 90 ms meanwhile.",
			": slow (app.js:12) ran for 450 ms of it"},
		{"a caller", below, nil, at + "slow (app.js:12) ran for 450 (449–451) ms, called by draw (src/draw.ts:8), " +
			"of it 430 ms in JSON.parse() (app.js:14); anonymous function (a.test/:7:900) for 90 ms meanwhile.",
			": slow (app.js:12) ran for 450 ms of it"},
		{"anonymous, and a long rest", lateBy500(nsSpan(410, 1), RanMeantime{1, nsSpan(90, 0)}), nil,
			at + "An anonymous function (a.test/:7:900) ran for 90 ms meanwhile. " +
				"No instrumented script ran for 410 (409–411) ms.", ""},
		{"hardly anything", lateBy500(nsSpan(490, 1), RanMeantime{1, nsSpan(10, 1)}), nil,
			at + "No instrumented script ran for 490 (489–491) ms meanwhile.", ""},
		{"a rest of a frame time", lateBy500(nsSpan(120, 1), RanMeantime{0, nsSpan(370, 1)}), nil,
			at + "slow (app.js:12) ran for 370 (369–371) ms meanwhile.", ": slow (app.js:12) ran for 370 ms of it"},
		{"nothing", lateBy500(nsSpan(500, 1)), nil, at + "No instrumented script ran meanwhile.", ""},
		{"nothing, with a gap", lateBy500(nsSpan(500, 1)), []Gap{gap}, at + "Records of its scripts are lost.", ""},
		{"a function and a gap", lateBy500(nsSpan(400, 1), RanMeantime{1, nsSpan(90, 0)}), []Gap{gap},
			at +
				"An anonymous function (a.test/:7:900) ran for 90 ms meanwhile. Other records of that time are lost.",
			""},
		{"earlier than usual", soon, nil,
			"The frame at 0.95 s came after 50 ms. No instrumented script ran meanwhile.", ""},
		{"an answer", answer, nil, "The answer at 0.95 s came after 500 ms. " +
			"slow (app.js:12) ran for 380 (379–381) ms meanwhile.", ": slow (app.js:12) ran for 380 ms of it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := paused(tc.late)
			r.Script.Gaps = tc.gaps
			full := analyzetest.Must(r.Complete())(t)
			if got := full.Script.Late[0].Sentence; got != tc.want {
				t.Errorf("%s\nwant\n%s", got, tc.want)
			}
			want := "The animation dropped 3 frames; the worst pause was 500 ms, at 0.5 s" + tc.answer + "."
			if got := full.Windows[0].Answer.Sentence; got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
			if r.Script.Late[0].Sentence != "" || r.Script.Functions[0].Place != "" {
				t.Error("Complete changed its results")
			}
		})
	}
}

func TestCausesOfAnswers(t *testing.T) {
	response := func(pings, p50 float64, more ...analyze.Value) analyze.Result {
		return analyze.Result{Measure: "response", Values: append([]analyze.Value{
			value("pings", pings, "pings", analyze.Neither), value("missed", 0, "pings", analyze.Lower),
			value("latency_p50", p50, "ms", analyze.Lower)}, more...),
			Series: []analyze.Series{{Name: "latency", Frames: []int{11, 15}, Values: []float64{20, 500}}}}
	}
	speed := analyze.Result{Measure: "speedindex", Values: []analyze.Value{
		value("pixel.complete_100", 1250, "ms", analyze.Lower, 18)}}
	why := causes{{frame: 15, ms: 700, text: "longer than the answer"},
		{frame: 15, ms: 500, text: "slow (app.js:12) ran for 380 ms"}}
	for _, tc := range []struct {
		of   *Window
		want string
	}{
		{window(response(1, 500)), "The answer came after 500 ms: slow (app.js:12) ran for 380 ms of it."},
		{window(response(1, 500), speed), "The answer came after 500 ms: slow (app.js:12) ran for 380 ms of it; " +
			"the picture was complete after 1.25 s."},
		{window(response(2, 20, value("latency_p95", 500, "ms", analyze.Lower),
			value("latency_max", 500, "ms", analyze.Lower))),
			"The median answer came after 20 ms, and 95 % of the answers " +
				"within 500 ms; the slowest took 500 ms: slow (app.js:12) ran for 380 ms of it."},
	} {
		if got := newAnswer(tc.of, nil, why).Sentence; got != tc.want {
			t.Errorf("%s\nwant\n%s", got, tc.want)
		}
	}
}

// TestCausesOfCompletePictures: a headline names the cause of the longer wait. It is the wait
// after the first change, if a late frame took half of it.
func TestCausesOfCompletePictures(t *testing.T) {
	speed := func(first, complete float64) analyze.Result {
		return analyze.Result{Measure: "speedindex", Values: []analyze.Value{
			value("first_visual_change", first, "ms", analyze.Lower, 12),
			value("pixel.complete_100", complete, "ms", analyze.Lower, 18)}}
	}
	response := func(latency float64) analyze.Result {
		return analyze.Result{Measure: "response", Values: []analyze.Value{
			value("pings", 1, "pings", analyze.Neither), value("missed", 0, "pings", analyze.Lower),
			value("latency_p50", latency, "ms", analyze.Lower)},
			Series: []analyze.Series{{Name: "latency", Frames: []int{12}, Values: []float64{latency}}}}
	}
	early := cause{frame: 12, ms: 50, text: "painting took 36 ms"}
	late := cause{frame: 17, ms: 700, text: "slow (app.js:12) ran for 680 ms"}
	after := cause{frame: 19, ms: 900, text: "idle (app.js:90) ran for 880 ms"}
	for name, tc := range map[string]struct {
		of   *Window
		why  causes
		want string
	}{
		"click": {window(response(50), speed(50, 1250)), causes{after, late, early},
			"The answer came after 50 ms, and the picture was complete after 1.25 s: " +
				"slow (app.js:12) ran for 680 ms of it."},
		"slow answer": {window(response(800), speed(800, 1600)), causes{late},
			"The answer came after 800 ms, and the picture was complete after 1.60 s."},
		"load": {window(speed(50, 1250)), causes{after, late},
			"The first change came after 50 ms, and the picture was complete after 1.25 s: " +
				"slow (app.js:12) ran for 680 ms of it."},
		"less than half": {window(speed(50, 1550)), causes{late},
			"The first change came after 50 ms, and the picture was complete after 1.55 s."},
		"after the complete picture": {window(speed(50, 1250)), causes{after},
			"The first change came after 50 ms, and the picture was complete after 1.25 s."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newAnswer(tc.of, nil, tc.why).Sentence; got != tc.want {
				t.Errorf("%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// TestCauseOfPauseAndAnswer: a pause does not have the time of an answer that ends with it.
func TestCauseOfPauseAndAnswer(t *testing.T) {
	answer := lateBy500(nsSpan(50, 1), RanMeantime{0, nsSpan(650, 1)})
	answer.Response, answer.FromNS = true, answer.FromNS-200_000_000
	pause := lateBy500(nsSpan(50, 1), RanMeantime{0, nsSpan(450, 1)})
	full := analyzetest.Must(paused(answer, pause).Complete())(t)
	const want = "the worst pause was 500 ms, at 0.5 s: slow (app.js:12) ran for 450 ms of it."
	if got := full.Windows[0].Answer.Sentence; !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant …%s", got, want)
	}
}

// TestLateByLostFrames: the sentence counts frames that the recording lost.
func TestLateByLostFrames(t *testing.T) {
	r := paused(lateBy500(nsSpan(50, 1), RanMeantime{0, nsSpan(450, 1)}))
	r.Windows[0].Times.Lost = []Loss{{Before: 14, Frames: 7}, {Before: 17, Frames: 2}, {Before: 19, Frames: 1}}
	full := analyzetest.Must(r.Complete())(t)
	const want = "The frame at 0.95 s came 400 ms late. " +
		"The recording lost 3 frames meanwhile, so it may have come earlier. " +
		"slow (app.js:12) ran for 450 (449–451) ms meanwhile."
	if got := full.Script.Late[0].Sentence; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestLateMarks: the frame that was shown while a function ran has its name in the video.
func TestLateMarks(t *testing.T) {
	r := sample()
	w := &r.Windows[0]
	l := &r.Script.Late[0]
	l.FromNS = w.StartNS + w.Times.Time[2] + 1
	l.ToNS = l.FromNS + 40e6
	got := r.LateMarks(0)
	if len(got) != 1 || got[0].Frame != w.Times.First+2 || got[0].Until != l.Frame ||
		!strings.HasPrefix(got[0].Label, "slow 30 ") {
		t.Errorf("%+v", got)
	}
	l.FromNS = w.StartNS + w.Times.Time[0] - 1
	if got := r.LateMarks(0); len(got) > 0 {
		t.Errorf("before the window: %+v", got)
	}
}

// TestCausesOfLoads: the sentence of a load is about its picture, so late frames are moments.
func TestCausesOfLoads(t *testing.T) {
	w := window(analyze.Result{Measure: "speedindex", Values: []analyze.Value{
		value("first_visual_change", 50, "ms", analyze.Lower, 10),
		value("pixel.complete_100", 1250, "ms", analyze.Lower, 18)}})
	why := causes{{frame: 15, ms: 400, text: "slow (app.js:12) ran for 380 ms"},
		{frame: 15, ms: 390, text: "slow (app.js:12) ran for 370 ms"},
		{frame: 12, ms: 100, text: "draw ran for 90 ms"}, {frame: 13, ms: 90, text: "third ran for 80 ms"}}
	var said []string
	for _, m := range newAnswer(w, nil, why).Moments {
		said = append(said, m.At+" "+m.What)
	}
	want := []string{"0.050 s the first change", "0.250 s a late frame: draw ran for 90 ms before it",
		"0.550 s a late frame: slow (app.js:12) ran for 380 ms before it", "0.850 s the picture is complete"}
	if !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}

func TestScriptTexts(t *testing.T) {
	for _, tc := range []struct {
		edit func(*Script)
		want []string // some of the texts
	}{
		{func(s *Script) { *s = Script{} }, []string{"No instrumented function was called.", "No program was served."}},
		{func(s *Script) { s.Programs = ScriptPrograms{Served: 1, Functions: 3}; s.Plain = nil },
			[]string{"The only program is not instrumented. 0 of 3 functions ran."}},
		{func(s *Script) { s.Programs = ScriptPrograms{Served: 2, Instrumented: 2, Functions: 1} },
			[]string{"2 programs, all instrumented. 0 of 1 function ran."}},
		{func(s *Script) {
			s.Programs = ScriptPrograms{Served: 2, Instrumented: 1}
			s.Plain = []PlainScript{{Reason: "no UTF-8", Count: 1}}
		}, []string{"1 of 2 programs is not instrumented: no UTF-8."}},
		{func(s *Script) { s.Lost, s.Gaps = 1, nil }, []string{"1 record of scripts is lost. Calls may be missing."}},
		{func(s *Script) { s.Lost, s.Gaps, s.Functions = 0, nil, nil; s.Late, s.Tasks = nil, nil },
			[]string{"5 errors."}},
		{func(s *Script) { s.Functions[0].Self = Span{1.5e9, 1.4e9, 1.6e9} },
			[]string{"slow (app.js:12) ran longest: 1.50 (1.40–1.60) s."}},
		{func(s *Script) { s.Functions[0].Self = Span{31_000, 30_500, 31_000} },
			[]string{"slow (app.js:12) ran longest: 0.031 (0.030–0.031) ms."}},
		{func(s *Script) { s.Cost.CountedNS = Span{} }, []string{"and 0 ms of the recording."}},
	} {
		r := sample()
		tc.edit(r.Script)
		full := analyzetest.Must(r.Complete())(t)
		b := analyzetest.Must(json.Marshal(full.Script))(t)
		for _, want := range tc.want {
			if !strings.Contains(string(b), want) {
				t.Errorf("no %q in %s", want, b)
			}
		}
	}
}

// TestHostileScript: pages write most of a script's data, so all of it is checked.
func TestHostileScript(t *testing.T) {
	r := sample()
	s := r.Script
	s.Functions = slices.Repeat(s.Functions, MaxFunctions)
	s.Late[0].Window, s.Late[0].ToNS = math.MinInt, math.MinInt64
	s.Functions[0].Self = Span{math.NaN(), math.Inf(-1), math.Inf(1)}
	if _, err := r.Complete(); err == nil || !strings.Contains(err.Error(), "script: 400 functions, at most 200") {
		t.Errorf("got %v", err)
	}
	r = sample()
	r.Script.Functions[0].Self.High = math.NaN()
	if _, err := r.Complete(); err == nil || !strings.Contains(err.Error(), "script functions[0]: self_ns") {
		t.Errorf("got %v", err)
	}
}

// TestPlanInWords: the sentences state the measured functions and those of later loads.
func TestPlanInWords(t *testing.T) {
	const called = "Calls of 3 of 1,200 functions were measured. The time of others is in their callers. "
	for want, p := range map[string]ScriptPlan{
		called + "Slow functions, above 5 ms: 2. The selection is stable after 7 loads.": {
			Adapt: "loads", Slow: 2, Loads: 7, Stable: true},
		called + "Slow functions, above 5 ms: 0. The selection is not stable after 1 load. " +
			"Functions of changed programs that were dropped: 4.": {Adapt: "live", Loads: 1, Dropped: 4},
		called + "The loads so far have tested 61.9 % of the functions. 95 % need 14 loads.": {
			Probability: 0.2, Share: 0.6199, Needed: 14},
		"The scripts of this run stayed plain, for comparison with the other runs.": {Plain: true},
		"Later runs are without policies that harm the page: calls, after 30 loads.": {Plain: true,
			Off: "calls, after 30 loads"},
	} {
		p.Points, p.Active = 1200, 3
		if got := p.words(); got != want {
			t.Errorf("%+v:\n got %s\nwant %s", p, got, want)
		}
	}
}

// TestGapOfEarlierVersion: a gap without a realm is not one of the first realm.
func TestGapOfEarlierVersion(t *testing.T) {
	var gaps []Gap
	analyzetest.Check(t, json.Unmarshal([]byte(`[{"records":3,"cause":"quota"},{"cause":"quota","realm":1}]`), &gaps))
	if want := []Gap{{Records: 3, Cause: "quota", Realm: -1}, {Cause: "quota", Realm: 1}}; !slices.Equal(gaps, want) {
		t.Errorf("%+v, want %+v", gaps, want)
	}
}
