package scripts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// The collector started at start. Page times are pageBehind less than those since its start.
const (
	start      = timeline.Time(50 * time.Second)
	pageBehind = 100.0 // ms
	period     = int64(time.Second / 60)
)

// page is a realm that records.
type page struct {
	record.Batch
	calls uint32
}

func newPage(realm uint32) *page {
	p := &page{Batch: record.Batch{Kind: record.Window, Realm: realm, Origin: 1e12}}
	p.add(record.Start, 0, 1)
	p.ask(0, 1)
	p.Records = append(p.Records, record.Record{Code: record.Cost, ID: 10_000, At: 1})
	return p
}

func (p *page) add(code record.Code, id uint32, at float64) {
	p.Records = append(p.Records, record.Record{Code: code, ID: id, At: at})
}

// ask adds a question of the clock whose answer took 1 ms.
func (p *page) ask(n uint32, at float64) {
	p.add(record.Asked, n, at)
	p.add(record.Answered, n, at+1)
	p.add(record.Rig, n, (at+0.5+pageBehind)*1e6)
}

// call adds a call of a function that calls nothing, as a task of its own.
func (p *page) call(function uint32, from, to float64) {
	p.add(record.Enter, function, from)
	p.calls++
	p.add(record.Leave, p.calls, to)
	p.add(record.Idle, 0, to)
}

func (p *page) detail(at float64, d record.Detail) {
	p.add(record.Happened, uint32(len(p.Details)), at)
	p.Details = append(p.Details, d)
}

// arrived is the log of pages.
func arrived(pages ...*page) (all []trace.Arrived) {
	for _, p := range pages {
		last := p.Records[len(p.Records)-1].At
		p.Sent = last + 1
		all = append(all, trace.Arrived{At: onRig(last + 2), Batch: &p.Batch})
	}
	return all
}

// onRig returns the time of the recording at a page time.
func onRig(ms float64) timeline.Time { return start + timeline.Time((ms+pageBehind)*1e6) }

// window has a change in each of the frames, which count from 100 at the page's time 0.
func window(changes ...int) result.Window {
	w := result.Window{StartNS: int64(onRig(0)), Times: result.FrameTimes{First: 100}}
	for n := range changes[len(changes)-1] - 99 {
		w.Times.Time = append(w.Times.Time, int64(n)*period)
	}
	s := measure.Series{Name: "frame_time"}
	for i, n := range changes {
		held := int64(1)
		if i+1 < len(changes) {
			held = int64(changes[i+1] - n)
		}
		s.Frames, s.Values = append(s.Frames, n), append(s.Values, float64(held*period)/1e6)
	}
	w.Results = []measure.Result{{Measure: "fps", Series: []measure.Series{{Name: "other"}, s}}}
	return w
}

// info has n functions from the number first on, in two programs.
func info(n int) *Info {
	i := &Info{StartNS: int64(start), Policies: []string{"errors", "calls"}, Received: Received{Batches: 1},
		Programs: []Program{{URL: "http://a.test/plain.js", Goal: "script", Bytes: 50, Plain: "it does not parse",
			Count: 2},
			{URL: "http://a.test/app.js", Goal: "script", Bytes: 1000, Added: 100, First: 11, Count: 1},
			{URL: "http://a.test/lib.js", Goal: "module", Bytes: 500, Added: 20, First: 1, Count: 1,
				Functions: []Function{{Name: "lib", Line: 1, Column: 1}}}}}
	for k := range n {
		i.Programs[1].Functions = append(i.Programs[1].Functions,
			Function{Name: fmt.Sprintf("f%d", 11+k), Line: k + 1, Column: 5})
	}
	return i
}

// changesBut is the frames 100 to 130 but for those of a pause.
func changesBut(from, to int) (all []int) {
	for n := 100; n <= 130; n++ {
		if n <= from || n >= to {
			all = append(all, n)
		}
	}
	return all
}

