package frames_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/frames"
	"github.com/eideticker/eideticker/analyze/result"
)

const (
	ms     = 1_000_000
	start  = 1_000 * ms
	period = 1_003_009 // of samples at 997 Hz
)

// device writes the trace of a simulated device.
type device struct {
	*activity.Writer
	t     *testing.T
	dir   string
	names map[string]uint32
}

func newDevice(t *testing.T, info activity.Info) *device {
	t.Helper()
	d := &device{t: t, dir: t.TempDir(), names: map[string]uint32{}}
	w, err := activity.NewWriter(d.dir, info)
	if err != nil {
		t.Fatal(err)
	}
	d.Writer = w
	return d
}

var native = activity.Info{Name: "native", Engine: "perf", Way: "samples", Clock: activity.Clock{Exact: true}}

// stack returns a stack of functions, outermost first. Names with a file are scripts.
func (d *device) stack(names ...string) (stack uint32) {
	for _, name := range names {
		stack = d.Stack(stack, d.function(name))
	}
	return stack
}

func (d *device) function(name string) uint32 {
	if d.names[name] == 0 {
		f := activity.Function{Name: name, Module: "/opt/chromium/chromium", Lang: activity.Native}
		if file, call, ok := strings.Cut(name, "|"); ok {
			f = activity.Function{Name: call, File: "http://a.test/" + file, Line: 4, Lang: activity.Script}
		}
		if strings.HasPrefix(name, "pvm_") {
			f.Lang = activity.Kernel
		}
		if name == "?" {
			f = activity.Function{Module: "libc.so.6", Offset: uint64(len(d.names))}
		}
		d.names[name] = d.Function(f)
	}
	return d.names[name]
}

func (d *device) event(e activity.Event) {
	d.t.Helper()
	if err := d.Event(e); err != nil {
		d.t.Fatal(err)
	}
}

func (d *device) open() *activity.Trace {
	d.t.Helper()
	info, err := d.Close()
	if err != nil {
		d.t.Fatal(err)
	}
	if len(info.Skipped) > 0 {
		d.t.Fatalf("skipped %v", info.Skipped)
	}
	trace, err := activity.Open(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { trace.Close() })
	return trace
}

// window returns a window with frames at times from its start.
func window(times []int64) result.Window {
	w := result.Window{Kind: result.All, StartNS: start, EndNS: start + times[len(times)-1], Region: []int{0, 0, 8, 8},
		Start: 0, End: len(times) - 1, Green: -1, Red: -1}
	s := analyze.Series{Name: "frame_time"}
	for i, at := range times {
		w.Times.Time = append(w.Times.Time, at)
		w.Times.Earliest, w.Times.Latest = append(w.Times.Earliest, at), append(w.Times.Latest, at)
		if i+1 < len(times) {
			s.Frames, s.Values = append(s.Frames, i), append(s.Values, float64(times[i+1]-at)/ms)
		}
	}
	w.Results = []analyze.Result{{Measure: "fps", State: analyze.Exact, Series: []analyze.Series{s}}}
	return w
}

// completed returns the profile as it is in results.json.
func completed(t *testing.T, p *result.Profile, w result.Window) *result.Profile {
	t.Helper()
	return resultsOf(t, p, w).Profile
}

func resultsOf(t *testing.T, p *result.Profile, w result.Window) *result.Results {
	t.Helper()
	full, err := (&result.Results{Recording: result.Recording{Frames: len(w.Times.Time), Width: 8, Height: 8,
		PeriodNS: 16_666_667}, Quality: analyze.Result{Measure: "quality", State: analyze.Exact},
		Windows: []result.Window{w}, Profile: p}).Complete()
	if err != nil {
		t.Fatal(err)
	}
	return full
}

