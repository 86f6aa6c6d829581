package perfscript

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/activitytest"
)

// told lists events as lines.
func told(s *activitytest.Sink) (all []string) {
	kinds := map[activity.Kind]string{activity.Sample: "sample", activity.Out: "out", activity.In: "in",
		activity.Woken: "woken", activity.Lost: "lost", activity.Instant: "instant"}
	for _, e := range s.Events {
		line := fmt.Sprint(e.At, " ", kinds[e.Kind])
		if e.Thread > 0 {
			line += fmt.Sprint(" ", s.Threads[e.Thread-1].ID)
		}
		switch e.Kind {
		case activity.Sample, activity.Out:
			line += fmt.Sprint(" ", e.Value, " ", s.StackText(e.Ref))
		case activity.Woken:
			line += fmt.Sprint(" by ", s.Threads[e.Ref-1].ID)
		case activity.Lost:
			line += fmt.Sprint(" ", e.Value, " ", e.Ref)
		case activity.Instant:
			line += " " + s.Functions[e.Ref-1].Name
		}
		all = append(all, strings.TrimSpace(line))
	}
	return all
}

func TestRecords(t *testing.T) {
	const fork = "a 7/7 1.000000000: PERF_RECORD_FORK(8:8):(7:7)\n"
	for _, tc := range []struct {
		name, text string
		o          Options
		want       []string
		skipped    string
	}{
		{name: "sample with all fields", text: "my app 7/8 [001] 2.500000001:    1003009          cpu-clock:u: \n" +
			"\t           21932 inner+0x32 (/lib/x.so)\n\t 80c5 outer(int, char) const+0x215 (/lib/x.so)\n\n",
			want: []string{"2500000001 sample 8 1003009 outer(int, char) const;inner"}},
		{name: "without process, period and ns", text: "app 8 2.500000: cycles: \n\t 1 f+0x1 (/x)\n\n",
			want: []string{"2500000000 sample 8 250000 f"}},
		{name: "period from the options", text: "app 8 2.500000: 77 cycles:P: \n\t 1 f+0x1 (/x)\n\n",
			o: Options{Period: 5000}, want: []string{"2500000000 sample 8 5000 f"}},
		{name: "function in the record's line", text: "app 8/8 2.000000: cycles:  ffffffff8139a f+0x1 (/x)\n",
			want: []string{"2000000000 sample 8 250000 f"}},
		{name: "unnamed functions", text: "app 8/8 2.000000: 1 cpu-clock:\n\t1f [unknown] (/lib/y z.so (deleted))\n" +
			"\t7f00aa [unknown] ([unknown])\n\tffffffff81000000 [unknown] ([unknown])\n\n",
			want: []string{"2000000000 sample 8 1 [kernel]+0x0;+0x0;/lib/y z.so+0x1f"}},
		{name: "begins of unnamed functions", text: "app 8/8 2.000000: 1 cpu-clock:\n\t1f [unknown] (/lib/y.so)\n\n",
			o:    Options{Place: func(string, uint64) (uint64, string) { return 0x10, "ab" }},
			want: []string{"2000000000 sample 8 1 /lib/y.so+0x10"}},
		{name: "switch with stack", text: "a 8/8 2.000000000: 1 sched:sched_switch: prev_comm=a prev_pid=8 " +
			"prev_prio=120 prev_state=S ==> next_comm=b next_pid=9 next_prio=120\n" +
			"\tffffffff8100 schedule+0x1 ([k])\n\n" +
			"a 8/8 2.000000100: PERF_RECORD_SWITCH OUT        \na 8/8 3.000000000: PERF_RECORD_SWITCH IN\n",
			want: []string{"2000000000 out 8 0 schedule", "3000000000 in 8"}},
		{name: "preempted", text: "a 8/8 2.000000000: sched:sched_switch: prev_comm=a prev_pid=8 prev_prio=1 " +
			"prev_state=R+ ==> next_comm=b next_pid=9 next_prio=1\n\n",
			want: []string{"2000000000 out 8 1"}},
		{name: "no switches to the thread", text: "a 8/8 2.000000: 1 sched:sched_switch: prev_comm=a prev_pid=8 " +
			"prev_prio=120 prev_state=S ==> next_comm=z next_pid=10 next_prio=120\n\n" +
			"a 8/8 2.200000: 1 cpu-clock:\n\na 8/8 2.300000: 1 sched:sched_switch: prev_comm=a prev_pid=8 " +
			"prev_prio=120 prev_state=S ==> next_comm=z next_pid=10 next_prio=120\n\n" +
			"a 8/8 2.400000: 1 sched:sched_switch: prev_comm=a prev_pid=8 " +
			"prev_prio=120 prev_state=R ==> next_comm=z next_pid=10 next_prio=120\n\n",
			want: []string{"2000000000 out 8 0", "2200000000 in 8", "2200000000 sample 8 1", "2300000000 out 8 0",
				"2400000000 in 8", "2400000000 out 8 1"}},
		{name: "version of a symbol", text: "a 8/8 2.000000: 1 cpu-clock:\n" +
			"\t1 clock_nanosleep@GLIBC_2.2.5+0x65 (/l)\n\t2 get@@GLIBC_2.34+0x1 (/l)\n" +
			"\t3 JS:*f https://x.test/@A_1.js:1:2+0x3 (/tmp/perf-8.map)\n\n",
			want: []string{"2000000000 sample 8 1 f;get;clock_nanosleep"}},
		{name: "switches without stack", text: "a 8/8 2.000000000: PERF_RECORD_SWITCH OUT preempt\n" +
			"a 8/8 2.100000000: PERF_RECORD_SWITCH IN\nb 9/9 2.200000000: PERF_RECORD_SWITCH OUT\n",
			want: []string{"2000000000 out 8 1", "2100000000 in 8", "2200000000 out 9 0"}},
		{name: "end of a running thread", text: "a 8/8 2.000000000: PERF_RECORD_SWITCH IN\n" +
			"a 8/8 2.100000000: PERF_RECORD_EXIT(8:8):(7:7)\n:-1 -1/-1 2.200000000: PERF_RECORD_SWITCH OUT\n",
			want: []string{"2000000000 in 8", "2100000000 out 8 2"}},
		{name: "woken", text: "a 8/8 2.000000000: PERF_RECORD_SWITCH OUT\n" +
			"b 9/9 2.1000000: 1 sched:sched_waking: comm=a pid=8 prio=120 target_cpu=001\n" +
			"b 9/9 2.2000000: 1 sched:sched_waking: comm=z pid=10 prio=120 target_cpu=001\n",
			want: []string{"2000000000 out 8 0", "2100000000 woken 8 by 9"}},
		{name: "descendants only", text: "a 6/6 1.000000: 1 cpu-clock:\n\n" +
			"a 6/6 1.000000000: PERF_RECORD_FORK(7:7):(6:6)\n" + fork +
			"b 7/7 2.000000: 1 cpu-clock:\n\nb 8/8 2.000000: 1 cpu-clock:\n\nb 6/6 2.000000: 1 cpu-clock:\n\n",
			o: Options{Root: 7}, want: []string{"2000000000 sample 7 1", "2000000000 sample 8 1"}},
		{name: "named processes only", text: "a 6/6 1.000000: 1 cpu-clock:\n\n" +
			"a 6/6 1.000000000: PERF_RECORD_FORK(7:7):(6:6)\n" + fork +
			"b 7/7 2.000000: 1 cpu-clock:\n\nb 8/8 2.000000: 1 cpu-clock:\n\nb 6/6 2.000000: 1 cpu-clock:\n\n",
			o:    Options{Named: true, Names: map[int32]string{7: ""}},
			want: []string{"2000000000 sample 7 1", "2000000000 sample 8 1"}},
		{name: "lost records", text: "a 8/8 [003] 2.000000: 1 cpu-clock:\n\nb 9/9 [002] 2.100000: 1 cpu-clock:\n\n" +
			"b 9/9 [003] 2.500000000: PERF_RECORD_LOST lost 12\n",
			want: []string{"2000000000 sample 8 1", "2100000000 sample 9 1", "2000000000 lost 500000000 12"}},
		{name: "tracepoint", text: "a 8/8 2.000000: 1 irq:softirq_entry: vec=1\n\n",
			want: []string{"2000000000 instant 8 irq:softirq_entry"}},
		{name: "two events", text: "a 8/8 2.000000: 1 cycles:u:\n\na 8/8 2.100000: 1 instructions:u:\n\n" +
			"a 8/8 2.200000: 1 cpu-clock:\n\n",
			want: []string{"2000000000 sample 8 250000"}, skipped: "map[samples of other events:2]"},
		{name: "names are no records", text: "x 2.000000: 8/8 3.000000: 1 cpu-clock:\n\n",
			want: []string{"3000000000 sample 8 1"}},
		{name: "damage", text: "hello\n8/8 2.000000: 1 cpu-clock:\na 8/8 99999999999.000000: 1 cpu-clock:\n" +
			"a 8/8 9999999999.000000000: 1 cpu-clock:\na 8/8 2.000000: 1 cpu-clock:\n\tx f (/x)\n\n" +
			"a 8/8 1.000000000: PERF_RECORD_FORK(8:-8):(7:7)\n" + strings.Repeat("y", 2*maxLine) + "\n",
			want:    []string{"2000000000 sample 8 1"},
			skipped: "map[forks:1 functions:1 impossible times:1 long lines:1 unknown lines:3]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s activitytest.Sink
			counts, err := Read(strings.NewReader(tc.text), tc.o, &s)
			if err != nil {
				t.Fatal(err)
			}
			if got := told(&s); !slices.Equal(got, tc.want) {
				t.Errorf("events are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
			if want := tc.skipped; fmt.Sprint(counts.Skipped) != want && (want != "" || len(counts.Skipped) > 0) {
				t.Errorf("skipped are %v, want %s", counts.Skipped, want)
			}
		})
	}
}

func TestThreads(t *testing.T) {
	var s activitytest.Sink
	counts, err := Read(strings.NewReader("app 7/7 1.000000: 1 cpu-clock:\n\n"+
		"app 7/7 2.000000000: PERF_RECORD_FORK(7:8):(7:7)\n"+
		"app 7/8 3.000000: 1 cpu-clock:\n\nIO 7/8 4.000000000: PERF_RECORD_COMM: IO:7/8\n"+
		"IO 7/8 5.000000000: PERF_RECORD_EXIT(7:8):(7:7)\napp 7/7 6.000000000: PERF_RECORD_FORK(7:8):(7:7)\n"+
		"app 7/8 7.000000: 1 cpu-clock:\n\nmain 7/7 8.000000000: PERF_RECORD_COMM exec: main:7/7\nx 9/9 8.000000: 1"),
		Options{Names: map[int32]string{9: "nine"}}, &s)
	if err != nil || !counts.Truncated || counts.Begin != 1e9 || counts.End != 8e9 || counts.Samples != 3 {
		t.Fatalf("%+v, %v", counts, err)
	}
	want := []activity.Thread{{Process: 7, ID: 7, Name: "main", ProcessName: "main"},
		{Process: 7, ID: 8, Name: "IO", ProcessName: "main", Start: 2e9},
		{Process: 7, ID: 8, Name: "app", ProcessName: "main", Start: 6e9}}
	if !slices.Equal(s.Threads, want) {
		t.Errorf("threads are %+v", s.Threads)
	}
}

func TestScriptFunctions(t *testing.T) {
	for text, want := range map[string]activity.Function{
		"JS:^heavyLoop http://h/a.js?k=1:4:19": {Name: "heavyLoop", File: "http://h/a.js?k=1", Line: 4, Offset: 19},
		"JS:o*slow http://h/a.js:9:1":          {Name: "slow", File: "http://h/a.js", Line: 9, Offset: 1},
		"JS:*'slow http://h/a.js:9:1":          {Name: "slow", File: "http://h/a.js", Line: 9, Offset: 1},
		"JS:o*' http://h/a.js:4:8":             {Name: "(anonymous)", File: "http://h/a.js", Line: 4, Offset: 8},
		"JS:only http://h/a.js:9:1":            {Name: "only", File: "http://h/a.js", Line: 9, Offset: 1},
		"JS:*get size file:///a b.js:10:2":     {Name: "get size", File: "file:///a b.js", Line: 10, Offset: 2},
		"LazyCompile:~ /srv/my app/x.js:7:1":   {Name: "(anonymous)", File: "/srv/my app/x.js", Line: 7, Offset: 1},
		"JS:~f node:internal/timers:5:3":       {Name: "f", File: "node:internal/timers", Line: 5, Offset: 3},
		"JS:f evalmachine.<anonymous>:5:3":     {Name: "f", File: "evalmachine.<anonymous>", Line: 5, Offset: 3},
		"JS:o+slow /a.js:5:3":                  {Name: "slow", File: "/a.js", Line: 5, Offset: 3},
		"JS:f":                                 {Name: "f"},
		"JS:asm/crunch-0-turbofan":             {Name: "asm/crunch", Module: "WebAssembly"},
		"JS:asm/crunch-0-liftoff":              {Name: "asm/crunch", Module: "WebAssembly"},
		"wasm-function[7]-7-liftoff":           {Name: "wasm-function[7]", Module: "WebAssembly", Offset: 7},
		"JS:asm/crunch-12-liftoff":             {Name: "asm/crunch", Module: "WebAssembly", Offset: 12},
		"a-b-turbofan":                         {Name: "a-b-turbofan", Module: "[jit]", Lang: activity.Native},
		"RegExp:a+ b":                          {Name: "RegExp:a+ b", Module: "[jit]"},
		"Builtin:ArrayMap":                     {Name: "Builtin:ArrayMap", Module: "[jit]", Lang: activity.Native},
	} {
		if want.Lang == 0 {
			want.Lang = activity.Script
		}
		var s activitytest.Sink
		line := "a 8/8 2.000000: 1 cpu-clock:\n\t7f00 " + text + "+0x1f (/tmp/perf-8.map)\n"
		if _, err := Read(strings.NewReader(line), Options{}, &s); err != nil || len(s.Functions) != 1 ||
			s.Functions[0] != want {
			t.Errorf("%s: %+v, %v", text, s.Functions, err)
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	var s activitytest.Sink
	text := "a 8/8 2.000000: 1 cpu-clock:\n" + strings.Repeat("\t1 f (/x)\n", activity.MaxDepth+2) + "\n"
	counts, err := Read(strings.NewReader(text), Options{}, &s)
	if err != nil || counts.Skipped["functions beyond the depth"] != 2 || s.Depth() != activity.MaxDepth {
		t.Errorf("%+v, %v, %d functions in the stack", counts, err, s.Depth())
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]bool{
		"# comment\n\na b 1/2 [000] 1.000000: 1 cycles:u: \n\t1 f (/x)\n": true,
		"a 1/2 1.000000000: PERF_RECORD_COMM: a:1/2\n":                    true,
		"{\"traceEvents\": []}":                                           false, "": false, "# only\n": false,
		"chrome-123 [000] d... 1.000000: sched_switch: prev_comm=x\n": false, // text of ftrace
		"a 1/2 1.000000: nothing more\n":                              false,
	} {
		if Detect([]byte(text)) != want {
			t.Errorf("%q: want %t", text, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	text, err := os.ReadFile("testdata/threads.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, int32(0))
	f.Add([]byte("a 7/7 1.000000000: PERF_RECORD_FORK(8:8):(7:7)\nb 8/8 [002] 2.0000001: 5 cycles:P:\n"+
		"\tffffffff80 x+0x1 (inlined)\n\t1 JS:*f a:1:2+0x3 (/tmp/perf-8.map)\n\nb 8/8 [002] 3.000000000: "+
		"PERF_RECORD_LOST lost 4\n"), int32(7))
	f.Add([]byte("a 8/8 2.0000000: sched:sched_switch: prev_state=R ==> next_pid=9\n\t0 ((deleted))\n"), int32(0))
	f.Fuzz(func(t *testing.T, text []byte, root int32) {
		var s activitytest.Sink
		counts, err := Read(strings.NewReader(string(text)), Options{Root: root}, &s)
		if err != nil || len(s.Faults) > 0 {
			t.Fatal(err, s.Faults)
		}
		lines := int64(strings.Count(string(text), "\n") + 1)
		if counts.Samples > lines || int64(len(s.Events)) > 2*lines || int64(len(s.Threads)) > 2*lines {
			t.Fatalf("%d lines have %+v, %d events, %d threads", lines, counts, len(s.Events), len(s.Threads))
		}
		for _, e := range s.Events {
			if e.At < 0 || e.At > maxTime || e.Kind == activity.Sample && (e.Value < 0 || e.Value > maxPeriod) {
				t.Fatalf("impossible event %+v", e)
			}
		}
	})
}