// checked returns results as a file has them. It fails the test if no file may have them.
func checked(t *testing.T, windows []result.Window, s *result.Script) *result.Script {
	t.Helper()
	for i := range windows {
		n := len(windows[i].Times.Time)
		windows[i].Times.Earliest, windows[i].Times.Latest = make([]int64, n), make([]int64, n)
		copy(windows[i].Times.Earliest, windows[i].Times.Time)
		copy(windows[i].Times.Latest, windows[i].Times.Time)
	}
	r := &result.Results{Script: s, Recording: result.Recording{Frames: 1000, PeriodNS: period},
		Quality: measure.Result{Measure: "quality", State: measure.Exact}}
	for range windows {
		r.Windows = append(r.Windows, result.Window{Kind: result.All, Green: -1, Red: -1, End: 999})
	}
	full := analyzetest.Must(r.Complete())(t)
	if full.Script == nil {
		t.Fatal("no script")
	}
	return full.Script
}

// TestNatives: the time of a call in a slow function counts for the function, and is named. The
// caller may be unknown, or a call itself.
func TestNatives(t *testing.T) {
	p := newPage(7)
	p.add(record.Enter, 12, 170)
	p.add(record.Enter, 13, 175)
	p.add(record.Leave, 2, 275)
	p.add(record.Leave, 1, 282)
	p.add(record.Idle, 0, 282)
	p.calls = 2
	p.call(14, 300, 301)
	windows := []result.Window{window(changesBut(110, 117)...)}
	resultsOf := func(caller uint32) *result.Script {
		of := info(4)
		of.Programs[1].Functions[2] = Function{Name: "JSON.parse()", Line: 2, Column: 20, Caller: caller}
		of.Programs[1].Functions[3] = Function{Name: "(script)", Line: 1, Column: 1, Outside: true}
		return checked(t, windows, New(of, arrived(p)).Results(windows))
	}
	s := resultsOf(12)
	f := s.Functions[0]
	if f.Name != "f12" || math.Abs(f.Self.Value-112e6) > 1e6 || len(f.Natives) != 1 ||
		f.Natives[0].Text != "100 ms in JSON.parse() (app.js:2)" || len(s.Functions) != 2 || s.Tasks[0].Function != 0 {
		t.Errorf("functions %+v, tasks %+v", s.Functions, s.Tasks)
	}
	if len(s.Late) != 1 || len(s.Late[0].Callers) > 0 { // the call in it is not by another function
		t.Errorf("late %+v", s.Late)
	}
	if p := s.Programs; p.Functions != 3 || p.CalledOfThem != 1 {
		t.Errorf("programs %+v", p)
	}
	if len(s.Late) != 1 ||
		!strings.Contains(s.Late[0].Sentence, ", of it 100 ms in JSON.parse() (app.js:2) meanwhile.") {
		t.Errorf("late %+v", s.Late)
	}
	for _, caller := range []uint32{13, 99} {
		if s := resultsOf(caller); len(s.Functions) != 3 || s.Functions[0].Name != "JSON.parse()" ||
			s.Late[0].Native != nil {
			t.Errorf("caller %d: %+v", caller, s.Functions)
		}
	}
}

// TestCallersOfLateFrame: a function that many others call has the caller that took its time. A
// helper such as block() was named without the caller that a user has to change.
func TestCallersOfLateFrame(t *testing.T) {
	p := newPage(7)
	for i, of := range []struct {
		caller   uint32
		from, to float64
	}{{11, 170, 190}, {12, 195, 240}, {12, 241, 280}} {
		outer := p.calls + 1
		p.add(record.Enter, 13, of.from)
		p.add(record.Enter, of.caller, of.from)
		p.add(record.Enter, 14, of.from)
		p.calls += 3
		p.add(record.Leave, outer+2, of.to)
		p.add(record.Leave, outer+1, of.to)
		p.add(record.Leave, outer, of.to)
		p.add(record.Idle, uint32(i), of.to)
	}
	windows := []result.Window{window(changesBut(110, 117)...)}
	s := checked(t, windows, New(info(4), arrived(p)).Results(windows))
	if len(s.Late) != 1 {
		t.Fatalf("late %+v", s.Late)
	}
	var callers []string
	for _, c := range s.Late[0].Callers {
		callers = append(callers, c.Text)
	}
	if got := strings.Join(callers, " ← "); got != "f12 (app.js:2) ← f13 (app.js:3)" ||
		!strings.Contains(s.Late[0].Sentence, ") ms, called by f12 (app.js:2) meanwhile.") {
		t.Errorf("callers %q: %s", got, s.Late[0].Sentence)
	}
}