// page simulates a browser that draws a frame in each period. Each tenth frame is late by 33 ms:
// it runs a slow function (slow), or waits for its data.
func page(t *testing.T, seed uint64, slow bool) (*activity.Trace, result.Window) {
	random := rand.New(rand.NewPCG(seed, 3))
	d := newDevice(t, native)
	mainThread := d.Thread(activity.Thread{Process: 7, ID: 7, Name: "CrRendererMain", ProcessName: "chromium"})
	compositor := d.Thread(activity.Thread{Process: 7, ID: 9, Name: "Compositor", ProcessName: "chromium"})
	pool := d.Thread(activity.Thread{Process: 6, ID: 6, Name: "VizCompositor", ProcessName: "chromium"})
	// run samples a thread that runs: steps of a kind, each of a random length.
	next := map[uint32]float64{}
	run := func(thread uint32, at, lasts float64, kinds [][]string) {
		for end := at + lasts; at < end; {
			kind := kinds[random.IntN(len(kinds))]
			to := min(end, at+random.ExpFloat64()*0.7*ms)
			for next[thread] += to - at; next[thread] >= period; next[thread] -= period {
				stack := d.stack(append([]string{"_start", "main", "RunLoop"}, kind...)...)
				d.event(activity.Event{At: int64(to - next[thread] + period), Thread: thread, Kind: activity.Sample,
					Ref: stack, Value: period})
			}
			at = to
		}
	}
	var kinds [][]string
	for i := range 60 {
		name := string(rune('A'+i%26)) + string(rune('a'+i/26))
		kinds = append(kinds, []string{
			[]string{"Layout", "Paint", "app.js|tick", "Commit"}[i%4], "f" + name, "g" + name}[:2+i%2])
	}
	kinds = append(kinds, []string{"Layout", "?"})
	at := float64(start)
	times := []int64{0}
	for n := range 300 {
		late := n%10 == 5
		length := 16.667 * ms
		work := (4 + 4*random.Float64()) * ms
		begin := at + random.Float64()*ms
		run(mainThread, begin, work, kinds)
		if late {
			length *= 3
			if slow {
				run(mainThread, begin+work, (27+3*random.Float64())*ms, [][]string{{"app.js|tick", "app.js|heavyLoop"},
					{"app.js|tick", "app.js|heavyLoop", "Builtin"}})
			}
		}
		run(compositor, at+9*ms, (1+random.Float64())*ms, kinds[:20])
		run(pool, at+11*ms, (1+2*random.Float64())*ms, kinds[20:])
		if late && !slow { // it works in the rest of the time as in others
			run(pool, at+20*ms, 2*ms, kinds)
		}
		at += length
		times = append(times, int64(at)-start)
	}
	return d.open(), window(times)
}

// TestSlowFunctionIsNamed: a planted function is first, in each of 10 simulated runs.
func TestSlowFunctionIsNamed(t *testing.T) {
	for seed := range uint64(10) {
		trace, w := page(t, seed, true)
		p := completed(t, frames.Results([]*activity.Trace{trace}, []result.Window{w}), w)
		if len(p.Tests) == 0 || p.LateFrames != 30 || p.OtherFrames != 269 {
			t.Fatalf("seed %d: %d tests of %d and %d frames", seed, len(p.Tests), p.LateFrames, p.OtherFrames)
		}
		first := p.Tests[0]
		if f := p.Functions[first.Function]; f.Name != "heavyLoop" || !first.Named || first.P >= 0.05 {
			t.Errorf("seed %d: the first is %s", seed, first.Text)
		}
		if first.LateNS < 275*ms/10 || first.LateNS > 295*ms/10 || first.HighNS-first.LowNS > 2*ms ||
			first.OtherNS > ms/10 {
			t.Errorf("seed %d: %s, but it runs for 28.5 ms", seed, first.Text)
		}
		for _, l := range p.Late {
			if l.Frame%10 != 6 || !strings.Contains(l.Sentence, "ms late. heavyLoop (app.js:4) ran for ") ||
				!strings.HasSuffix(l.Sentence, " before it on the main thread of chromium.") {
				t.Errorf("seed %d: frame %d: %s", seed, l.Frame, l.Sentence)
			}
		}
		if len(p.Late) != result.MaxLate {
			t.Errorf("seed %d: %d late frames", seed, len(p.Late))
		}
	}
}

// TestNothingIsNamedWithoutIt: late frames that wait have no function to name.
func TestNothingIsNamedWithoutIt(t *testing.T) {
	named := 0
	for seed := range uint64(20) {
		trace, w := page(t, 100+seed, false)
		p := completed(t, frames.Results([]*activity.Trace{trace}, []result.Window{w}), w)
		if p.LateFrames != 30 || len(p.Tests) == 0 {
			t.Fatalf("%d late frames, %d tests", p.LateFrames, len(p.Tests))
		}
		if slices.ContainsFunc(p.Tests, func(t result.ProfileTest) bool { return t.Named }) {
			named++
			t.Logf("seed %d: %s", seed, p.Tests[0].Text)
		}
	}
	if named > 1 {
		t.Errorf("%d of 20 runs name a function", named)
	}
}

// TestEqualFramesHoldTheLevel: random labels name a function in at most 5 % of the runs. There is
// some room for chance.
func TestEqualFramesHoldTheLevel(t *testing.T) {
	named := 0
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 9))
		trace, w := page(t, 200+seed, false)
		spans := result.FrameSpans([]result.Window{w}, 0)
		spans = slices.DeleteFunc(spans, func(s result.FrameSpan) bool { return s.Long })
		for i := range spans {
			spans[i].Long = random.IntN(10) == 0
		}
		c, err := frames.NewSource(trace).Compare([][]result.FrameSpan{spans})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Tests) == 0 {
			t.Fatal("no tests")
		}
		if c.Tests[0].P < 0.05 {
			named++
		}
	}
	if named > 3 { // P(more than 3 of 20 at 5 %) is 1.6 %
		t.Errorf("%d of 20 runs name a function", named)
	}
}

