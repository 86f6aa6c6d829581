package attach

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/activitytest"
	"github.com/eideticker/eideticker/analyze/activity/chrome"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/serve"
	"github.com/eideticker/eideticker/netsim/site"
)

// real returns a trace of Chromium and the facts of its run, both reduced. Chromium loaded the
// test gallery over the network profile 2g, and its clock was the recorder's.
func real(t testing.TB) (trace map[string]any, facts *runFacts) {
	t.Helper()
	u, err := unpack("testdata/chromium.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if err := json.NewDecoder(u).Decode(&trace); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("testdata/network.har")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fall, err := har.ReadWaterfall(f)
	if err != nil {
		t.Fatal(err)
	}
	return trace, &runFacts{Recording: "1", Begin: 50_100e9, End: 50_125e9, Wall: 1795498496873e6, WallWithin: 1e6,
		Fall: fall}
}

// rewrite changes the clock of a trace, in µs.
func rewrite(trace map[string]any, change func(us float64) float64) {
	for _, one := range trace["traceEvents"].([]any) {
		e := one.(map[string]any)
		if ts := e["ts"].(float64); ts > 0 {
			e["ts"] = change(ts)
		}
		args, _ := e["args"].(map[string]any)
		data, _ := args["data"].(map[string]any)
		if v, ok := data["finishTime"].(float64); ok {
			data["finishTime"] = change(v*1e6) / 1e6
		}
		if v, ok := data["startTime"].(float64); ok {
			data["startTime"] = change(v)
		}
		if timing, ok := data["timing"].(map[string]any); ok {
			base := timing["requestTime"].(float64) * 1e6
			for name, v := range timing { // in ms after the request's time
				if ms, _ := v.(float64); ms > 0 && name != "requestTime" {
					timing[name] = (change(base+ms*1e3) - change(base)) / 1e3
				}
			}
			timing["requestTime"] = change(base) / 1e6
		}
	}
}

// unstated removes the statements of a trace about its clock.
func unstated(trace map[string]any) {
	delete(trace, "metadata")
	for _, one := range trace["traceEvents"].([]any) {
		args, _ := one.(map[string]any)["args"].(map[string]any)
		data, _ := args["data"].(map[string]any)
		delete(data, "responseTime")
	}
}

func claims(t testing.TB, trace map[string]any) *activity.Claims {
	t.Helper()
	raw, err := json.Marshal(trace)
	if err != nil {
		t.Fatal(err)
	}
	c, err := chrome.Read(bytes.NewReader(raw), &activitytest.Sink{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestStatedClock(t *testing.T) {
	trace, facts := real(t)
	j, err := join(t.Context(), claims(t, trace), facts, Mode{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if !j.Clock.Exact || j.Clock.Text != "CLOCK_MONOTONIC, as the trace states (agrees with 16 requests)" {
		t.Errorf("clock %+v", j.Clock)
	}
}

// TestRewrittenClock: the bounds of 1,000 times hold the true times, with several offsets and
// drifts.
func TestRewrittenClock(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	for _, clock := range []struct{ offset, ppm float64 }{{-40_000e6, 37}, {9e12, -120}, {-50_000e6, 0}, {1, 990}} {
		trace, facts := real(t)
		unstated(trace)
		const start = 50_101e6
		change := func(us float64) float64 { return start + clock.offset + (us-start)/(1+clock.ppm*1e-6) }
		rewrite(trace, change)
		j, err := join(t.Context(), claims(t, trace), facts, Mode{}, false)
		if err != nil {
			t.Fatalf("%+v: %v", clock, err)
		}
		if len(j.Used) != 16 || len(j.Discarded) != 0 || j.Clock.Exact ||
			!strings.Contains(j.Clock.Text, "16 requests") {
			t.Errorf("%+v: %s, discarded %v", clock, j.Clock.Text, j.Discarded)
		}
		for range 1000 {
			us := start + 22e6*r.Float64()
			earliest, latest := j.Clock.Bounds(int64(change(us) * 1000))
			// Numbers of the rewritten trace have errors below 2 µs.
			if us*1000 < float64(earliest)-2000 || us*1000 > float64(latest)+2000 {
				t.Fatalf("%+v: %f is %d to %d", clock, us*1000, earliest, latest)
			}
			if latest-earliest > 40e6 {
				t.Fatalf("%+v: bounds of %v", clock, time.Duration(latest-earliest))
			}
		}
	}
}

// swap exchanges the addresses of two requests.
func swap(t *testing.T, trace map[string]any, one, other string) {
	t.Helper()
	var found []map[string]any
	for _, e := range trace["traceEvents"].([]any) {
		if e := e.(map[string]any); e["name"] == "ResourceSendRequest" {
			data := e["args"].(map[string]any)["data"].(map[string]any)
			if url := data["url"].(string); strings.HasSuffix(url, one) || strings.HasSuffix(url, other) {
				found = append(found, data)
			}
		}
	}
	if len(found) != 2 {
		t.Fatalf("%d requests of %s and %s", len(found), one, other)
	}
	found[0]["url"], found[1]["url"] = found[1]["url"], found[0]["url"]
}

func TestSwappedAddresses(t *testing.T) {
	trace, facts := real(t)
	unstated(trace)
	rewrite(trace, func(us float64) float64 { return us - 50_000e6 })
	swap(t, trace, "/1.png", "/36.png")
	j, err := join(t.Context(), claims(t, trace), facts, Mode{}, false)
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for i := range j.Discarded {
		text = append(text, j.Discarded[i].Sentence(&j.Clock))
	}
	all := strings.Join(text, "\n")
	if len(text) != 2 || !strings.Contains(all, "/1.png is") || !strings.Contains(all, "/36.png is") ||
		!strings.Contains(all, "too late") || !strings.Contains(all, "too early") {
		t.Errorf("discarded %q, want the two swapped requests", text)
	}
	for range 100 {
		at := 50_101e6 + 22e6*rand.Float64()
		if earliest, latest := j.Clock.Bounds(int64((at - 50_000e6) * 1000)); at*1000 < float64(earliest)-2000 ||
			at*1000 > float64(latest)+2000 {
			t.Errorf("%f is %d to %d", at, earliest, latest)
		}
	}
}

func TestRejected(t *testing.T) {
	contrary := func(t *testing.T, trace map[string]any) {
		for _, pair := range [][2]string{{"/1.png", "/36.png"}, {"/2.png", "/40.png"}, {"/3.png", "/41.png"},
			{"/site.css", "/44.png"}} {
			swap(t, trace, pair[0], pair[1])
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*testing.T, map[string]any, *runFacts)
		mode   Mode
		want   string
	}{
		{"another run of this boot", func(_ *testing.T, trace map[string]any, f *runFacts) {
			f.Begin, f.End = f.Begin+3600e9, f.End+3600e9
			f.Fall = nil
		}, Mode{}, "it does not belong to this run: the trace is from 50104.156 s"},
		{"another boot", func(_ *testing.T, _ map[string]any, f *runFacts) { f.Fall, f.Wall = nil, f.Wall-60e9 },
			Mode{},
			"it does not belong to this run: the trace is of"},
		{"another day", func(_ *testing.T, _ map[string]any, f *runFacts) { f.Wall -= 86_400e9 }, Mode{},
			"it does not belong to this run"},
		{"contradictions of a stated clock", func(t *testing.T, trace map[string]any, _ *runFacts) {
			contrary(t, trace)
		},
			Mode{Kind: statedMonotonic},
			"the trace has the recording's clock, as the user states, the run contradicts 8 requests"},
		{"contradictions", func(t *testing.T, trace map[string]any, _ *runFacts) {
			unstated(trace)
			contrary(t, trace)
		},
			Mode{}, "agrees with only"},
		{"no network", func(_ *testing.T, trace map[string]any, f *runFacts) { unstated(trace); f.Fall = nil }, Mode{},
			"record with --network and an input"},
		{"wrong offset", func(_ *testing.T, trace map[string]any, _ *runFacts) { unstated(trace) },
			Mode{statedOffset, 1e9, 1e6}, "the run contradicts"},
		{"none needs force", func(_ *testing.T, _ map[string]any, f *runFacts) { f.Wall -= 86_400e9 },
			Mode{Kind: None}, "--force attaches it without a relation"},
	} {
		trace, facts := real(t)
		tc.change(t, trace, facts)
		c := claims(t, trace)
		_, err := join(t.Context(), c, facts, tc.mode, false)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
		j, err := join(t.Context(), c, facts, Mode{Kind: None}, true)
		if err != nil || !j.Clock.None || len(j.Used) > 0 {
			t.Errorf("%s: with none and force: %v, %+v", tc.name, err, j.Clock)
		}
	}
}

// TestHostileRequests: 20,000 contradictory requests are rejected after a bounded search, and the
// error says so.
func TestHostileRequests(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	c, f := &activity.Claims{Begin: 1, End: 20e9}, &runFacts{End: 30e9, Fall: &har.Waterfall{}}
	for i := range activity.MaxRequests {
		at, url := 1+r.Int64N(20e9), fmt.Sprintf("http://a.test/%d", i)
		c.Requests = append(c.Requests, activity.Request{Method: "GET", URL: url, Sent: at, Ended: at})
		seen := timeline.Time(at + r.Int64N(1e9))
		moment := har.Moment{Earliest: seen - 1e6, Latest: seen, By: har.Line}
		f.Fall.Requests = append(f.Fall.Requests, har.Request{Sent: moment, Ended: moment,
			Served: serve.Exchange{Method: "GET", URL: url}})
	}
	_, err := join(t.Context(), c, f, Mode{}, false)
	if err == nil || !strings.Contains(err.Error(), "of 20000, as far as the search came") {
		t.Error(err)
	}
}

func TestStatedOffset(t *testing.T) {
	trace, facts := real(t)
	unstated(trace)
	rewrite(trace, func(us float64) float64 { return us - 100e6 })
	mode, err := ParseMode("offset=100s±3ms")
	if err != nil {
		t.Fatal(err)
	}
	j, err := join(t.Context(), claims(t, trace), facts, mode, false)
	if err != nil {
		t.Fatal(err)
	}
	if w := j.Clock.HalfWidth(50_010e9); w < 3e6 || w > 3e6+10 {
		t.Errorf("half width %d, want 3 ms", w)
	}
	if !strings.Contains(j.Clock.Text, "as the user states (agrees with 16 requests)") {
		t.Errorf("text %q", j.Clock.Text)
	}
}

func TestParseMode(t *testing.T) {
	for text, want := range map[string]Mode{"auto": {}, "": {}, "monotonic": {Kind: statedMonotonic},
		"none":             {Kind: None},
		"offset=-1.5s±2ms": {statedOffset, -1.5e9, 2e6}, "offset=1s+-1us": {statedOffset, 1e9, 1000}} {
		if m, err := ParseMode(text); err != nil || m != want {
			t.Errorf("%q: %+v, %v", text, m, err)
		}
	}
	for _, text := range []string{"wall", "offset=1s", "offset=1s±0s", "offset=±1s", "offset=1s±-2ms"} {
		if _, err := ParseMode(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestInputs(t *testing.T) {
	event := func(at timeline.Time, did string) []input {
		raw, _ := json.Marshal(map[string]string{"did": did})
		return inputsOf(timeline.Event{At: at, Uncertainty: 5, Data: raw})
	}
	inputs := append(event(100, "move to 1,2, button down left, button up left"), event(200, "key down Enter")...)
	c := &activity.Claims{Resolution: 1, Inputs: []activity.Input{{Kind: "key", At: 1207}, {Kind: "button", At: 1101}}}
	found := pair(c, &runFacts{Inputs: inputs})
	if len(found) != 2 || found[0].Limits[0].At != 1208 || found[0].Limits[0].Time != 195 ||
		found[1].Witness != "button down left" || found[1].Limits[0].Latest {
		t.Errorf("evidence %+v", found)
	}
	if found := pair(c, &runFacts{Inputs: append(inputs, event(300, `text "ab"`)...)}); len(found) != 1 {
		t.Errorf("typed text is evidence: %+v", found)
	}
	c.Inputs = append(c.Inputs, activity.Input{Kind: "button", At: 5})
	if found := pair(c, &runFacts{Inputs: inputs}); len(found) != 1 || found[0].Witness != "key down Enter" {
		t.Errorf("an unequal number of inputs is evidence: %+v", found)
	}
}

// TestPages: the document of a test page, which asked for the recorder's time, is evidence alone.
// The trace's clock has an offset and 37 ppm.
func TestPages(t *testing.T) {
	const zero, drift = 50_100e9, 37e-6 // of the page's clock
	trace := func(rig float64) int64 { return int64(7e9 + (rig-zero)/(1+drift)) }
	page := site.Report{Page: site.Page{Path: "/framerate.html"}, Entry: 1,
		Zero:      timeline.Interval{Earliest: zero - 1e6, Latest: zero + 1e6},
		GreenFrom: timeline.Interval{Earliest: zero + 2e9 - 1e6, Latest: zero + 2e9 + 1e6}}
	address := func(of string) activity.Page {
		return activity.Page{Address: "http://page.test" + of, Zero: trace(zero)}
	}
	c := &activity.Claims{Begin: trace(zero), End: trace(zero + 20e9), Resolution: 1000, Pages: []activity.Page{
		address("/framerate.html?run=X&entry=0"), address("/framerate.html?run=X&entry=1"), address("/a?entry=1")}}
	facts := &runFacts{Begin: zero, End: zero + 20e9, Reports: []site.Report{page}}
	j, err := join(t.Context(), c, facts, Mode{}, false)
	if err != nil || !strings.Contains(j.Clock.Text, "1 page;") {
		t.Fatalf("%v, %s", err, j.Clock.Text)
	}
	for rig := float64(zero); rig < zero+20e9; rig += 0.3e9 {
		earliest, latest := j.Clock.Bounds(trace(rig))
		width := float64(latest - earliest)
		if rig < float64(earliest)-1 || rig > float64(latest)+1 || width > 6.1e6+2e-3*(rig-zero) {
			t.Errorf("%.0f is %d to %d", rig, earliest, latest)
		}
	}
	c.Pages = append(c.Pages, address("/framerate.html?run=Y&entry=1"))
	if _, err := join(t.Context(), c, facts, Mode{}, false); err == nil {
		t.Error("an ambiguous document is evidence")
	}
	page.GreenFrom = page.Zero // it asked after its end
	page.RedTo = timeline.Interval{Earliest: zero + 9e9, Latest: zero + 9e9 + 1}
	if e := opened(c, []site.Report{page}); len(e) != 0 {
		t.Errorf("evidence %+v", e)
	}
	c.Pages = c.Pages[:3]
	if e := opened(c, []site.Report{page}); len(e) != 1 || e[0].Limits[0].Time != zero+9e9+1 {
		t.Errorf("evidence %+v", e)
	}
}

// TestLackingRequests: a trace without over a third of the run's requests is of another run. With
// the recording's clock, it may be of another browser.
func TestLackingRequests(t *testing.T) {
	for _, stated := range []bool{true, false} {
		trace, facts := real(t)
		if !stated {
			unstated(trace)
		}
		c := claims(t, trace)
		c.Requests = c.Requests[:9]
		j, err := join(t.Context(), c, facts, Mode{}, false)
		if stated && (err != nil || len(j.Warnings) != 1 || !strings.Contains(j.Warnings[0], "of another browser")) {
			t.Errorf("stated: %v, warnings %q", err, j.Warnings)
		}
		const want = "the trace lacks 6 of 13 requests, the run made them"
		if !stated && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("from evidence: %v", err)
		}
	}
}

// TestFramesAlone: a trace with frames of a display alone is compared, if its clock is known. If no
// evidence bounds it, the trace says so. One without any record is refused.
func TestFramesAlone(t *testing.T) {
	const monotonic, boot, wall, from = 3, 6, 1, 50_101e9
	clockOf := func(id, at uint64) []byte { return message(1, number(1, id), number(2, at)) }
	trace := func(start uint64, frames int) (raw []byte) { // start is the wall clock at CLOCK_MONOTONIC 0
		raw = message(1, message(6, clockOf(monotonic, from), clockOf(boot, from+7), clockOf(wall, start+from)))
		for i := range uint64(frames) {
			at := uint64(from) + 7 + i*16e6
			raw = append(raw, message(1, number(8, at), message(76, message(2, number(1, i), number(2, i))))...)
			raw = append(raw, message(1, number(8, at+15e6), message(76, message(5, number(1, i))))...)
		}
		return raw
	}
	_, facts := real(t)
	facts.Fall = nil
	for _, tc := range []struct {
		name   string
		start  int64 // beside the recording's
		mode   Mode
		frames int
		clock  string // or error
		warned bool
	}{
		{"of this boot", 0, Mode{}, 20, "CLOCK_MONOTONIC, as the trace states", false},
		{"of another device", -300e9, Mode{}, 20, "unknown; the trace has its own axis", true},
		{"with a stated clock", -300e9, Mode{statedOffset, 1e9, 1e6}, 20, "offset 1s ± 1ms, as the user states", false},
		{"of another day", -86_400e9, Mode{}, 20, "does not belong to this run", false},
		{"without frames", 0, Mode{}, 0, "the trace has no times", false},
		{"without frames, stated", 0, Mode{Kind: None}, 0, "no records of threads or frames", false},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "trace")
		if err := os.WriteFile(path, trace(uint64(facts.Wall+tc.start), tc.frames), 0o600); err != nil {
			t.Fatal(err)
		}
		a := &Attached{}
		err := a.read(t.Context(), path, dir, facts, Options{Run: dir, Clock: tc.mode})
		if err != nil {
			if !strings.Contains(err.Error(), tc.clock) {
				t.Errorf("%s: %v, want %q", tc.name, err, tc.clock)
			}
			continue
		}
		a.describe()
		if got := a.Info; got.Clock.Text != tc.clock || got.Events != int64(tc.frames) || got.Way != "frames" ||
			tc.warned != (len(got.Warnings) == 1 && strings.HasPrefix(got.Warnings[0], "No evidence bounds")) {
			t.Errorf("%s: %+v", tc.name, got)
		}
	}
}

// TestProfiles: the folder of eideticker profile has the recording's clock, if it is of its boot.
// The trace of native code is before others.
func TestProfiles(t *testing.T) {
	_, facts := real(t)
	for _, tc := range []struct {
		name string
		edit func(*activity.Info)
		mode Mode
		want string // clock or error
	}{
		{"of this boot", func(*activity.Info) {}, Mode{}, "CLOCK_MONOTONIC, as the trace states"},
		{"of another boot", func(i *activity.Info) { i.Wall -= 300e9 }, Mode{}, "does not belong to this run"},
		{"of an earlier time", func(i *activity.Info) { i.Wall = 0 }, Mode{}, "clocks cannot be related"},
		{"stated", func(i *activity.Info) { i.Wall = 0 }, Mode{Kind: statedMonotonic}, "as the user states"},
		{"with a link", func(*activity.Info) {}, Mode{}, "copy raw/perf.data: it is not a regular file"},
		{"of a run", func(i *activity.Info) { i.Recording = "2" }, Mode{}, "it is the trace of another run"},
	} {
		from, to := t.TempDir(), t.TempDir()
		for _, name := range []string{"another", "native"} {
			info := activity.Info{Name: name, Engine: "perf", Way: "samples", Wall: facts.Wall,
				Clock: activity.Clock{Exact: true}}
			tc.edit(&info)
			dir := filepath.Join(from, activity.TracesDir, name)
			if err := os.MkdirAll(filepath.Join(dir, activity.RawDir), 0o755); err != nil {
				t.Fatal(err)
			}
			w, err := activity.NewWriter(dir, info)
			if err != nil {
				t.Fatal(err)
			}
			at := activity.Event{At: int64(facts.Begin), Thread: w.Thread(activity.Thread{ID: 1}), Kind: activity.In}
			if err := w.Event(at); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Close(); err != nil {
				t.Fatal(err)
			}
			raw := filepath.Join(dir, activity.RawDir, "perf.data")
			if err = os.WriteFile(raw, []byte("samples"), 0o644); tc.name == "with a link" {
				err = errors.Join(os.Remove(raw), os.Symlink("/etc/hostname", raw))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		a := &Attached{Info: activity.Info{Name: "native", Recording: facts.Recording}}
		profile := profileOf(from)
		err := a.copy(t.Context(), profile, to, facts, Options{Clock: tc.mode})
		got := a.Clock.Text
		if err != nil {
			got = err.Error()
		} else if raw, err := os.ReadFile(filepath.Join(to, activity.RawDir, "perf.data")); err != nil ||
			string(raw) != "samples" || a.Info.Write(to) != nil {
			t.Errorf("%s: raw %q, %v", tc.name, raw, err)
		} else if trace, err := activity.Open(to); err != nil || trace.Info().Recording != facts.Recording ||
			trace.Close() != nil {
			t.Errorf("%s: %+v, %v", tc.name, a.Info, err)
		}
		if filepath.Base(profile) != "native" || profileOf(profile) != profile || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s: %s, want %s", tc.name, profile, got, tc.want)
		}
	}
	if dir := profileOf("attach_test.go"); dir != "" {
		t.Errorf("a file is the profile %s", dir)
	}
}

// TestShow: a frame shows the picture whose animation frame has its time, if there is one alone.
func TestShow(t *testing.T) {
	drawn := func(from, to timeline.Time, first int) picture {
		return picture{drawn: timeline.Interval{Earliest: from, Latest: to}, first: first}
	}
	f := &runFacts{Pictures: []picture{drawn(100, 110, 5), drawn(120, 130, 6), drawn(128, 140, 7)}}
	c := &activity.Claims{Frames: []activity.Frame{{Begin: 105}, {Begin: 115}, {Begin: 121}, {Begin: 129}, {Begin: 141},
		{Begin: 90}}}
	f.show(c, &activity.Clock{Exact: true})
	for i, want := range []int{5, 0, 6, 0, 0, 0} {
		if got := c.Frames[i].Picture; got != want {
			t.Errorf("frame of %d shows %d, want %d", c.Frames[i].Begin, got, want)
		}
	}
}

func packed(t *testing.T, pack func(io.Writer) (io.WriteCloser, error), content []byte) string {
	t.Helper()
	var b bytes.Buffer
	w, err := pack(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUnpack(t *testing.T) {
	plain := func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }
	zst := func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }
	zipped := func(names ...string) func(io.Writer) (io.WriteCloser, error) {
		return func(w io.Writer) (io.WriteCloser, error) {
			z := zip.NewWriter(w)
			var last io.Writer
			for _, name := range names {
				var err error
				if last, err = z.Create(name); err != nil {
					return nil, err
				}
			}
			return struct {
				io.Writer
				io.Closer
			}{last, z}, nil
		}
	}
	if u, err := unpack(packed(t, plain, nil)); err != nil {
		t.Error(err)
	} else if _, err := detect(u); err == nil || !strings.HasSuffix(err.Error(), "the file is empty") {
		t.Errorf("an empty file: %v", err)
	}
	text := []byte(`[{"ph":"i","name":"a","pid":1,"tid":1,"ts":1}]`)
	for name, pack := range map[string]func(io.Writer) (io.WriteCloser, error){"gzip": plain, "zstd": zst,
		"zip": zipped("a.json")} {
		u, err := unpack(packed(t, pack, text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f, err := detect(u)
		if err != nil || f.name != "Chrome JSON trace" {
			t.Errorf("%s: %v, %v", name, f.name, err)
		}
		got, err := io.ReadAll(u)
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err := u.Close(); err != nil {
			t.Error(err)
		}
		u, err = unpack(packed(t, pack, make([]byte, 64<<20)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := io.Copy(io.Discard, u); !errors.Is(err, errBomb) {
			t.Errorf("%s: a bomb was unpacked: %v", name, err)
		}
		_ = u.Close()
	}
	_, err := unpack(packed(t, zipped("a.json", "b.json"), text))
	if err == nil || !strings.Contains(err.Error(), "2 files") {
		t.Errorf("a zip archive of two files: %v", err)
	}
}

// TestFormats: the content selects the format.
func TestFormats(t *testing.T) {
	for text, want := range map[string]string{
		`{"traceEvents":[]}`: "Chrome JSON trace", ` [ {"ph":"i"}]`: "Chrome JSON trace",
		`{"meta":{},"threads":[]}`: "Firefox profile", `{"nodes":[]}`: ".cpuprofile",
		"\x0a\x02\x50\x01": "Perfetto trace", `{"log":{}}`: "", "text": "", "": "", "\x0a\xff": "",
		"chromium 12/13 [001] 100.000001: 1000000 cpu-clock:ppp:\n\tffff main+0x1 (/bin/a)\n\n": "text of perf script",
	} {
		path := filepath.Join(t.TempDir(), "trace")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		u, err := unpack(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := detect(u)
		if f.name != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", text, f.name, err, want)
		}
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTraceName(t *testing.T) {
	for _, tc := range []struct{ as, file, want string }{
		{"", "/a/Trace-20261124T1.json.gz", "trace-20261124t1"}, {"", "native.json", "attached-native"},
		{"", "page.json", "attached-page"}, {"page", "x", ""},
		{"", "日本.json", "trace"}, {"mine", "x", "mine"}, {"native", "x", ""}, {"../x", "x", ""}, {"A", "x", ""},
		{"", strings.Repeat("a", 40) + ".json", strings.Repeat("a", 32)},
	} {
		got, err := traceName(Options{Name: tc.as, Trace: tc.file})
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%q of %q: %q, %v; want %q", tc.as, tc.file, got, err, tc.want)
		}
	}
}