// TestLateFrame: a function that kept the screen still is named, with bounds that hold its time.
func TestLateFrame(t *testing.T) {
	// frame 110 is at 166.7 ms, and 117 at 283.3 ms
	p := newPage(7)
	p.call(1, 20, 21)
	p.call(12, 170, 282)
	p.call(11, 300, 302)
	broken := record.Detail{Kind: "error", Message: "x is not defined", URL: "http://a.test/app.js", Line: 3,
		Column: 90}
	p.detail(305, broken)
	broken.Stack = []record.Place{{Function: "f12", URL: "http://a.test/app.js", Line: 3, Column: 90}}
	p.detail(175, broken)
	p.detail(306, record.Detail{Kind: "realm", URL: "http://a.test/"})
	p.detail(307, record.Detail{Kind: "blocked", What: "a nested frame's runtime"})
	of := info(3)
	of.Moved = []Moved{{URL: "http://a.test/app.js", Line: 3, Served: 90, Column: 70}}
	windows := []result.Window{window(changesBut(110, 117)...)}
	r := New(of, arrived(p))
	s := checked(t, windows, r.Results(windows))

	if len(s.Late) != 1 || len(s.Late[0].Functions) != 1 {
		t.Fatalf("late %+v", s.Late)
	}
	l := s.Late[0]
	f := s.Functions[l.Functions[0].Function]
	if l.Frame != 117 || l.FromNS != windows[0].StartNS+10*period || l.ToNS != windows[0].StartNS+17*period ||
		f.Name != "f12" || f.URL != "http://a.test/app.js" || f.Line != 2 || f.Calls != 1 {
		t.Errorf("%+v, function %+v", l, f)
	}
	holds := func(what string, s result.Span, ms float64) {
		t.Helper()
		if !(s.Low <= ms*1e6 && ms*1e6 <= s.High) || s.High-s.Low > 12e6 {
			t.Errorf("%s: %+v does not hold %g ms", what, s, ms)
		}
	}
	holds("self time meanwhile", l.Functions[0].Self, 112)
	holds("unexplained", l.UnexplainedNS, float64(7*period)/1e6-112)
	holds("self time", f.Self, 112)
	if !strings.Contains(l.Sentence, "f12 (app.js:2) ran for ") {
		t.Errorf("sentence %q", l.Sentence)
	}

	if len(s.Errors) != 1 || s.Errors[0].Count != 2 || s.Errors[0].Frame != 117 || s.Errors[0].Column != 70 ||
		len(s.Errors[0].Stack) != 1 || s.Errors[0].Stack[0].Column != 70 {
		t.Errorf("errors %+v", s.Errors)
	}
	programs := result.ScriptPrograms{Served: 3, Instrumented: 2, Bytes: 1550, CoveredBytes: 1500, AddedBytes: 120,
		Functions: 4, CalledOfThem: 3, Text: s.Programs.Text}
	if s.Programs != programs || len(s.Plain) != 1 || s.Plain[0].Count != 2 ||
		s.Plain[0].Reason != "it does not parse" {
		t.Errorf("programs %+v, plain %+v", s.Programs, s.Plain)
	}
	if len(s.Realms) != 1 || s.Realms[0].Kind != result.RealmWindow || s.Realms[0].URL != "http://a.test/" ||
		!strings.Contains(strings.Join(s.Warnings, " "), "The page forbids a nested frame's runtime.") {
		t.Errorf("realms %+v, warnings %q", s.Realms, s.Warnings)
	}
	if len(s.Tasks) != 3 || s.Functions[s.Tasks[1].Function].Name != "f12" || s.Tasks[1].Calls != 1 ||
		math.Abs(float64(s.Tasks[1].BeginNS-int64(onRig(170)))) > 1e6 || s.ClockNS > 4e6 || s.ClockNS <= 0 {
		t.Errorf("tasks %+v, clock %d ns", s.Tasks, s.ClockNS)
	}
	if s.Log != LogFile || !reflect.DeepEqual(s.Policies, of.Policies) || s.Records != int64(len(p.Records)) {
		t.Errorf("%s, %q, %d records", s.Log, s.Policies, s.Records)
	}
}