// TestFewLateFramesAreInconclusive: four late frames have no test.
func TestFewLateFramesAreInconclusive(t *testing.T) {
	trace, w := page(t, 1, true)
	w.Results[0].Series[0].Frames = w.Results[0].Series[0].Frames[:40]
	w.Results[0].Series[0].Values = w.Results[0].Series[0].Values[:40]
	p := completed(t, frames.Results([]*activity.Trace{trace}, []result.Window{w}), w)
	if want := "Inconclusive: 4 late frames, and a comparison needs 5."; p.TestText != want || len(p.Tests) > 0 {
		t.Errorf("%d tests: %s, want %s", len(p.Tests), p.TestText, want)
	}
	if len(p.Late) != 4 {
		t.Errorf("%d late frames", len(p.Late))
	}
	w.Results[0].Series[0].Frames = w.Results[0].Series[0].Frames[:5]
	w.Results[0].Series[0].Values = w.Results[0].Series[0].Values[:5]
	p = frames.Results([]*activity.Trace{trace}, []result.Window{w})
	if p.LateFrames != 0 || p.OtherFrames != 4 {
		t.Errorf("%d late and %d other frames, want 0 and 4", p.LateFrames, p.OtherFrames)
	}
}

// TestThreadOfTwoTraces: native code counts the time of a thread, and the browser's own trace names
// its script. The order of the traces does not matter.
func TestThreadOfTwoTraces(t *testing.T) {
	w := window([]int64{0, 10 * ms, 80 * ms, 90 * ms, 100 * ms, 110 * ms})
	for _, first := range []int{0, 1} {
		d := newDevice(t, native)
		thread := d.Thread(activity.Thread{Process: 7, ID: 8, Name: "chromium", ProcessName: "chromium renderer"})
		for _, e := range []activity.Event{{At: 12, Kind: activity.In}, {At: 100, Kind: activity.In},
			{At: 62, Kind: activity.Out, Ref: d.stack("main", "?")}} {
			e.At, e.Thread = start+e.At*ms, thread
			d.event(e)
		}
		js := newDevice(t, activity.Info{Name: "js", Engine: "chromium", Way: "trace", Clock: native.Clock})
		thread = js.Thread(activity.Thread{Process: 7, ID: 8, Name: "CrRendererMain", ProcessName: "Renderer"})
		js.event(activity.Event{At: start + 12*ms, Thread: thread, Kind: activity.Slice, Ref: js.function("RunTask"),
			Value: 60 * ms})
		for i := range int64(60) {
			js.event(activity.Event{At: start + (12+i)*ms, Thread: thread, Kind: activity.Sample,
				Ref: js.stack("app.js|slow"), Value: ms})
		}
		traces := []*activity.Trace{d.open(), js.open()}
		p := completed(t, frames.Results([]*activity.Trace{traces[first], traces[1-first]}, []result.Window{w}), w)
		if len(p.Threads) != 1 || p.Threads[0].Name != "CrRendererMain" ||
			p.Threads[0].ProcessName != "chromium renderer" || p.Threads[0].RunningNS != 50*ms {
			t.Errorf("threads %+v", p.Threads)
		}
		if len(p.Late) != 1 || len(p.Late[0].Threads) != 1 {
			t.Fatalf("late frames %+v", p.Late)
		}
		a := p.Late[0].Threads[0]
		if f := p.Functions[a.Function]; f.Name != "slow" || f.SelfNS != 60*ms || a.Running.Value != 50*ms ||
			a.FunctionNS.Value != 50*ms || !a.Sampled || len(a.Tree) == 0 {
			t.Errorf("%+v of %+v", f, a)
		}
	}
}

