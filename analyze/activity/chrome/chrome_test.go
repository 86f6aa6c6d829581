package chrome

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/activitytest"
)

// read reads events without their list.
func read(t *testing.T, events string) (*activitytest.Sink, map[string]int64) {
	t.Helper()
	var s activitytest.Sink
	c, err := Read(strings.NewReader("["+events+"]"), &s)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Faults) > 0 {
		t.Errorf("impossible records: %v", s.Faults)
	}
	return &s, c.Skipped
}

func TestEvents(t *testing.T) {
	const name = `{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"Main"}},`
	for _, tc := range []struct{ name, events, want, skipped string }{
		{"slice", `{"ph":"X","name":"a","cat":"c","pid":1,"tid":2,"ts":10.5,"dur":2}`, "10500 Main slice a 2000", ""},
		{"begin and end", `{"ph":"B","name":"a","pid":1,"tid":2,"ts":1},{"ph":"B","name":"b","pid":1,"tid":2,"ts":2},
			{"ph":"E","pid":1,"tid":2,"ts":3},{"ph":"E","pid":1,"tid":2,"ts":5}`,
			"1000 Main slice a 4000, 2000 Main slice b 1000", ""},
		{"begin without end", `{"ph":"B","name":"a","pid":1,"tid":2,"ts":1},
			{"ph":"i","name":"x","pid":1,"tid":2,"ts":9}`,
			"1000 Main slice a 8000, 9000 Main instant x 0", ""},
		{"end without begin", `{"ph":"E","pid":1,"tid":2,"ts":3}`, "", activity.FromBefore},
		{"end before begin", `{"ph":"B","name":"a","pid":1,"tid":2,"ts":9},{"ph":"E","pid":1,"tid":2,"ts":3}`, "",
			"ends before their begin"},
		{"counter", `{"ph":"C","name":"heap","pid":1,"tid":2,"ts":1,"args":{"used":5,"text":"x"}}`,
			"1000 Main counter heap used 5", ""},
		{"flow", `{"ph":"s","name":"f","cat":"c","id":1,"pid":1,"tid":2,"ts":0.001}`,
			fmt.Sprint("1 Main flow-out  ", (&Event{Category: []byte(`"c"`), ID: []byte("1")}).flow()), ""},
		{"call of a script", `{"ph":"X","name":"FunctionCall","pid":1,"tid":2,"ts":1,"dur":1,
			"args":{"data":{"functionName":"onFrame","url":"http://a/b.js?secret","lineNumber":3}}}`,
			"1000 Main slice onFrame 1000", ""},
		{"impossible time", `{"ph":"X","name":"a","pid":1,"tid":2,"ts":1e300,"dur":2}`, "", "malformed records"},
		{"negative time", `{"ph":"i","name":"a","pid":1,"tid":2,"ts":-116002351}`, "", "malformed records"},
		{"negative duration", `{"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":-2}`, "", "malformed records"},
		{"no time", `{"ph":"X","name":"a","pid":1,"tid":2,"dur":2}`, "", "records without a time"},
		{"no object", `7`, "", "malformed records"},
		{"chunk without a profile", `{"ph":"P","name":"ProfileChunk","id":"0x1","pid":1,"tid":3,"ts":1}`, "",
			"chunks of unknown profiles"},
		{"samples", `{"ph":"P","name":"Profile","id":"0x1","pid":1,"tid":2,"ts":1,"args":{"data":{"startTime":100}}},
			{"ph":"P","name":"ProfileChunk","id":"0x1","pid":1,"tid":3,"ts":1,"args":{"data":{"timeDeltas":[5,10,10],
			"cpuProfile":{"samples":[3,2,3],"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}},
			{"id":2,"parent":1,"callFrame":{"functionName":"(idle)"}},
			{"id":3,"parent":1,"callFrame":{"functionName":"f","url":"u"}}]}}}}`,
			"105000 Main sample f 10000, 125000 Main sample f 0", ""},
	} {
		s, skipped := read(t, name+tc.events)
		if got := strings.Join(s.Lines(), ", "); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		if tc.skipped == "" && len(skipped) > 0 || tc.skipped != "" && skipped[tc.skipped] == 0 {
			t.Errorf("%s: skipped %v, want %q", tc.name, skipped, tc.skipped)
		}
	}
}

// chromium returns a reduced trace of a real Chromium.
func chromium(t testing.TB) []byte {
	return activitytest.Unpacked(t, "../attach/testdata/chromium.json.gz")
}

