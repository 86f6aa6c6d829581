package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/serve"
)

// aRecording writes one of a page that comes in four steps, at 60 frames a second.
func aRecording(t *testing.T, path string) {
	t.Helper()
	w, err := recording.Create(path, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := frame.NewFormat(frame.BGR4, 64, 48)
	if err == nil {
		err = w.Segment(f, 1, 60)
	}
	for n := range 48 {
		pix := bytes.Repeat([]byte{255, 255, 255, 0}, 64*48)
		for i := range 64 * 12 * (n / 12) {
			copy(pix[4*i:], []byte{90, 60, byte(30 + i%64)})
		}
		if err == nil {
			err = w.WriteFrame(pix, frame.Meta{Sequence: uint64(n), Sampled: timeline.At(frameAt(n))}, nil)
		}
	}
	if err == nil {
		err = w.Event(timeline.Event{At: frameAt(-6), Source: "controller", Kind: "navigation"})
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
}

func frameAt(n int) timeline.Time {
	return timeline.Time(100*time.Second + time.Duration(n)*time.Second/60)
}

// aRun makes the folder of a run of that recording, on a network of its own.
func aRun(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, runfolder.RecordingFile)
	aRecording(t, path)
	s := &run{Options: Options{Dir: dir, Program: "eideticker first", Attempt: 3, NoVideo: true,
		Test: &suite.Test{Name: "shop"}, Progress: untold{}}, journal: newJournal(io.Discard, untold{})}
	seen := &traffic{fall: har.New(har.Evidence{
		Down:        20 * time.Millisecond,
		Connections: []serve.Connection{{ID: 1, Network: "tcp", Accepted: frameAt(6), Protocol: "http/1.1"}},
		Exchanges: []serve.Exchange{
			{ID: 1, Connection: 1, Method: "GET", URL: "http://page.test/load.html?run=1", Urgency: 0, Status: 200,
				Began: frameAt(8), FirstByte: frameAt(10), Ended: frameAt(11), ResponseBytes: 5000, DecodedBytes: 9000},
			{ID: 2, Connection: 1, Method: "GET", URL: "http://page.test/a.css", Urgency: 3, Incremental: true,
				Status: 404, Began: frameAt(12), FirstByte: frameAt(15), Ended: frameAt(20), ResponseBytes: 50,
				DecodedBytes: 50},
		},
	})}
	s.add([]string{"the test changed the network: 3g"})
	record := &Record{
		Schema: Schema, Version: Version, Test: "shop", State: Failed, Reason: "it was too slow",
		Environment: result.Environment{result.EnvBrowser: "Chromium 148.0", result.EnvNetwork: "cable: 5Mbit down"},
		Network: &Network{Profile: "cable", RTT: Asked[time.Duration]{28e6, 28.5e6},
			Down: Asked[link.Rate]{5e6, 4.9e6}},
	}
	record.Network.count(seen.fall)
	seen.figures = record.Network
	record.Recording = RecordingID(path)
	r := opened(t, path)
	record.Frames = uint64(r.Frames())
	found, err := runfolder.Run(t.Context(), r, runfolder.Settings{Name: "shop", Measures: []string{"speedindex"},
		T0: "navigation"}, "eideticker first", untold{})
	if err != nil {
		t.Fatal(err)
	}
	found.Results.Notes = append(found.Results.Notes, failedNote+record.Reason)
	if err := s.writeResults(t.Context(), record, r, seen, found); err != nil {
		t.Fatal(err)
	}
	s.note("speedindex was not measured: judged after that")
	record.Notes = s.noted()
	if err := record.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func opened(t *testing.T, path string) *recording.Reader {
	t.Helper()
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// again measures a run's recording again, into a folder.
func again(t *testing.T, dir, to string) *result.Results {
	t.Helper()
	path := filepath.Join(dir, runfolder.RecordingFile)
	r := opened(t, path)
	e, err := ReadEarlier(t.Context(), path, r)
	if err != nil {
		t.Fatal(err)
	}
	found, err := runfolder.Run(t.Context(), r, runfolder.Settings{Name: e.Name(), Measures: []string{"speedindex"},
		T0: "navigation"}, "eideticker second", untold{})
	if err != nil {
		t.Fatal(err)
	}
	e.Keep(found)
	if err := runfolder.WriteFolder(t.Context(), to, r, found, runfolder.FolderOptions{Force: true, Source: path,
		NoVideo: true, Network: e.Network(to), More: e.Scripts(to)}, untold{}); err != nil {
		t.Fatal(err)
	}
	return resultsIn(t, to)
}

func resultsIn(t *testing.T, dir string) *result.Results {
	t.Helper()
	results, err := result.Read(filepath.Join(dir, result.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func content(t *testing.T, parts ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestMeasuredAgain: data of a run that is not in its recording is kept when it is measured again.
// The folder may be another one. The waterfall is drawn again.
func TestMeasuredAgain(t *testing.T) {
	t.Parallel()
	dir := aRun(t)
	first, firstHAR, firstFall := resultsIn(t, dir), content(t, dir, HARFile),
		content(t, dir, "pictures", "waterfall.svg")
	if first.Network == nil || len(first.Network.List) != 2 || first.RetriedRuns != 2 || len(first.Notes) < 2 ||
		!bytes.Contains(firstFall, []byte("last change")) {
		t.Fatalf("the first: %+v, %v", first.Network, first.Notes)
	}
	for what, to := range map[string]string{"in its folder": dir, "beside": filepath.Join(t.TempDir(), "beside")} {
		second := again(t, dir, to)
		if !reflect.DeepEqual(second.Network, first.Network) {
			t.Errorf("%s: of the network there is %+v, want %+v", what, second.Network, first.Network)
		}
		if second.RetriedRuns != 2 || second.Recording.Name != "shop" ||
			second.Windows[0].Name != first.Windows[0].Name {
			t.Errorf("%s: %q, window %q, began again %d times", what, second.Recording.Name, second.Windows[0].Name,
				second.RetriedRuns)
		}
		want := maps.Clone(first.Environment)
		want[result.EnvAnalysisBuild] = "eideticker second"
		if !maps.Equal(second.Environment, want) || !slices.Equal(second.Notes, first.Notes) {
			t.Errorf("%s: environment %v, notes %q, want %v and %q", what, second.Environment, second.Notes, want,
				first.Notes)
		}
		if !reflect.DeepEqual(second.Windows[0].Pictures, first.Windows[0].Pictures) {
			t.Errorf("%s: pictures %+v, want %+v", what, second.Windows[0].Pictures, first.Windows[0].Pictures)
		}
		if !bytes.Equal(content(t, to, "pictures", "waterfall.svg"), firstFall) ||
			!bytes.Equal(content(t, to, HARFile), firstHAR) {
			t.Errorf("%s: waterfall or HAR file are not as they were", what)
		}
		if page := content(t, to, runfolder.PageFile); !bytes.Contains(page, []byte("pictures/waterfall.svg")) ||
			!bytes.Contains(page, []byte("a.css")) {
			t.Errorf("%s: the report shows no waterfall, or no requests", what)
		}
	}
}

// TestMeasuredAgainOfLess: unreadable network data becomes a note. All else is measured and kept.
//
// Fault: The HAR of a run that is measured again is broken, huge or missing
func TestMeasuredAgainOfLess(t *testing.T) {
	t.Parallel()
	damage := func(change func(path string) error) func(string) error {
		return func(dir string) error { return change(filepath.Join(dir, HARFile)) }
	}
	for name, tc := range map[string]struct {
		change func(dir string) error
		want   string // a note
		gone   bool   // the HAR file
	}{
		"broken": {damage(func(path string) error {
			return os.WriteFile(path, []byte(`{"log":{"version":"1.2","entries":[{`), 0o644)
		}), "since network.har cannot be read: bad HAR file: entries[0]: unexpected EOF", false},
		"huge": {damage(func(path string) error {
			return errors.Join(os.WriteFile(path, []byte(`{"log":{"version":"1.2","entries":[]}}`), 0o644),
				os.Truncate(path, 1<<30))
		}), "since network.har cannot be read: bad HAR file", false},
		"of others": {damage(func(path string) error {
			return os.WriteFile(path,
				[]byte(`{"log":{"version":"1.2","entries":[{"request":{"method":"GET","url":"http://a.test/"}}]}}`),
				0o644)
		}), "no times on a recording's clock", false},
		"a folder": {damage(func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) }),
			"network.har is not a file", true},
		"of another recording": {damage(func(path string) error {
			raw, err := os.ReadFile(path)
			id := regexp.MustCompile(`"_recording": "[0-9a-f]{32}"`)
			if n := len(id.FindAll(raw, -1)); n != 1 {
				return fmt.Errorf("it names %d recordings", n)
			}
			return errors.Join(err, os.WriteFile(path,
				id.ReplaceAll(raw, []byte(`"_recording": "00000000000000000000000000000001"`)), 0o644))
		}), "network.har is of another recording", true},
		"gone": {damage(os.Remove), "network.har is not there", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := aRun(t)
			first := resultsIn(t, dir)
			if err := tc.change(dir); err != nil {
				t.Fatal(err)
			}
			beside := again(t, dir, filepath.Join(t.TempDir(), "beside"))
			second := again(t, dir, dir)
			for where, r := range map[string]*result.Results{"beside": beside, "there": second} {
				if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, tc.want) }) {
					t.Errorf("%s: notes are %q, want %q", where, r.Notes, tc.want)
				}
				if r.Network == nil || !reflect.DeepEqual(r.Network.List, first.Network.List) || r.RetriedRuns != 2 {
					t.Errorf("%s: of the network there is %+v", where, r.Network)
				}
				if m := r.Windows[0].Results[0]; m.State == analyze.Refused || len(m.Values) == 0 {
					t.Errorf("%s: nothing was measured: %s", where, m.Refusal)
				}
				if slices.ContainsFunc(r.Windows[0].Pictures,
					func(p result.Picture) bool { return p.Kind == result.PictureWaterfall }) {
					t.Errorf("%s: a waterfall was drawn", where)
				}
			}
			if page := string(content(t, dir, runfolder.PageFile)); !strings.Contains(page, "no waterfall is drawn") {
				t.Error("the report does not say so")
			}
			if beside.Network.File != "" || (second.Network.File == "") != tc.gone {
				t.Errorf("the HAR file is %q, beside %q", second.Network.File, beside.Network.File)
			}
		})
	}
}

// TestMeasuredAgainByItsRecord: a run without results has the sound values of its run.json. A
// run.json of another recording is not used.
func TestMeasuredAgainByItsRecord(t *testing.T) {
	t.Parallel()
	dir := aRun(t)
	first := resultsIn(t, dir)
	results, record := filepath.Join(dir, result.FileName), filepath.Join(dir, RecordFile)
	if err := os.WriteFile(results, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	second := again(t, dir, filepath.Join(t.TempDir(), "second"))
	if !reflect.DeepEqual(second.Network, first.Network) || second.Recording.Name != "shop" ||
		second.Environment[result.EnvBrowser] != "Chromium 148.0" {
		t.Errorf("%+v, %q, %v", second.Network, second.Recording.Name, second.Environment)
	}
	if !slices.ContainsFunc(second.Notes,
		func(n string) bool { return strings.HasPrefix(n, "results.json beside the recording cannot be read") }) {
		t.Errorf("notes are %q", second.Notes)
	}

	text := content(t, dir, RecordFile)
	for _, change := range [][2]string{{`"requests": 2`, `"requests": 1`},
		{`"bytes_up": 0`, `"bytes_up": 18446744073709551615`}, {`"asked": 5000000`, `"asked": -5`}} {
		changed := bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(changed, text) {
			t.Fatalf("%s is not in run.json", change[0])
		}
		if err := os.WriteFile(record, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		if r := again(t, dir, filepath.Join(t.TempDir(), "third")); r.Network != nil ||
			!slices.ContainsFunc(r.Notes,
				func(n string) bool { return strings.Contains(n, "no run writes such figures") }) {
			t.Errorf("%s: %+v, %q", change[1], r.Network, r.Notes)
		}
	}

	other := aRun(t)
	if err := errors.Join(os.WriteFile(results, content(t, other, result.FileName), 0o644),
		os.WriteFile(record, text, 0o644)); err != nil {
		t.Fatal(err)
	}
	if r := again(t, dir, filepath.Join(t.TempDir(), "fourth")); r.Network != nil || r.RetriedRuns != 0 ||
		r.Environment[result.EnvBrowser] != "" {
		t.Errorf("it has what is of another: %+v, %v", r.Network, r.Environment)
	}
}

// TestMeasuredAgainBesideAnother: files of another recording are not used.
func TestMeasuredAgainBesideAnother(t *testing.T) {
	t.Parallel()
	was := content(t, aRun(t), RecordFile)
	var record map[string]any
	if err := json.Unmarshal(was, &record); err != nil {
		t.Fatal(err)
	}
	with := func(changes map[string]any) []byte {
		m := maps.Clone(record)
		delete(m, "recording_id")
		maps.Copy(m, changes)
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	without := func(change string, value any) []byte { return with(map[string]any{change: value}) }
	killed := func(test string) []byte {
		return with(map[string]any{"test": test, "state": Running, "frames": 0})
	}
	for name, tc := range map[string]struct {
		record  func(own []byte) []byte // nil: as it lies there
		results bool                    // are there
		taken   bool
	}{
		"by its ID":                           {nil, true, false},
		"by its ID, not measured":             {nil, false, false},
		"of before, other frames":             {func([]byte) []byte { return without("frames", 47) }, false, false},
		"of before, another name":             {func([]byte) []byte { return without("test", "shop") }, true, false},
		"of before, as many frames":           {func([]byte) []byte { return without("test", "shop") }, false, true},
		"of a killed run":                     {func([]byte) []byte { return killed("shop") }, false, true},
		"of a killed run, another name":       {func([]byte) []byte { return killed("shop") }, true, false},
		"of before, the same name and frames": {func([]byte) []byte { return without("test", "other") }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := aRun(t)
			if tc.record != nil {
				if err := os.WriteFile(filepath.Join(dir, RecordFile), tc.record(nil), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(t.TempDir(), "other.eid")
			aRecording(t, path)
			r := opened(t, path)
			found, err := runfolder.Run(t.Context(), r,
				runfolder.Settings{Name: "other", Measures: []string{"speedindex"}, T0: "navigation"},
				"eideticker second", untold{})
			if err != nil {
				t.Fatal(err)
			}
			if err := runfolder.WriteFolder(t.Context(), dir, r, found,
				runfolder.FolderOptions{Force: true, Source: path, NoVideo: true}, untold{}); err != nil {
				t.Fatal(err)
			}
			if got := resultsIn(t, dir).Recording.Name; got != "other" {
				t.Fatalf("it is called %q", got)
			}
			if !tc.results {
				if err := os.Remove(filepath.Join(dir, result.FileName)); err != nil {
					t.Fatal(err)
				}
			}
			second := again(t, dir, dir)
			note := slices.ContainsFunc(second.Notes,
				func(n string) bool { return strings.HasPrefix(n, "nothing of run.json beside the recording is kept") })
			if taken := second.Network != nil; taken != tc.taken || note == tc.taken {
				t.Errorf("of the network there is %+v, notes are %q", second.Network, second.Notes)
			}
			if tc.taken {
				return
			}
			if second.Recording.Name == "shop" || second.Environment[result.EnvBrowser] != "" ||
				slices.ContainsFunc(second.Notes, func(n string) bool { return strings.HasPrefix(n, failedNote) }) {
				t.Errorf("it has what is of another: %q, %v, %q", second.Recording.Name, second.Environment,
					second.Notes)
			}
			if _, err := os.Stat(filepath.Join(dir, "pictures", "waterfall.svg")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the waterfall is another's: %v", err)
			}
		})
	}
}

// TestMeasuredAgainWithChecks: without a page's report, a note has the first checks.
func TestMeasuredAgainWithChecks(t *testing.T) {
	t.Parallel()
	dir := aRun(t)
	path := filepath.Join(dir, RecordFile)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	record, err := ReadRecord(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	record.Checks, record.ChecksFailed, record.ChecksNotMade = 9, []string{"unique frames", "framerate"},
		[]string{"jank"}
	if err := record.Write(dir); err != nil {
		t.Fatal(err)
	}
	const want = "of 9 checks that were made against what the page drew when it was measured first, " +
		"2 failed (unique frames, framerate); 1 more could not be made (jank); they are not made again"
	for range 2 {
		if r := again(t, dir, dir); len(slices.DeleteFunc(r.Notes, func(n string) bool { return n != want })) != 1 {
			t.Errorf("notes are %q", r.Notes)
		}
	}
}

// TestMeasuredAgainInterrupted: a job that has ended reads no file to its end.
func TestMeasuredAgainInterrupted(t *testing.T) {
	path := filepath.Join(aRun(t), runfolder.RecordingFile)
	r := opened(t, path)
	why := errors.New("the job was cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	if _, err := io.ReadAll(io.LimitReader(untilDone{ctx, until(func() { cancel(why) })}, 1<<20)); !errors.Is(err,
		why) {
		t.Errorf("it read on: %v", err)
	}
	if e, err := ReadEarlier(ctx, path, r); e != nil || !errors.Is(err, why) {
		t.Errorf("%+v, %v", e, err)
	}
}

// until is a file without an end, that does something when it is read.
type until func()

func (u until) Read(b []byte) (int, error) { u(); return len(b), nil }