// TestWorkOfTheBrowserIsNamed: native code without names counts the time, and the browser's own
// trace names its work. A script stays before the work in it.
func TestWorkOfTheBrowserIsNamed(t *testing.T) {
	w := window([]int64{0, 10 * ms, 110 * ms, 120 * ms, 130 * ms, 140 * ms})
	const took = "ayout took 60 ms and style recalculation 20 ms"
	for _, tc := range []struct{ function, want, label string }{
		{"?", "L" + took + " of 100 ms before it on the main thread of chromium renderer.", "layout 60 ms"},
		{"app.js|resize", "resize (app.js:4) ran for 80 (79–81) ms of 100 ms before it on the main thread of " +
			"chromium renderer. L" + took + " meanwhile.", "resize 80 ms"},
	} {
		d := newDevice(t, native)
		place := activity.Thread{Process: 7, ID: 7, Name: "chromium", ProcessName: "chromium renderer"}
		thread := d.Thread(place)
		for i := range int64(80) {
			d.event(activity.Event{At: start + (20+i)*ms, Thread: thread, Kind: activity.Sample,
				Ref: d.stack(tc.function), Value: ms})
		}
		js := newDevice(t, activity.Info{Name: "js", Engine: "chromium", Way: "trace", Clock: native.Clock})
		thread = js.Thread(place)
		for _, e := range []struct {
			name     string
			at, last int64
		}{{"UpdateLayoutTree", 19, 20}, {"Layout", 39, 60}, {"MinorGC", 99, 4}} {
			f := js.Function(activity.Function{Name: e.name, Lang: activity.Category})
			js.event(activity.Event{At: start + e.at*ms, Thread: thread, Kind: activity.Slice, Ref: f,
				Value: e.last * ms})
		}
		profile := frames.Results([]*activity.Trace{d.open(), js.open()}, []result.Window{w})
		full := resultsOf(t, profile, w)
		p := full.Profile
		if len(p.Late) != 1 || !strings.Contains(p.Late[0].Sentence, tc.want) || p.Sentence != p.Late[0].Sentence {
			t.Errorf("%s: late frames %+v, want %q; %s", tc.function, p.Late, tc.want, p.Sentence)
		}
		if marks := full.LateMarks(0); len(marks) != 1 || marks[0].Label != tc.label {
			t.Errorf("%s: marks %+v", tc.function, marks)
		}
	}
}

// TestSwitchesAreExact: with switches, the three times add up to the frame. Waits have their
// functions and the thread that woke them.
func TestSwitchesAreExact(t *testing.T) {
	d := newDevice(t, native)
	one := d.Thread(activity.Thread{Process: 1, ID: 1, Name: "main"})
	two := d.Thread(activity.Thread{Process: 1, ID: 2, Name: "worker"})
	waits := d.stack("_start", "main", "WaitableEvent::Wait", "futex_wait")
	at := func(t float64, thread uint32, k activity.Kind, ref uint32, value int64) {
		d.event(activity.Event{At: start + int64(t*ms), Thread: thread, Kind: k, Ref: ref, Value: value})
	}
	at(-5, one, activity.In, 0, 0)
	at(20, one, activity.Out, waits, activity.Waits)
	for i := range 40 {
		at(22+float64(i), two, activity.Sample, d.stack("thread", "decode"), period)
	}
	at(10, two, activity.In, 0, 0)
	at(64, one, activity.Woken, two, 0)
	at(65, two, activity.Out, d.stack("thread", "sleep"), activity.Waits)
	at(66, one, activity.In, 0, 0)
	at(70, one, activity.Out, d.stack("_start", "main"), activity.Preempted)
	at(75, one, activity.In, 0, 0)
	at(120, one, activity.Out, waits, activity.Waits)
	w := window([]int64{0, 10 * ms, 80 * ms, 90 * ms, 100 * ms, 110 * ms})
	p := completed(t, frames.Results([]*activity.Trace{d.open()}, []result.Window{w}), w)
	if len(p.Late) != 1 || len(p.Late[0].Threads) != 2 {
		t.Fatalf("late frames %+v", p.Late)
	}
	l := p.Late[0]
	if got, want := l.Threads[0].Text, "ran 55 ms of 70 ms, waited 15 ms"; got != want {
		t.Errorf("worker: %s, want %s", got, want)
	}
	m := l.Threads[1]
	if m.Running.Value != 19*ms || m.Waiting.Value != 44*ms || m.Runnable.Value != 7*ms || m.Running.Low != 19*ms {
		t.Errorf("main: %s", m.Text)
	}
	if len(m.Waits) != 1 || m.Waits[0].Text !=
		"waited 44 ms in futex_wait, below WaitableEvent::Wait; woken by worker" {
		t.Errorf("waits %+v", m.Waits)
	}
	if f := p.Functions[l.Threads[0].Function]; f.Name != "decode" {
		t.Errorf("the longest is %s", f.Text)
	}
	const want = "The frame at 0.08 s came 60 ms late. decode (chromium) ran for 40 (39–42) ms of 70 ms before it on " +
		"worker. Main waited 44 ms in futex_wait, below WaitableEvent::Wait; woken by worker."
	if l.Sentence != want {
		t.Errorf("sentence %q, want %q", l.Sentence, want)
	}
	i := slices.IndexFunc(p.Threads, func(t result.ProfileThread) bool { return t.Name == "main" })
	if ran := p.Threads[i].RunningNS; ran != 25*ms+4*ms+45*ms {
		t.Errorf("main ran for %d ns", ran)
	}
}

