package gecko

import (
	"bytes"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/activitytest"
)

// firefox returns a reduced profile of a real Firefox ESR 140, with two of its processes.
func firefox(t testing.TB) []byte { return activitytest.Unpacked(t, "testdata/firefox.json.gz") }

func TestFirefox(t *testing.T) {
	var s activitytest.Sink
	c, err := Read(bytes.NewReader(firefox(t)), &s)
	if err != nil || len(c.Skipped) > 0 || len(s.Faults) > 0 {
		t.Fatal(err, c, s.Faults)
	}
	if !c.Monotonic || c.Target != "Firefox rv:140.0" || c.RateHz != 1000 || len(s.Threads) != 2 ||
		s.Threads[1].ProcessName != "Isolated Web Content" {
		t.Errorf("claims %+v, threads %+v", c, s.Threads)
	}
	want := []activity.Request{
		{Method: "GET", URL: "http://127.0.0.1:8791/page.html", Sent: 50884081285633, First: 50884084727431,
			Ended: 50884084771155},
		{Method: "GET", URL: "http://127.0.0.1:8791/favicon.ico", Sent: 50884969367778, First: 50884970284548,
			Ended: 50884970357877},
	}
	if !slices.Equal(c.Requests, want) { // both processes have them
		t.Errorf("requests %+v, want %+v", c.Requests, want)
	}
	script := slices.IndexFunc(s.Functions, func(f activity.Function) bool { return f.Lang == activity.Script })
	module := slices.IndexFunc(s.Functions, func(f activity.Function) bool { return f.Module == "libxul.so" })
	if script < 0 || module < 0 || s.Functions[script].Line == 0 || s.Functions[script].File == "" ||
		s.Functions[module].BuildID == "" || s.Functions[module].Offset == 0 {
		t.Errorf("functions %+v", s.Functions)
	}
	for _, e := range s.Events {
		if e.At < 50_879e9 || e.At > 50_907e9 {
			t.Errorf("%+v is outside the profile", e)
		}
	}
}

// processed is a profile as profiler.firefox.com saves it, with tables of all threads.
const processed = `{"meta":{"startTime":1e12,"interval":1,"product":"Firefox"},
	"threads":[{"name":"GeckoMain","pid":"7","tid":8,"processType":"tab",
	"samples":{"stack":[1,null,0,5],"timeDeltas":[1,1,1.5,1],"length":4},
	"markers":{"name":[3,3,4],"startTime":[1,1.5,2],"endTime":[3,4,null],"phase":[1,1,0],
		"data":[null,null,{"type":"DOMEvent","eventType":"keydown"}],"length":3}}],
	"shared":{"stringArray":["outer","inner","a.js","Styles","DOMEvent"],
	"stackTable":{"frame":[0,1],"prefix":[null,0]},"frameTable":{"func":[0,1]},
	"funcTable":{"name":[0,1],"fileName":[2,2],"lineNumber":[3,4],"isJS":[true,true]}}}`

func TestProcessed(t *testing.T) {
	var s activitytest.Sink
	c, err := Read(strings.NewReader(processed), &s)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1000000 GeckoMain sample outer;inner 1000000", "1000000 GeckoMain slice Styles 2000000",
		"1500000 GeckoMain instant Styles 0", "2000000 GeckoMain instant DOMEvent 0",
		"3500000 GeckoMain sample outer 1500000"}
	if got := s.Lines(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if c.Monotonic || c.Skipped["samples with impossible stacks"] != 1 || len(c.Inputs) != 1 ||
		c.Inputs[0].Kind != "key" {
		t.Errorf("claims %+v", c)
	}
}