func TestChromium(t *testing.T) {
	var s activitytest.Sink
	c, err := Read(bytes.NewReader(chromium(t)), &s)
	if err != nil || len(c.Skipped) > 0 || len(s.Faults) > 0 {
		t.Fatal(err, c, s.Faults)
	}
	if !c.Monotonic || len(c.Requests) != 16 || c.WallWithin == 0 || c.Target != "148.0.7778.167-64-devel" {
		t.Errorf("claims %+v", c)
	}
	ended := 0
	for _, q := range c.Requests {
		if q.Ended > 0 { // the trace ends before two others
			ended++
		}
		if q.Sent == 0 || q.Ended > 0 && (q.Sent >= q.First || q.First > q.Ended+2*rounding) {
			t.Errorf("request %+v", q)
		}
	}
	if ended != 14 {
		t.Errorf("%d requests have an end, want 14", ended)
	}
	if s.Threads[0].Name != "CrRendererMain" || s.Threads[0].ProcessName != "Renderer" {
		t.Errorf("threads %+v", s.Threads)
	}
	whole := len(s.Events)
	var cut activitytest.Sink
	if c, err := Read(bytes.NewReader(chromium(t)[:9000]), &cut); err != nil || !c.Truncated || len(cut.Events) == 0 ||
		len(cut.Events) >= whole {
		t.Errorf("truncated: %v, %+v, %d of %d records", err, c, len(cut.Events), whole)
	}
}

// TestFrames: claims are those of the compositor with the most frames, by old and new names.
func TestFrames(t *testing.T) {
	frame := func(id, at, ends int, field, state string, host int) string {
		return fmt.Sprintf(`{"ph":"b","name":"PipelineReporter","id2":{"local":"%d"},"pid":1,"tid":2,"ts":%d,
			"args":{%q:{"state":%q,"affects_smoothness":%[7]t,"layer_tree_host_id":%[5]d}}},
			{"ph":"b","name":"Stage","id2":{"local":"%[1]d"},"pid":1,"tid":2,"ts":%[2]d},
			{"ph":"e","name":"PipelineReporter","id2":{"local":"%[1]d"},"pid":1,"tid":2,"ts":%[6]d},`,
			id, at, field, state, host, ends, id < 10)
	}
	events := frame(1, 10, 30, "chrome_frame_reporter", "STATE_PRESENTED_ALL", 7) +
		frame(2, 20, 29, "frame_reporter", "STATE_PRESENTED_PARTIAL", 7) +
		frame(3, 21, 31, "frame_reporter", "STATE_PRESENTED_ALL", 8) +
		frame(4, 22, 32, "frame_reporter", "STATE_NO_UPDATE_DESIRED", 7) +
		frame(5, 23, 33, "frame_reporter", "STATE_DROPPED", 7) +
		frame(6, 40, 39, "frame_reporter", "STATE_DROPPED", 7) +
		frame(7, 25, 30, "frame_reporter", "STATE_PRESENTED_PARTIAL", 7) + // a part of the first
		frame(11, 24, 34, "frame_reporter", "STATE_PRESENTED_PARTIAL", 7) + // nothing moves
		frame(12, 24, 35, "frame_reporter", "STATE_DROPPED", 7) +
		`{"ph":"e","name":"PipelineReporter","id2":{"local":"9"},"pid":1,"tid":2,"ts":50},
		{"ph":"R","name":"navigationStart","pid":1,"tid":2,"ts":5,"args":{"data":{"documentLoaderURL":"http://a/b?c"}}}`
	var s activitytest.Sink
	c, err := Read(strings.NewReader("["+events+"]"), &s)
	if err != nil || len(s.Faults) > 0 {
		t.Fatal(err, s.Faults)
	}
	want := []activity.Frame{{Begin: 20_000, At: 29_000, Verdict: activity.Partial}, {Begin: 10_000, At: 30_000},
		{Begin: 23_000, At: 33_000, Verdict: activity.Dropped}, {Begin: 24_000, At: 34_000}}
	if !slices.Equal(c.Frames, want) {
		t.Errorf("frames %+v, want %+v", c.Frames, want)
	}
	if !slices.Equal(c.Pages, []activity.Page{{Address: "http://a/b?c", Zero: 5000}}) {
		t.Errorf("pages %+v", c.Pages)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(chromium(f))
	f.Add([]byte(`[{"ph":"B","name":"a","pid":1,"tid":2,"ts":1},{"ph":"E","pid":1,"tid":2,"ts":3}`))
	f.Add([]byte(`{"traceEvents":[{"ph":"M","name":"process_name","pid":1,"args":{"name":"\u001b[31m"}}]}`))
	f.Add([]byte(`[{"ph":"b","name":"PipelineReporter","id":1,"pid":1,"ts":2,"args":{"frame_reporter":
		{"state":"STATE_DROPPED"}}},{"ph":"e","name":"PipelineReporter","id":1,"pid":1,"ts":3}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s activitytest.Sink
		_, _ = Read(bytes.NewReader(raw), &s)
		if len(s.Faults) > 0 {
			t.Errorf("impossible records: %v", s.Faults)
		}
	})
}