// TestNamesDescribeTheirTime: a function that begins a thread is the cause of its own work only.
// "ChromeMain ran for 305 ms" was the cause of late frames in released browsers. In a VM without
// NMIs it was "pvm_irq_enable (kernel) ran for 23 ms".
func TestNamesDescribeTheirTime(t *testing.T) {
	for _, tc := range []struct {
		stack string
		named bool
		want  string
	}{
		{"ChromeMain ?", false, "The busiest thread, Renderer, ran for 80 (79–82) ms of 100 ms before it."},
		{"? pvm_irq_enable", false, "The busiest thread, Renderer, ran for 80 (79–82) ms of 100 ms before it."},
		{"ChromeMain", true, "ChromeMain (chromium) ran for 80 (79–82) ms of 100 ms before it on Renderer."},
		{"? pvm_read", true, "pvm_read (kernel) ran for 80 (79–82) ms of 100 ms before it on Renderer."},
	} {
		d := newDevice(t, native)
		thread := d.Thread(activity.Thread{Process: 1, ID: 2, Name: "Renderer"})
		late := d.stack(strings.Fields(tc.stack)...)
		times, at := []int64{0}, int64(0)
		for n := range 40 {
			stack, work, length := d.stack("?"), 2, 20*int64(ms)
			if n%4 == 3 { // the frame is late
				stack, work, length = late, 80, 100*ms
			}
			for i := range work {
				d.event(activity.Event{At: start + at + int64(i+1)*ms, Thread: thread, Kind: activity.Sample,
					Ref: stack, Value: period})
			}
			at += length
			times = append(times, at)
		}
		w := window(times)
		p := completed(t, frames.Results([]*activity.Trace{d.open()}, []result.Window{w}), w)
		if len(p.Late) == 0 || !strings.HasSuffix(p.Late[0].Sentence, "late. "+tc.want) {
			t.Fatalf("%s: %+v", tc.stack, p.Late)
		}
		named := slices.ContainsFunc(p.Tests, func(c result.ProfileTest) bool {
			return strings.Contains(c.Text, " ChromeMain ") || strings.Contains(c.Text, " pvm_")
		})
		if len(p.Tests) == 0 || named != tc.named {
			t.Errorf("%s: tests %+v", tc.stack, p.Tests)
		}
	}
}

// TestBlockedThreadIsNamed: without a long function, the sentence has the thread that waited for
// most of the time. It ran before and after that. A thread that polls is not named, nor one with
// nothing to do. Waits of one caller are added up.
func TestBlockedThreadIsNamed(t *testing.T) {
	for _, tc := range []struct {
		name  string
		waits float64 // length of each; 0: it is ready
		want  string
		usual bool // the thread waits there at other times, too
	}{
		{"one wait", 100, "In the 120 ms before it, the main thread of app waited 100 ms in io_schedule, below pread.",
			false},
		// Fault: a page that waited for input was blocked.
		{"a usual wait", 100, "The busiest thread, poller, ran for 20 ms of 120 ms before it. It waited 100 ms in " +
			"nap, below main (201 waits).", true},
		{"many waits", 2, "In the 120 ms before it, the main thread of app waited 100 ms in io_schedule, below pread " +
			"(50 waits).", false},
		{"ready", 0, "The busiest thread, the main thread of app, ran for 33 ms of 120 ms before it. It was ready " +
			"for 70 ms, while others had the processors.", false},
	} {
		d := newDevice(t, native)
		draws := d.Thread(activity.Thread{Process: 1, ID: 1, Name: "app", ProcessName: "app"})
		polls := d.Thread(activity.Thread{Process: 1, ID: 2, Name: "poller", ProcessName: "app"})
		idle := d.Thread(activity.Thread{Process: 1, ID: 3, Name: "idle", ProcessName: "app"})
		reads := d.stack("main", "pread")
		for _, name := range strings.Fields("l k j i h g f e d c b a io_schedule") {
			reads = d.Stack(reads, d.Function(activity.Function{Name: name, Lang: activity.Kernel}))
		}
		naps := d.stack("main", "nap")
		// run has a thread run until a time, and then wait with a stack for some ms.
		run := func(thread uint32, until float64, stack uint32, ms float64) {
			at := start + int64(until*1e6)
			d.event(activity.Event{At: at, Thread: thread, Kind: activity.Out, Ref: stack, Value: activity.Waits})
			d.event(activity.Event{At: at + int64(ms*1e6), Thread: thread, Kind: activity.In})
		}
		for at := 0.0; at < 240; at += 0.6 { // busier than the thread that draws
			run(polls, at, naps, 0.5)
		}
		run(idle, -200, naps, 500)
		launcher := d.Thread(activity.Thread{Process: 2, ID: 2, Name: "app", ProcessName: "launcher"})
		run(launcher, 119.9, naps, 110)
		run(launcher, 230, naps, 50)
		times := []int64{0}
		for i := range 6 {
			times = append(times, times[i]+20*ms)
			run(draws, float64(20*i)+1, map[bool]uint32{false: naps, true: reads}[tc.usual], 19)
		}
		times = append(times, 240*ms, 260*ms)
		for at := 122.0; at < 222 && tc.waits > 0; at += tc.waits {
			run(draws, at-0.01, reads, tc.waits)
		}
		if tc.waits == 0 {
			d.event(activity.Event{At: start + 152*ms, Thread: draws, Kind: activity.Out, Value: activity.Preempted})
			d.event(activity.Event{At: start + 222*ms, Thread: draws, Kind: activity.In})
		}
		run(draws, 223, naps, 60)
		w := window(times)
		p := completed(t, frames.Results([]*activity.Trace{d.open()}, []result.Window{w}), w)
		want := "The frame at 0.24 s came 100 ms late. " + tc.want
		if len(p.Late) != 1 || p.Late[0].Sentence != want {
			t.Errorf("%s: late frames %+v, want %s", tc.name, p.Late, want)
		}
	}
}

