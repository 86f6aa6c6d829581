package result

import (
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

// TestProfilesAreChecked: each fault of a profile is an error that names its place.
// TestEnablesInterrupts: names of Linux 6.
func TestEnablesInterrupts(t *testing.T) {
	for name, want := range map[string]bool{"pvm_irq_enable": true, "__raw_callee_save_pvm_irq_enable": true,
		"_raw_spin_unlock_irqrestore": true, "_raw_spin_unlock_irq": true, "_raw_spin_lock_irq": false,
		"_raw_spin_lock_irqsave": false, "handle_irq_event": false} {
		if got := EnablesInterrupts(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestProfilesAreChecked(t *testing.T) {
	for _, tc := range []struct {
		edit func(*Profile)
		want string
	}{
		{func(p *Profile) {}, ""},
		{func(p *Profile) { p.Late[0].Window = 1 }, "late[0]: window"},
		{func(p *Profile) { p.Late[0].Threads[0].Thread = 2 }, "late[0] threads[0]: thread"},
		{func(p *Profile) { p.Late[0].Threads[0].Function = 3 }, "late[0] threads[0]: function"},
		{func(p *Profile) { p.Late[0].Threads[0].Running.Low = 1e12 }, "late[0] threads[0]: running_ns"},
		{func(p *Profile) { p.Late[0].Threads[0].Waits[0].WokenBy = -2 }, "woken_by"},
		{func(p *Profile) { p.Late[0].Threads[0].Tree[0].NS = -1 }, "tree[0]: ns is -1"},
		{func(p *Profile) {
			deep := &p.Late[0].Threads[0].Tree
			for range MaxTreeDepth {
				deep = &(*deep)[0].Callers
				*deep = []ProfileNode{{}}
			}
		}, "a tree is deeper"},
		{func(p *Profile) { p.Late[0].Work[0].Kind = "rest" }, "late[0] work[0]: kind"},
		{func(p *Profile) { p.Late[0].Work[0].Thread = 2 }, "late[0] work[0]: thread"},
		{func(p *Profile) { p.Functions[0].Language = "basic" }, "functions[0]: language"},
		{func(p *Profile) { p.Functions[0].Name = strings.Repeat("x", maxText+1) }, "functions[0]: "},
		{func(p *Profile) { p.Threads[0].Lane[0] = 101 }, "lane[0] is 101"},
		{func(p *Profile) { p.Tests[0].P = 1.5 }, "p is 1.5"},
		{func(p *Profile) { p.Tests[0].LowNS = 1e12 }, "outside of its bounds"},
		{func(p *Profile) { p.Events = make([]ProfileEvent, MaxProfileEvents+1) }, "2001 events"},
		{func(p *Profile) { p.Events[0].LatestNS = 0 }, "before earliest_ns"},
		{func(p *Profile) { p.Traces[0].Unnamed = 2 }, "unnamed is 2"},
		{func(p *Profile) { p.Late[0].Lost = make([]string, MaxLateThreads+1) }, "late[0]: 6 lost"},
		{func(p *Profile) { p.Claims[0].Window = 1 }, "claims[0]: window"},
		{func(p *Profile) { p.Claims[0].By = "guess" }, "claims[0]: by"},
		{func(p *Profile) { p.Claims[0].Delay.Low = 1e9 }, "claims[0]: delay_ns"},
		{func(p *Profile) { p.Claims[0].GoodFrames[0] = -1 }, "claims[0]: good_frames"},
		{func(p *Profile) { p.Claims[0].Harmless = -1 }, "claims[0]: "},
	} {
		r := sample()
		tc.edit(r.Profile)
		_, err := r.Complete()
		if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) ||
			!strings.Contains(err.Error(), "profile")) {
			t.Errorf("error %v, want %q", err, tc.want)
		}
	}
}

// TestWorkIsTheCause: work of the browser is the cause of a late frame if it took most of the time
// of the first thread's function. Work of other threads is not, and a script is named itself.
func TestWorkIsTheCause(t *testing.T) {
	const lasted = 100_000_000
	for name, tc := range map[string]struct {
		f      ProfileFunction
		ran    float64
		thread int
		work   int64
		want   bool
	}{
		"code without a name":    {ProfileFunction{Language: "native"}, 80e6, 0, 60e6, true},
		"category":               {ProfileFunction{Language: "category", Name: "Layout"}, 60e6, 0, 60e6, true},
		"a part of unnamed code": {ProfileFunction{Language: "native"}, 95e6, 0, 30e6, false},
		"scripts":                {ProfileFunction{Language: "category", Name: "FunctionCall"}, 80e6, 0, 60e6, false},
		"named code":             {ProfileFunction{Language: "native", Name: "decode"}, 80e6, 0, 60e6, false},
		"work of another thread": {ProfileFunction{Language: "native"}, 80e6, 1, 60e6, false},
		"less than a quarter":    {ProfileFunction{Language: "native"}, 30e6, 0, 20e6, false},
	} {
		p := &Profile{Functions: []ProfileFunction{tc.f}}
		l := &ProfileLate{ToNS: lasted, Threads: []ProfileActive{{Thread: 0, Function: 0,
			FunctionNS: Span{tc.ran, tc.ran, tc.ran}}},
			Work: []ProfileWork{{Kind: WorkLayout, Thread: tc.thread, NS: tc.work}}}
		if got := p.works(l); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}

// TestCausesOfBoth: scripts explain their late frames, and the profile explains the others.
func TestCausesOfBoth(t *testing.T) {
	r := sample()
	other := r.Profile.Late[0]
	other.Frame, other.FromNS, other.Threads = 103, other.FromNS-1, slices.Clone(other.Threads)
	other.Threads[0].Function, other.Work = -1, []ProfileWork{{Kind: WorkLayout, Thread: 1, NS: 20_000_000}}
	r.Profile.Late = append(r.Profile.Late, other)
	all := r.causes(0)
	if len(all) != 2 || all[0].frame != 103 || all[0].name != "layout 20 ms" || all[1].frame != 104 ||
		!strings.Contains(all[1].text, r.Script.Functions[r.Script.Late[0].Functions[0].Function].Name) {
		t.Errorf("causes %+v", all)
	}
}

// TestWebAssemblyIsNamed: a function of WebAssembly is the cause of a late frame. It has most of
// the time of the script's function that called it.
func TestWebAssemblyIsNamed(t *testing.T) {
	for ran, want := range map[float64]string{
		400: "crunch (WebAssembly), within work (a.js:1), ran for 400 ms of it.",
		200: "work (a.js:1) ran for 450 ms of it.",
	} {
		r := paused(lateBy500(nsSpan(50, 1), RanMeantime{0, nsSpan(450, 1)}))
		l := r.Script.Late[0]
		r.Script.Functions[0] = Function{Name: "work", URL: "http://a.test/a.js", Line: 1}
		r.Profile = &Profile{Functions: []ProfileFunction{{Name: "crunch", Module: webAssembly}},
			Threads: []ProfileThread{{Name: "main"}}, Late: []ProfileLate{{Frame: l.Frame, FromNS: l.FromNS,
				ToNS: l.ToNS, Threads: []ProfileActive{{FunctionNS: nsSpan(ran, 1)}}}}}
		full := analyzetest.Must(r.Complete())(t)
		if got := full.Windows[0].Answer.Sentence; !strings.HasSuffix(got, want) {
			t.Errorf("%s\nwant …%s", got, want)
		}
	}
}

// TestBusyThreadIsTheCause: without a function, a thread that ran for half of the time is the
// cause. A page that waits has none.
func TestBusyThreadIsTheCause(t *testing.T) {
	for ran, want := range map[float64]string{
		300: "the worst pause was 500 ms, at 0.5 s: ThreadPool ran for 300 ms of it.",
		200: "the worst pause was 500 ms, at 0.5 s.",
	} {
		r := paused(lateBy500(nsSpan(50, 1)))
		l := r.Script.Late[0]
		r.Script = nil
		r.Profile = &Profile{Threads: []ProfileThread{{Name: "ThreadPool"}}, Late: []ProfileLate{{Frame: l.Frame,
			FromNS: l.FromNS, ToNS: l.ToNS, Threads: []ProfileActive{{Function: -1, Running: nsSpan(ran, 1)}}}}}
		full := analyzetest.Must(r.Complete())(t)
		if got := full.Windows[0].Answer.Sentence; !strings.HasSuffix(got, want) {
			t.Errorf("%s\nwant …%s", got, want)
		}
	}
}

// TestProfileTexts: the first sentence is that of a named function, of a late frame, or of the
// longest function.
func TestProfileTexts(t *testing.T) {
	for _, tc := range []struct {
		edit func(*Profile)
		want string
	}{
		{func(p *Profile) { p.Traces = nil }, "The run has no traces."},
		{func(p *Profile) { p.Tests[0].Named = false },
			"Unnamed code in chromium ran for 29 (28–30) ms of it on Compositor. It waited 2.0 ms in futex_wait, " +
				"below heavyLoop; woken by Compositor."},
		// Fault: a longer pause, in which the page waited for input, stood for the run.
		{func(p *Profile) {
			idle := p.Late[0]
			idle.Threads = slices.Clone(idle.Threads)
			idle.Threads[0].FunctionNS, idle.Threads[0].Blocked = Span{1e6, 1e6, 1e6}, false
			idle.Threads[0].Running = idle.Threads[0].FunctionNS
			p.Tests, p.Late = nil, []ProfileLate{idle, p.Late[0]}
		},
			"Unnamed code in chromium ran for 29 (28–30) ms of it on Compositor. It waited 2.0 ms in futex_wait, " +
				"below heavyLoop; woken by Compositor."},
		{func(p *Profile) { p.Tests, p.Late = nil, nil }, "heavyLoop (app.js:4) ran longest: 29 ms."},
		{func(p *Profile) { p.Tests, p.Late, p.Functions[0].Name = nil, nil, "" },
			"The busiest thread, the main thread of chromium, ran for 31 ms."},
		{func(p *Profile) {
			p.Tests, p.Late, p.Functions[0].Name, p.Functions[0].Language = nil, nil, "pvm_irq_enable", "kernel"
		}, "The busiest thread, the main thread of chromium, ran for 31 ms."},
		{func(p *Profile) { p.Tests, p.Late, p.Functions[0].Calls = nil, nil, 4 },
			"heavyLoop (app.js:4) took longest: 29 ms, with its waits."},
		{func(p *Profile) { p.Tests, p.Late, p.Functions = nil, nil, nil },
			"Longest event: MinorGC for 1.2 ms on Compositor, before frame 104."},
		{func(p *Profile) { p.Tests, p.Late, p.Functions, p.Events = nil, nil, nil, nil },
			"The traces have no functions."},
		{func(p *Profile) { p.Tests, p.Late[0].Threads = nil, nil }, "The traces have no activity meanwhile."},
		{func(p *Profile) {
			p.Tests = nil
			a := &p.Late[0].Threads[0]
			a.Function, a.Running, a.Waits[0].NS, a.Blocked = -1, Span{2e6, 2e6, 2e6}, 30_000_000, false
			p.Threads[1] = ProfileThread{Process: 5, ID: 5, Name: "chromium", ProcessName: "chromium renderer"}
		}, "The busiest thread, the main thread of chromium renderer, ran for 2.0 ms of it. It waited 30 ms in " +
			"futex_wait, below heavyLoop; woken by the main thread of chromium renderer."},
		{func(p *Profile) {
			p.Tests = nil
			a := &p.Late[0].Threads[0]
			a.Function, a.Waits[0].NS, a.Waits[0].Times = -1, 30_000_000, 1200
		}, "Meanwhile, Compositor waited 30 ms in futex_wait, below heavyLoop (1,200 waits); woken by Compositor."},
		{func(p *Profile) {
			p.Tests, p.Late[0].Threads[0].Blocked = nil, false
			p.Late[0].Threads = append(p.Late[0].Threads, ProfileActive{Blocked: true, Function: -1,
				Waits: []ProfileWait{{NS: 28_000_000, Functions: []int{2}, WokenBy: 1}}})
		}, "on Compositor. The main thread of chromium waited 28 ms in futex_wait; woken by Compositor."},
		{func(p *Profile) {
			p.Tests = nil
			a := &p.Late[0].Threads[0]
			a.Sampled, a.Running.Low, a.Waiting = false, 0, Span{}
		}, "Unnamed code in chromium took 29 ms of it on Compositor, with its waits."},
		{func(p *Profile) {
			p.Tests, p.Late[0].Threads[0].Function, p.Late[0].Threads[0].Waits[0].Functions = nil, -1, []int{2, 3, 4, 5}
			for _, module := range []string{"libc.so.6", "libc.so.6", "app"} {
				p.Functions = append(p.Functions, ProfileFunction{Name: "in_" + module, Module: module})
			}
		}, "Compositor waited 2.0 ms in futex_wait, below in_libc.so.6 and in_app; woken by Compositor."},
		{func(p *Profile) {
			p.Tests, p.Late[0].Threads[0].Blocked = nil, false
			p.Threads[0] = ProfileThread{Process: 5, ID: 5, ProcessName: "app"}
			p.Threads[1] = ProfileThread{Process: 6, ID: 6, ProcessName: "app"}
		}, "on the main thread of app 6."},
	} {
		r := sample()
		r.Profile.Late[0].Work = nil
		tc.edit(r.Profile)
		if p := r.Profile.Complete(r); !strings.HasSuffix(strings.TrimSuffix(p.Sentence,
			" The trace is incomplete there: js lost records of Compositor: the buffer was full."), tc.want) {
			t.Errorf("sentence %q, want %q", p.Sentence, tc.want)
		}
	}
	for _, tc := range []struct {
		p    Profile
		want string
	}{
		{Profile{}, ""},
		{Profile{OtherFrames: 3}, "No frame was late by the median of its window."},
		{Profile{LateFrames: 1}, "Inconclusive: 1 late frame, and a comparison needs 5."},
		{Profile{LateFrames: 7}, "Inconclusive: too few other frames, or no function ran in 7 late frames."},
		{Profile{LateFrames: 7, OtherFrames: 90, Tests: make([]ProfileTest, 2)},
			"No function took a larger share of 7 late frames than of 90 other frames."},
	} {
		if got := tc.p.Complete(&Results{}).TestText; got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// TestProfileExplainsAnswer: without scripts, the answer of a window names the function of a
// profile.
func TestProfileExplainsAnswer(t *testing.T) {
	r := paused(lateBy500(nsSpan(50, 1)))
	l := r.Script.Late[0]
	r.Script = nil
	r.Profile = &Profile{Functions: []ProfileFunction{{Name: "Layout", Module: "chromium"}},
		Threads: []ProfileThread{{Name: "main"}},
		Late: []ProfileLate{{Frame: l.Frame, FromNS: l.FromNS, ToNS: l.ToNS, Threads: []ProfileActive{{
			FunctionNS: nsSpan(450, 1)}}}}}
	full := analyzetest.Must(r.Complete())(t)
	const want = "the worst pause was 500 ms, at 0.5 s: Layout (chromium) ran for 450 ms of it."
	if got := full.Windows[0].Answer.Sentence; !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant …%s", got, want)
	}
	if r.Profile.Late[0].Sentence != "" || r.Profile.Functions[0].Text != "" {
		t.Error("Complete changed the results that it copied")
	}
}