// TestNotLate: a short pause is not late, nor is the end of a window. Nor is a pause without
// scripts in a window of such pauses. Another long pause without scripts is late and unexplained.
func TestNotLate(t *testing.T) {
	for name, tc := range map[string]struct {
		changes []int
		calls   [][2]float64
		want    []int
	}{
		"even":              {changesBut(130, 131), nil, nil},
		"one frame dropped": {changesBut(110, 112), [][2]float64{{170, 180}}, nil},
		"long, no script":   {changesBut(110, 117), nil, []int{117}},
		"all long":          {[]int{100, 110, 120, 130}, nil, nil},
		"all long, one with a script": {[]int{100, 110, 120, 130}, [][2]float64{{170, 260}, {340, 370}},
			[]int{120}},
		"at the end": {[]int{100, 101, 102}, [][2]float64{{40, 1000}}, nil},
		"the worst first": {[]int{100, 101, 102, 103, 104, 108, 109, 110, 120, 121, 122}, nil,
			[]int{120, 108}},
	} {
		p := newPage(1)
		for _, c := range tc.calls {
			p.call(11, c[0], c[1])
		}
		p.ask(1, 2000)
		var got []int
		for _, l := range New(info(1), arrived(p)).Results([]result.Window{window(tc.changes...)}).Late {
			got = append(got, l.Frame)
		}
		if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: late %v, want %v", name, got, tc.want)
		}
	}
}

// TestTwoPeriodsAreNotLate: the last ns of its times do not make a pause of two periods late.
func TestTwoPeriodsAreNotLate(t *testing.T) {
	w := window(changesBut(110, 112)...)
	w.Times.Time[12] += 1000
	if late := New(info(1), arrived(newPage(1))).Results([]result.Window{w}).Late; len(late) > 0 {
		t.Errorf("late %+v", late)
	}
}

// TestFramesOfErrors: an error before a window has no frame.
func TestFramesOfErrors(t *testing.T) {
	p := newPage(1)
	for _, at := range []float64{250, 850, 1005, 3000} {
		p.detail(at, record.Detail{Kind: "error", Message: fmt.Sprint("at ", at)})
	}
	p.ask(2, 4000)
	w := window(changesBut(110, 117)...) // frame 100 is at 0 ms
	w.StartNS += 1e9
	w.T0 = &result.T0{AtNS: w.StartNS - 200e6, Source: "input"}
	windows := []result.Window{w}
	var got []int
	for _, e := range checked(t, windows, New(info(1), arrived(p)).Results(windows)).Errors {
		got = append(got, e.Frame)
	}
	if want := []int{-1, 100, 101, -1}; !reflect.DeepEqual(got, want) {
		t.Errorf("frames %v, want %v", got, want)
	}
}

// TestLateAnswer: the functions between an input and its answer are named.
// TestBriefCalls: calls without records are counted for their function. A late frame names those of
// its tasks.
func TestBriefCalls(t *testing.T) {
	p := newPage(1)
	p.call(11, 10, 11)
	p.add(record.Brief, 11, 400)
	p.add(record.Idle, 0, 12)
	p.call(12, 170, 282)
	p.add(record.Brief, 12, 5)
	p.add(record.Brief, 11, 3000)
	p.add(record.Idle, 0, 283)
	windows := []result.Window{window(changesBut(110, 117)...)}
	s := checked(t, windows, New(info(2), arrived(p)).Results(windows))
	calls := map[string]int64{}
	for _, f := range s.Functions {
		calls[f.Name] = f.Calls
	}
	if want := map[string]int64{"f11": 3401, "f12": 6}; !reflect.DeepEqual(calls, want) {
		t.Errorf("calls %v, want %v", calls, want)
	}
	if len(s.Late) != 1 || s.Late[0].Brief == nil || s.Brief == nil {
		t.Fatalf("late %+v, brief %+v", s.Late, s.Brief)
	}
	if late := s.Late[0].Brief; late.Calls != 3005 || late.Most.Function != "f11" || s.Brief.Calls != 3405 ||
		!strings.HasSuffix(s.Late[0].Sentence, " Too brief to record: 3,005 calls, most of f11 (app.js:1).") {
		t.Errorf("late %+v, all %+v: %s", late, s.Brief, s.Late[0].Sentence)
	}
}

