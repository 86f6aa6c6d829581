package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/export/pftrace/pftracetest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/serve"
)

// writeRun makes the folder of a run with markers, and every fifth frame 5 periods long. Requests
// begin with the recording.
func writeRun(t *testing.T, requests func(at func(ms int) har.Moment) []har.Request) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, runfolder.RecordingFile)
	if code, _, errOut := command(t, "record", "-o", file, "-s",
		"synth:fps?size=320x200&format=YU12&frames=180&fps=60&repeats=1,1,1,1,5&markers=1"); code != exitOK {
		t.Fatal(errOut)
	}
	code, results, errOut := command(t, "analyze", file, "fps", "--json")
	if code != exitOK {
		t.Fatal(errOut)
	}
	if err := os.WriteFile(filepath.Join(dir, result.FileName), []byte(results), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	first, err := r.Meta(0)
	if err != nil {
		t.Fatal(err)
	}
	fall := har.Waterfall{Recording: har.ID(fmt.Sprintf("%x", r.Info().ID))}
	fall.Requests = requests(func(ms int) har.Moment {
		at := first.Sampled.Mid() + timeline.Time(ms)*1e6
		return har.Moment{At: at, Earliest: at, Latest: at, By: har.Line}
	})
	out, err := os.Create(filepath.Join(dir, runfolder.HARFile))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := fall.Write(out, har.Options{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTraceOfRun(t *testing.T) {
	dir := writeRun(t, func(at func(int) har.Moment) []har.Request {
		request := func(id int, path string, begin, sent, first, end int) har.Request {
			r := har.Request{Sent: at(sent), FirstByte: at(first), Ended: at(end),
				Served: serve.Exchange{Method: "GET", URL: "https://a.test/" + path, Status: 200},
				Over:   serve.Connection{ID: id, Protocol: "h2"}, Reused: begin == sent}
			if begin < sent {
				r.Connect = har.Phase{From: at(begin), To: at(sent - 2)}
				r.TLS = har.Phase{From: at(sent - 2), To: at(sent)}
			}
			return r
		}
		unanswered := request(3, "unanswered", 60, 60, 0, 0)
		unanswered.FirstByte, unanswered.Ended = har.Moment{}, har.Moment{}
		return []har.Request{
			request(1, "page", 0, 10, 30, 50), request(1, "style", 40, 40, 60, 90),
			request(1, "script", 40, 40, 55, 70),
			request(1, "late", 70, 70, 80, 100), request(2, strings.Repeat("long/", 80), 20, 30, 40, 41),
			request(0, "unknown", 1, 2, 3, 4), unanswered,
		}
	})
	p := parseTrace(t, exported(t, dir, ".trace.json"))
	samePerfetto(t, dir, p)
	file := filepath.Join(dir, runfolder.RecordingFile)
	r, err := recording.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	frames := p.track("frames")
	if len(frames) != r.Frames() {
		t.Errorf("%d slices of %d frames", len(frames), r.Frames())
	}
	results, err := result.Read(filepath.Join(dir, result.FileName))
	if err != nil {
		t.Fatal(err)
	}
	w := results.Windows[0]
	long, _ := w.Results[0].Find("long_frames")
	count := map[string]int{}
	end := int64(0)
	for i, f := range frames {
		count[f.name]++
		if want := map[bool]string{true: "green"}[i <= w.Green && i > 0]; want != "" && f.name != want {
			t.Errorf("frame %d is %q, before the content", i, f.name)
		}
		if i >= w.Red && f.name != "red" {
			t.Errorf("frame %d is %q, at the end", i, f.name)
		}
		if f.name == "late frame" && !slices.Contains(long.Frames, i-5) {
			t.Errorf("frame %d is late, and of frames %v one was long", i, long.Frames)
		}
		if i > 0 && f.at != end {
			t.Errorf("frame %d begins at %d, and the one before it ends at %d", i, f.at, end)
		}
		end = f.at + f.dur
	}
	late := len(long.Frames)
	if slices.Contains(long.Frames, w.Red-5) { // the red follows it
		late--
	}
	if count["late frame"] != late || late < 10 || count["new frame"] == 0 || count["repeat"] != 4*len(long.Frames) {
		t.Errorf("%v with %d long frames", count, len(long.Frames))
	}
	for from := long.Frames[0]; from <= long.Frames[0]+6; from++ {
		part := parseTrace(t, exported(t, dir, ".trace.json", "--frames", fmt.Sprintf("%d:%d", from, from+8)))
		for i, f := range part.track("frames") {
			if want := frames[from+i].name; f.name != want {
				t.Errorf("frame %d is %q in a part from %d, want %q", from+i, f.name, from, want)
			}
		}
	}
	for track, want := range map[string][]string{
		"a.test h2, connection 1": {"a.test/page 0ms+50", "connect 0ms+8", "tls 8ms+2", "wait 10ms+20",
			"receive 30ms+20", "a.test/late 70ms+30", "wait 70ms+10", "receive 80ms+20"},
		"a.test h2, connection 1 (2)": {"a.test/style 40ms+50", "wait 40ms+20", "receive 60ms+30"},
		"a.test h2, connection 1 (3)": {"a.test/script 40ms+30", "wait 40ms+15", "receive 55ms+15"},
		"a.test h2":                   {"a.test/unknown 1ms+3", "tls 1ms+1", "wait 2ms+1", "receive 3ms+1"},
		"a.test h2, connection 3":     {"a.test/unanswered 60ms+0"},
	} {
		wantSlices(t, track, p.track(track), want)
	}
	if got := p.track("a.test h2, connection 2")[0]; len([]rune(got.name)) != 100 ||
		got.args["connection"] != json.Number("2") || got.args["status"] != json.Number("200") ||
		got.args["reused"] != false {
		t.Errorf("%q: %v", got.name, got.args)
	}

	part := parseTrace(t, exported(t, dir, ".trace.json", "--frames", "3:5"))
	if got := part.track("a.test h2, connection 1"); len(got) == 0 || got[len(got)-1].name != "receive" ||
		len(part.track("a.test h2, connection 3")) != 1 || part.track("a.test h2, connection 2") != nil {
		t.Errorf("of a part: %v", got)
	}
	if p := parseTrace(t, exported(t, dir, ".trace.json", "--no-events")); len(p.track("a.test h2")) > 0 {
		t.Error("--no-events leaves requests")
	}
	if p := parseTrace(t, exported(t, file, ".trace.json")); len(p.track("a.test h2")) > 0 {
		t.Error("a recording has requests of its own")
	}
}

// samePerfetto compares the protobuf format with JSON: names and times of all slices, instants,
// counters.
func samePerfetto(t *testing.T, in string, p parsedTrace) {
	t.Helper()
	raw, err := os.ReadFile(exported(t, in, ".pftrace"))
	if err != nil {
		t.Fatal(err)
	}
	trace := pftracetest.Decode(t, raw)
	said := func(name string, at, lasts int64) string { return fmt.Sprintf("%s at %d for %d", name, at, lasts) }
	slicesOf, instants := map[string][]string{}, 0
	for _, track := range trace.Tracks {
		for _, s := range track.Slices {
			slicesOf[track.Name] = append(slicesOf[track.Name], said(s.Name, s.From-p.info.OriginNS, s.To-s.From))
		}
		if instants += len(track.Instants); track.Counter && !slices.Equal(track.Values, p.counters[track.Name]) {
			t.Errorf("%s: %v, want %v", track.Name, track.Values, p.counters[track.Name])
		}
	}
	for tid, all := range p.slices {
		var want []string
		for _, s := range all {
			name, _, _ := strings.Cut(s.name, "?")
			want = append(want, said(name, s.at, s.dur))
		}
		got := slicesOf[p.names[tid]]
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("track %q:\n%q, want\n%q", p.names[tid], got, want)
		}
	}
	if instants != len(p.instants)+1 || trace.Clock != 3 && p.info.OriginNS > 0 {
		t.Errorf("%d instants, want %d; clock %d, readings %v", instants, len(p.instants)+1, trace.Clock, trace.Clocks)
	}
}

func TestTraceOfBadNetwork(t *testing.T) {
	dir := writeRun(t, func(func(int) har.Moment) []har.Request { return nil })
	for name, tc := range map[string]struct{ text, want string }{
		"not JSON": {"{", "unexpected EOF"},
		"other": {`{"log":{"version":"1.2","entries":[],"_recording":"` + strings.Repeat("0f", 16) + `"}}`,
			"network.har: it is of another recording"},
	} {
		if err := os.WriteFile(filepath.Join(dir, runfolder.HARFile), []byte(tc.text), 0o644); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "a.trace.json")
		code, _, errOut := command(t, "export", dir, "-o", out)
		if code != exitFailure || !strings.Contains(errOut, tc.want) || exists(out) {
			t.Errorf("%s: exit code %d: %s", name, code, errOut)
		}
	}
}