// TestRepeatedCauseIsNamed: a wait that makes each frame late is not the usual one. Fault: the more
// often a program was blocked, the less it was named.
func TestRepeatedCauseIsNamed(t *testing.T) {
	d := newDevice(t, native)
	draws := d.Thread(activity.Thread{Process: 1, ID: 1, Name: "app", ProcessName: "app"})
	reads, naps := d.stack("main", "pread"), d.stack("main", "nap")
	times, at := []int64{0}, 0.0
	run := func(stack uint32, ms float64) {
		out := start + int64((at+1)*1e6)
		d.event(activity.Event{At: out, Thread: draws, Kind: activity.Out, Ref: stack, Value: activity.Waits})
		d.event(activity.Event{At: out + int64(ms*1e6), Thread: draws, Kind: activity.In})
		at += ms + 1
		times = append(times, int64(at*1e6))
	}
	for range 9 {
		for range 3 {
			run(naps, 19)
		}
		run(reads, 99)
	}
	w := window(times)
	p := completed(t, frames.Results([]*activity.Trace{d.open()}, []result.Window{w}), w)
	for _, l := range p.Late {
		if !strings.Contains(l.Sentence, "waited 99 ms in pread, below main") {
			t.Errorf("%s", l.Sentence)
		}
	}
	if len(p.Late) != 8 { // the last one has no frame after it
		t.Errorf("%d late frames", len(p.Late))
	}
}

// TestCallsAreExact: calls have exact times and counts. A recursion counts once, and a wait within
// a call does not count.
func TestCallsAreExact(t *testing.T) {
	info := native
	info.Engine, info.Way = "uftrace", "functions"
	d := newDevice(t, info)
	one := d.Thread(activity.Thread{Process: 1, ID: 1, Name: "main"})
	f, g := d.function("outer"), d.function("fib")
	at := func(t float64, k activity.Kind, ref uint32, value int64) {
		d.event(activity.Event{At: start + int64(t*ms), Thread: one, Kind: k, Ref: ref, Value: value})
	}
	at(1, activity.In, 0, 0)
	at(2, activity.Call, f, 0)
	at(5, activity.Call, g, 0)
	at(7, activity.Call, g, 0)
	at(20, activity.Out, 0, activity.Waits)
	at(40, activity.In, 0, 0)
	at(60, activity.Return, g, 0)
	at(65, activity.Return, g, 0)
	at(66, activity.Return, f, 0)
	trace := d.open()
	all, err := frames.NewSource(trace).Within(start, start+70*ms, frames.Options{})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d threads, error %v", len(all), err)
	}
	a := all[0]
	root := a.Tree.Nodes[0]
	first := a.Tree.Nodes[root.Children[0]]
	if low, high := first.Bounds(); first.NS != 40*ms || low != first.NS || high != first.NS || a.Waiting != 20*ms {
		t.Errorf("fib ran for %d ns in %d…%d, waited %d", first.NS, low, high, a.Waiting)
	}
	if a.Longest.NS != 40*ms {
		t.Errorf("the longest ran for %d ns", a.Longest.NS)
	}
	w := window([]int64{0, 70 * ms})
	p := completed(t, frames.Results([]*activity.Trace{trace}, []result.Window{w}), w)
	i := slices.IndexFunc(p.Functions, func(f result.ProfileFunction) bool { return f.Name == "fib" })
	if i < 0 || p.Functions[i].Calls != 2 || p.Functions[i].SelfNS != 40*ms || p.Functions[i].TotalNS != 40*ms {
		t.Errorf("functions %+v", p.Functions)
	}
}