func TestLateAnswer(t *testing.T) {
	p := newPage(1)
	p.call(11, 170, 260)
	w := window(changesBut(130, 131)...)
	w.Results = []measure.Result{{Measure: "response", Series: []measure.Series{
		{Name: "latency", Frames: []int{117, 500}, Values: []float64{120, 90}}}}}
	s := New(info(1), arrived(p)).Results([]result.Window{w})
	if len(s.Late) != 1 || !s.Late[0].Response || s.Late[0].Frame != 117 || s.Late[0].ToNS-s.Late[0].FromNS != 120e6 ||
		len(s.Late[0].Functions) != 1 {
		t.Errorf("late %+v", s.Late)
	}
}

// TestWorkerBesideAPage: a worker is a cause only beside an idle page, even if it was busier.
func TestWorkerBesideAPage(t *testing.T) {
	for name, tc := range map[string]struct {
		until float64 // end of the page's call
		want  string
	}{"the page is busy": {260, "f11"}, "only the worker is": {171, "f12"}} {
		main, worker := newPage(1), newPage(2)
		main.call(11, 170, tc.until)
		main.ask(2, 400)
		worker.Kind = record.Worker
		worker.call(12, 10, 400)
		windows := []result.Window{window(changesBut(110, 117)...)}
		s := checked(t, windows, New(info(2), arrived(worker, main)).Results(windows))
		if len(s.Late) != 1 || len(s.Late[0].Functions) == 0 ||
			s.Functions[s.Late[0].Functions[0].Function].Name != tc.want {
			t.Errorf("%s: late %+v of %+v", name, s.Late, s.Functions)
		}
	}
}

// TestGapsOfRealms: a gap names the realm that lost records, if that is listed.
func TestGapsOfRealms(t *testing.T) {
	all := []*page{newPage(1), newPage(2)}
	all[1].Kind = record.Worker
	for i := range result.MaxRealms {
		all = append(all, newPage(uint32(3+i)))
	}
	for _, p := range []*page{all[1], all[len(all)-1]} {
		p.Records = append(p.Records, record.Record{Code: record.Gap, Argument: uint16(record.RingFull), ID: 40, At: 9})
		p.add(record.Calls, 0, 12)
	}
	s := checked(t, nil, New(info(1), arrived(all...)).Results(nil))
	if len(s.Gaps) != 2 || s.Gaps[0].Realm != 1 || s.Realms[1].Kind != result.RealmWorker || s.Gaps[1].Realm != -1 {
		t.Errorf("gaps %+v of %d realms", s.Gaps, len(s.Realms))
	}
}

// TestLimits: the lists are bounded. Functions of late frames are among the kept ones.
func TestLimits(t *testing.T) {
	p := newPage(1)
	p.call(11, 190, 270) // the shortest of all but in the late frame
	at := 1000.0
	for k := range uint32(300) {
		p.call(12+k, at, at+100)
		at += 103
	}
	for range result.MaxTasks {
		p.call(12, at, at+0.5)
		at += 3
	}
	for k := range result.MaxErrors + 20 {
		p.detail(at+float64(k), record.Detail{Kind: "error", Message: fmt.Sprint("error ", k)})
	}
	windows := []result.Window{window(changesBut(110, 117)...)}
	s := checked(t, windows, New(info(301), arrived(p)).Results(windows))
	if len(s.Functions) != result.MaxFunctions || len(s.Tasks) != result.MaxTasks || s.TasksLeft != 301 ||
		len(s.Errors) != result.MaxErrors || s.ErrorsLeft != 20 || s.Programs.CalledOfThem != 301 {
		t.Errorf("%d functions, %d tasks and %d more, %d errors and %d more, %d called", len(s.Functions), len(s.Tasks),
			s.TasksLeft, len(s.Errors), s.ErrorsLeft, s.Programs.CalledOfThem)
	}
	if len(s.Late) != 1 || len(s.Late[0].Functions) != 1 || s.Functions[s.Late[0].Functions[0].Function].Name != "f11" {
		t.Errorf("late %+v", s.Late)
	}
	for i, task := range s.Tasks[1:] {
		if task.BeginNS < s.Tasks[i].BeginNS {
			t.Fatalf("task %d begins before the one before it", i+1)
		}
	}
}