// TestMetricsAreInstants: the time until something is there is not work of its thread. "In 6 late
// frames TimeToFirstInteractive (TTFI) took 447 ms" was the cause of late frames.
func TestMetricsAreInstants(t *testing.T) {
	for name, kind := range map[string]string{"Styles": "slice Styles 2000000",
		"TimeToFirstInteractive (TTFI)":     "instant TimeToFirstInteractive (TTFI) 0",
		"ContentPaint Payload Presented":    "instant ContentPaint Payload Presented 0",
		"GCSlice":                           "slice GCSlice 2000000",
		"MouseUp Payload Presented by Page": "slice MouseUp Payload Presented by Page 2000000"} {
		var s activitytest.Sink
		if _, err := Read(strings.NewReader(strings.Replace(processed, `"Styles"`, `"`+name+`"`, 1)), &s); err != nil {
			t.Fatal(err)
		}
		if got, want := s.Lines()[1], "1000000 GeckoMain "+kind; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestHostile(t *testing.T) {
	const begin = `{"meta":{"interval":1},"threads":[{"name":"a",`
	for _, tc := range []struct{ name, text, skipped string }{
		{"stack calls itself", `"stackTable":{"prefix":[0],"frame":[0]},"samples":{"stack":[0],"time":[1]}`,
			"samples with impossible stacks"},
		{"stack calls a later one", `"stackTable":{"prefix":[1,null],"frame":[0,0]},"samples":{"stack":[0],"time":[1]}`,
			"samples with impossible stacks"},
		{"frame without a name", `"stackTable":{"prefix":[null],"frame":[9]},"samples":{"stack":[0],"time":[1]}`,
			"samples with impossible stacks"},
		{"impossible time", `"samples":{"stack":[0],"time":[1e300]}`, "impossible times"},
		{"time before the clock", `"samples":{"stack":[0],"time":[-5]}`, "impossible times"},
		{"marker without a name", `"markers":{"name":[7],"startTime":[1],"endTime":[2],"phase":[1]}`,
			"malformed markers"},
		{"marker that ends first", `"stringTable":["x"],
			"markers":{"name":[0],"startTime":[3],"endTime":[2],"phase":[1]}`,
			"malformed markers"},
		{"row of another kind", `"samples":{"schema":{"stack":0,"time":1},"data":[7,[0,1e300]]}`, "malformed rows"},
	} {
		var s activitytest.Sink
		c, err := Read(strings.NewReader(begin+tc.text+`}]}`), &s)
		if err != nil || c.Skipped[tc.skipped] == 0 || len(s.Faults) > 0 {
			t.Errorf("%s: %v, %+v, %v", tc.name, err, c, s.Faults)
		}
	}
	if _, err := Read(strings.NewReader(`{"meta":{},"threads":[]}`), &activitytest.Sink{}); err == nil {
		t.Error("a profile without threads was read")
	}
	var s activitytest.Sink
	whole := firefox(t)
	at := bytes.LastIndex(whole, []byte(`"stringTable"`))
	if c, err := Read(bytes.NewReader(whole[:at]), &s); err != nil || !c.Truncated || len(s.Events) == 0 {
		t.Errorf("truncated: %v, %+v", err, c)
	}
}

// endless repeats a text.
type endless string

func (e endless) Read(b []byte) (n int, _ error) {
	for n+len(e) <= len(b) {
		n += copy(b[n:], e)
	}
	return n, nil
}

// TestMemoryIsLimited: tables that never end are an error, and so are texts and records.
func TestMemoryIsLimited(t *testing.T) {
	for _, c := range [][2]string{{`{"shared":{"stackTable":{"prefix":[`, "1,"}, {`{"threads":[{"stringArray":[`, "1,"},
		{`{"threads":[{"samples":{"time":[`, "1,"}, {`{"threads":[{"markers":{"name":[`, "1,"},
		{`{"threads":[{"markers":{"data":[`, "null,"},
		{`{"threads":[{"samples":{"schema":{"stack":1},"data":[`, "[],"}} {
		from := io.MultiReader(strings.NewReader(c[0]), endless(c[1]))
		_, err := read(from, &activitytest.Sink{}, 1<<20)
		if err == nil || !strings.Contains(err.Error(), "over 1 MiB") {
			t.Errorf("%s: %v", c[0], err)
		}
	}
}

// TestColumns: numbers of records are those that were put.
func TestColumns(t *testing.T) {
	r, all := rand.New(rand.NewPCG(1, 1)), records{}
	var want []int64
	for row := range int64(20_000) {
		n := r.Int64() >> r.IntN(64)
		switch r.IntN(4) {
		case 0:
			n = -n
		case 1:
			if want = append(want, none); r.IntN(2) == 0 {
				continue // rows may leave out cells
			}
			n, want = none, want[:row]
		}
		want = append(want, n)
		all.put("a", row, n)
	}
	if len(all["a"].parts) < 3 {
		t.Fatalf("%d parts", len(all["a"].parts))
	}
	for row := range all.rows("a") {
		if got := all.next("a"); got != want[row] {
			t.Fatalf("row %d: %d, want %d", row, got, want[row])
		}
	}
	if all.next("a") != none || all.next("b") != none || all.rows("b") != 0 {
		t.Error("numbers after the end")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(firefox(f))
	f.Add([]byte(processed))
	f.Add([]byte(`{"meta":{},"threads":[{"markers":{"schema":{"name":0,"phase":1},"data":[[0,2],[0,3]]}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s activitytest.Sink
		_, _ = Read(bytes.NewReader(raw), &s)
		if len(s.Faults) > 0 {
			t.Errorf("impossible records: %v", s.Faults)
		}
	})
}