// TestSampledBoundsCover: the bounds of sampled times cover the true times of a function that runs
// in pieces longer than a period.
func TestSampledBoundsCover(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 5))
		d := newDevice(t, native)
		one := d.Thread(activity.Thread{Process: 1, ID: 1, Name: "main"})
		stacks := []uint32{d.stack("main", "f"), d.stack("main", "g")}
		now, next, truth := float64(start), start+random.Float64()*period, 0.0
		for i := range 20 {
			lasts := (1.01 + 5*random.ExpFloat64()) * period
			if i%2 == 0 {
				truth += lasts
			}
			for ; next < now+lasts; next += period {
				d.event(activity.Event{At: int64(next), Thread: one, Kind: activity.Sample, Ref: stacks[i%2],
					Value: period})
			}
			now += lasts
		}
		all, err := frames.NewSource(d.open()).Within(start, int64(now), frames.Options{})
		if err != nil || len(all) != 1 {
			t.Fatalf("%d threads, error %v", len(all), err)
		}
		tree := all[0].Tree
		for _, i := range tree.Nodes[0].Children {
			n := tree.Nodes[i]
			low, high := n.Bounds()
			want := truth
			if n.Group == 3 { // g
				want = now - start - truth
			}
			if float64(low) > want || float64(high) < want || high-low > 40*period {
				t.Errorf("seed %d: %d…%d, the true time is %g", seed, low, high, want)
			}
		}
	}
}

// TestOtherClocksWidenBounds: a trace with another clock has the same frames, within its bounds.
func TestOtherClocksWidenBounds(t *testing.T) {
	info := native
	info.Clock = activity.Clock{Origin: 5_000 * ms, Text: "±1 ms",
		Corners: []activity.Corner{{Offset: start - ms, Drift: 1e-5}, {Offset: start + ms}}}
	d := newDevice(t, info)
	one := d.Thread(activity.Thread{Process: 1, ID: 1, Name: "main"})
	for i := range 100 {
		d.event(activity.Event{At: 5_000*ms + 10*ms + int64(i)*period, Thread: one, Kind: activity.Sample,
			Ref: d.stack("main", "app.js|heavyLoop"), Value: period})
	}
	w := window([]int64{0, 10 * ms, 110 * ms, 120 * ms, 130 * ms, 140 * ms})
	p := completed(t, frames.Results([]*activity.Trace{d.open()}, []result.Window{w}), w)
	if len(p.Late) != 1 || p.Traces[0].ClockNS < 999_000 {
		t.Fatalf("%d late frames, traces %+v", len(p.Late), p.Traces)
	}
	r := p.Late[0].Threads[0].Running
	if math.Abs(r.Value-100*ms) > 2*ms || r.Low > 98*ms || r.High != 100*ms && r.High < r.Value {
		t.Errorf("ran %+v", r)
	}
}

// TestEndlessCallsFitResults: calls of years in many threads have times that results can hold.
func TestEndlessCallsFitResults(t *testing.T) {
	d := newDevice(t, native)
	for i := range int32(40) {
		one := d.Thread(activity.Thread{Process: 1, ID: i + 1})
		d.event(activity.Event{At: -1 << 60, Thread: one, Kind: activity.Call, Ref: d.function("main")})
		d.event(activity.Event{At: -1 << 60, Thread: one, Kind: activity.In})
		d.event(activity.Event{At: 1 << 60, Thread: one, Kind: activity.Sample, Ref: d.stack("main"), Value: period})
	}
	w := window([]int64{0, 10 * ms, 110 * ms, 120 * ms, 130 * ms})
	p := completed(t, frames.Results([]*activity.Trace{d.open()}, []result.Window{w}), w)
	if len(p.Late) != 1 || p.Functions[0].SelfNS != result.MaxSpan || p.Threads[0].RunningNS != result.MaxSpan {
		t.Errorf("%d late frames, functions %+v", len(p.Late), p.Functions)
	}
}

// TestTracesWithoutClockHaveNoFrames: a trace on its own axis has functions, and neither lanes nor
// late frames.
func TestTracesWithoutClockHaveNoFrames(t *testing.T) {
	info := native
	info.Clock = activity.Clock{None: true}
	d := newDevice(t, info)
	one := d.Thread(activity.Thread{Process: 1, ID: 1, Name: "main"})
	d.event(activity.Event{At: start + 50*ms, Thread: one, Kind: activity.Sample, Ref: d.stack("main"), Value: period})
	w := window([]int64{0, 10 * ms, 110 * ms, 120 * ms, 130 * ms})
	p := completed(t, frames.Results([]*activity.Trace{d.open()}, []result.Window{w}), w)
	if len(p.Functions) != 1 || len(p.Threads) != 1 || p.Threads[0].FromNS != 0 || len(p.Threads[0].Lane) > 0 {
		t.Errorf("functions %+v, threads %+v", p.Functions, p.Threads)
	}
	for _, l := range p.Late {
		if len(l.Threads) > 0 {
			t.Errorf("late frame %+v", l)
		}
	}
}