// TestFalseClaims: functions that were not served, and times outside of the run, are not believed.
func TestFalseClaims(t *testing.T) {
	p := newPage(1)
	p.call(11, 20, 30)
	p.call(4_000_000_000, 40, 50)
	p.call(3_999_999_999, 60, 61)
	p.detail(-1e9, record.Detail{Kind: "error", Message: "before"})
	p.detail(70, record.Detail{Kind: "error", Message: "within"})
	p.detail(1e9, record.Detail{Kind: "error", Message: "after"})
	r := New(info(1), arrived(p))
	windows := []result.Window{window(changesBut(110, 117)...)}
	s := checked(t, windows, r.Results(windows))
	if len(s.Functions) != 1 || s.Functions[0].Name != "f11" ||
		!strings.Contains(strings.Join(s.Warnings, " "), "with calls that were not served: 2") {
		t.Errorf("functions %+v, warnings %q", s.Functions, s.Warnings)
	}
	var errors []string
	for _, e := range r.Events(onRig(1000)) {
		if err := e.Validate(); err != nil {
			t.Errorf("%+v: %v", e, err)
		}
		if e.Kind == ErrorEvent {
			errors = append(errors, string(e.Data))
		}
	}
	if len(errors) != 1 || !strings.Contains(errors[0], "within") {
		t.Errorf("events %q", errors)
	}
}

// TestHugeClaims: times of years, costs of minutes and an error at line 2³⁰ leave results valid.
func TestHugeClaims(t *testing.T) {
	p := newPage(1)
	p.Records = append(p.Records, record.Record{Code: record.Cost, ID: 1, At: 1e6})
	for range 40_000 {
		p.call(12, 20, 20)
	}
	p.call(11, 20, 9e11)
	p.detail(30, record.Detail{Kind: "error", Message: "far", Line: 1 << 30, Column: 1<<31 - 1,
		Stack: []record.Place{{Function: "f11", Line: 1 << 30}}})
	windows := []result.Window{window(changesBut(110, 117)...)}
	s := checked(t, windows, New(info(2), arrived(p)).Results(windows))
	if len(s.Functions) != 2 || s.Functions[0].Self.High != result.MaxSpan || s.Cost.CountedNS.High != result.MaxSpan ||
		len(s.Errors) != 1 {
		t.Errorf("functions %+v, cost %+v, errors %+v", s.Functions, s.Cost, s.Errors)
	}
}

// TestEvents: errors, long tasks and the first tasks become events with their uncertainty.
func TestEvents(t *testing.T) {
	p := newPage(1)
	p.call(12, 170, 282)
	p.Records = append(p.Records, record.Record{Code: record.LongTask, ID: 112_000, At: 170})
	p.detail(283, record.Detail{Kind: "rejection", Message: "no", URL: "http://a.test/app.js", Line: 3, Column: 90})
	for k := range maxTaskEvents {
		p.call(11, 300+3*float64(k), 300.5+3*float64(k))
	}
	of := info(3)
	of.Moved = []Moved{{URL: "http://a.test/app.js", Line: 3, Served: 90, Column: 70}}
	count := map[string]int{}
	for _, e := range New(of, arrived(p)).Events(onRig(1e5)) {
		if count[e.Kind]++; count[e.Kind] > 1 {
			continue
		}
		want, data := 170.0, map[string]any{}
		if err := json.Unmarshal(e.Data, &data); err != nil || e.Source != EventSource {
			t.Errorf("%+v: %v", e, err)
		}
		switch e.Kind {
		case ErrorEvent:
			want = 283
			if data["kind"] != "rejection" || data["column"] != 70.0 {
				t.Errorf("%s", e.Data)
			}
		case LongTaskEvent:
			if data["duration_ns"] != 112e6 {
				t.Errorf("%s", e.Data)
			}
		case TaskEvent:
			if data["function"] != "f12" || data["line"] != 2.0 || data["calls"] != 1.0 {
				t.Errorf("%s", e.Data)
			}
		}
		if off := e.At.Sub(onRig(want)).Abs(); off > e.Uncertainty || e.Uncertainty > 2*time.Millisecond {
			t.Errorf("%s: %v from its time, ± %v", e.Kind, off, e.Uncertainty)
		}
	}
	want := map[string]int{ErrorEvent: 1, LongTaskEvent: 1, TaskEvent: maxTaskEvents}
	if !reflect.DeepEqual(count, want) {
		t.Errorf("%v, want %v", count, want)
	}
}