// TestFramesWithLostRecordsAreNotCompared: frames in a gap, and after the end of a trace that was
// cut, allow no conclusions.
func TestFramesWithLostRecordsAreNotCompared(t *testing.T) {
	const period = 16 * ms
	info := native
	info.BeginNS, info.EndNS, info.Cut = start, start+37*period+period/2, "the disk is full"
	d := newDevice(t, info)
	thread := d.Thread(activity.Thread{Process: 1, ID: 1, Name: "main"})
	var spans []result.FrameSpan
	for i := range int64(40) {
		from := start + i*period
		spans = append(spans, result.FrameSpan{Frame: int(i), FromNS: from, ToNS: from + period, Long: i%4 == 0})
		if i < 37 {
			d.event(activity.Event{At: from + ms, Thread: thread, Kind: activity.Sample, Ref: d.stack("loop"),
				Value: ms})
		}
	}
	d.event(activity.Event{At: start + 4*period + ms, Kind: activity.Lost, Ref: 7, Value: period})
	trace := d.open()
	c, err := frames.NewSource(trace).Compare([][]result.FrameSpan{spans})
	if err != nil || c.Gaps != 5 || c.Late != 9 || c.Other != 26 {
		t.Errorf("%d late and %d others, %d left out, %v", c.Late, c.Other, c.Gaps, err)
	}
	if c, err = frames.NewSource(trace).Compare([][]result.FrameSpan{spans[:20]}); err != nil || c.Late != 5 ||
		len(c.Tests) > 0 {
		t.Errorf("%+v, %v: want five late frames, of which four can be compared", c, err)
	}
}

// TestManyGaps: a gap after very many others leaves out its frame too.
// TestLateFramesNameGaps: a late frame within a gap says so, with thread and cause, also without
// activity. Others do not.
func TestLateFramesNameGaps(t *testing.T) {
	d := newDevice(t, native)
	main := d.Thread(activity.Thread{Process: 1, ID: 1, Name: "main"})
	d.event(activity.Event{At: start + 40*ms, Thread: main, Kind: activity.Sample, Ref: d.stack("a"), Value: ms})
	for _, of := range []struct {
		thread uint32
		from   int64
	}{{main, 210}, {0, 420}, {main, 1000}} {
		if err := activity.WriteGap(d.Writer, of.thread, start+of.from*ms, start+(of.from+20)*ms, "full"); err != nil {
			t.Fatal(err)
		}
	}
	var times []int64
	for at := int64(0); at < 900; at += 16 {
		times = append(times, at*ms)
		if at == 0 || at == 192 || at == 400 || at == 608 { // late ones
			at += 64
		}
	}
	w := window(times)
	p := completed(t, frames.Results([]*activity.Trace{d.open()}, []result.Window{w}), w)
	var got []string
	for _, l := range p.Late {
		got = append(got, l.Sentence[strings.LastIndex(l.Sentence, " The trace"):])
	}
	slices.Sort(got)
	const there = " The trace is incomplete there: native lost records"
	const begin = " The trace is incomplete there: native begins 40 ms before the frame."
	if want := []string{begin, there + " of main: full.", there + ": full."}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSmallFunctionsAreNotNamed: a function that runs in late frames only, but for 1 % of their
// time, does not explain them.
func TestSmallFunctionsAreNotNamed(t *testing.T) {
	d := newDevice(t, native)
	thread := d.Thread(activity.Thread{Process: 1, ID: 1, Name: "main"})
	var times []int64
	for at, i := int64(0), 0; i < 100; i++ {
		times = append(times, at*ms)
		if at += 16; i%8 == 4 {
			at += 84
			d.event(activity.Event{At: start + (at-50)*ms, Thread: thread, Kind: activity.Sample, Ref: d.stack("tiny"),
				Value: ms})
		}
		d.event(activity.Event{At: start + (at-8)*ms, Thread: thread, Kind: activity.Sample, Ref: d.stack("all"),
			Value: ms})
	}
	w := window(times)
	p := completed(t, frames.Results([]*activity.Trace{d.open()}, []result.Window{w}), w)
	if len(p.Tests) == 0 || p.Tests[0].P >= result.TestLevel || p.Functions[p.Tests[0].Function].Name != "tiny" ||
		!strings.HasPrefix(p.TestText, "No function took a larger share of 12 late frames") {
		t.Errorf("%s %+v", p.TestText, p.Tests)
	}
}

func TestManyGaps(t *testing.T) {
	d := newDevice(t, native)
	thread := d.Thread(activity.Thread{Process: 1, ID: 1, Name: "main"})
	for i := range int64(1005) {
		d.event(activity.Event{At: start + i*ms, Kind: activity.Lost, Ref: 1, Value: ms})
	}
	d.event(activity.Event{At: start + 3000*ms, Thread: thread, Kind: activity.Sample, Ref: d.stack("loop"), Value: ms})
	spans := []result.FrameSpan{{Frame: 1, FromNS: start + 1004*ms, ToNS: start + 1005*ms, Long: true},
		{Frame: 2, FromNS: start + 1010*ms, ToNS: start + 1020*ms}}
	if c, err := frames.NewSource(d.open()).Compare([][]result.FrameSpan{spans}); err != nil || c.Gaps != 1 {
		t.Errorf("%d frames left out, want 1, %v", c.Gaps, err)
	}
}