// TestNoRecords: a run whose pages sent nothing says so.
func TestNoRecords(t *testing.T) {
	of := info(0)
	of.Received, of.Warnings = Received{}, []string{"first"}
	windows := []result.Window{window(changesBut(110, 117)...)}
	s := checked(t, windows, New(of, nil).Results(windows))
	if !reflect.DeepEqual(s.Warnings, []string{"first", NoRecords}) || len(s.Late) != 1 ||
		len(s.Late[0].Functions) != 0 {
		t.Errorf("%q, %+v", s.Warnings, s.Late)
	}
}

// TestFiles: both files are read as they were written. A cut log has the batches before.
func TestFiles(t *testing.T) {
	of := info(2)
	of.Warnings, of.Moved = []string{}, []Moved{{"u", 1, 2, 3, Source{"src/u.ts", 4}}}
	for i := range of.Programs {
		if of.Programs[i].Functions == nil {
			of.Programs[i].Functions = []Function{}
		}
	}
	of.Received.Refused = map[string]int64{"quota": 3}
	var b bytes.Buffer
	analyzetest.Check(t, of.Write(&b))
	if got, err := ReadInfo(&b); err != nil || !reflect.DeepEqual(got, of) {
		t.Errorf("%+v, %v", got, err)
	}
	const head = `{"schema": "eideticker.script", "version": 1, `
	long := strings.Repeat("x", 8001)
	for text, want := range map[string]string{
		``:                                "unexpected end of JSON input",
		`{"schema": "eideticker.run"}`:    `schema is "eideticker.run": must be "eideticker.script"`,
		`{"schema": "eideticker.script"}`: "version is 0: must be 1",
		`{"schema": "eideticker.script", "version": 1, "start_ns": -1}`:   "start_ns is -1: must be 0 to ",
		head + `"start_ns": 9223372036854775807}`:                         "start_ns is 9223372036854775807",
		head + `"policies": [` + strings.Repeat(`"p",`, 20) + `"p"]}`:     "21 policies: at most 20",
		head + `"policies": ["` + strings.Repeat("p", 301) + `"]}`:        "has 301 bytes",
		head + `"warnings": ["` + long + `"]}`:                            "has 8001 bytes",
		head + `"programs": [{"bytes": 4611686018427387904}]}`:            "size that is negative or above",
		head + `"programs": [{"url": "` + long + `"}]}`:                   "a text of more than 8000 bytes",
		head + `"programs": [{"plain": "` + long + `"}]}`:                 "a text of more than 8000 bytes",
		head + `"programs": [{"functions": [{"name": "` + long + `"}]}]}`: "name has 8001 bytes",
		head + `"programs": [{"functions": [{"column": 2147483649}]}]}`:   "a function at 0:2147483649",
		`{"schema": "eideticker.script", "version": 1, "programs": [{"url": "u", "bytes": -1}]}`: `program "u" has a ` +
			"size that is negative",
		`{"schema": "eideticker.script", "version": 1, "programs": [{"functions": [{"line": -1}]}]}`: "has a " +
			"function at -1:0",
	} {
		if got, err := ReadInfo(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", text, got, err, want)
		}
	}

	var log bytes.Buffer
	w := analyzetest.Must(record.NewLogWriter(&log))(t)
	for k := range 2 {
		p := newPage(uint32(k + 1))
		analyzetest.Check(t, w.Write(int64(k+5), p.Batch.Append(nil)))
	}
	whole := log.Bytes()
	all, err := ReadLog(bytes.NewReader(whole), start)
	if err != nil || len(all) != 2 || all[1].At != start+6 || all[1].Batch.Realm != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err = ReadLog(bytes.NewReader(whole[:len(whole)-1]), start); err == nil || len(all) != 1 {
		t.Errorf("cut: %+v, %v", all, err)
	}
	if all, err = ReadLog(strings.NewReader("EIDSLOG9"), start); err == nil || all != nil {
		t.Errorf("of another kind: %+v, %v", all, err)
	}
}
