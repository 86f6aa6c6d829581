package store

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/session"
)

func zipped(t testing.TB, s *Store, id string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Zip(background, id, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipOf(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRunsMove: a run and a set move from one rig to another unchanged, except for their names and
// pins.
func TestRunsMove(t *testing.T) {
	a, b := open(t, t.TempDir()), open(t, t.TempDir())
	m := run(0, 60).with(func(r *session.Record) { r.Label = "moved" })
	m.recording = true
	alone, set := put(t, a, m), putSet(t, a, 10, 60, 61)
	if err := a.Pin(background, alone, true); err != nil {
		t.Fatal(err)
	}
	id, _, err := b.Receive(background, bytes.NewReader(zipped(t, a, alone)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Get(background, id)
	if err != nil || r.Label != "moved" || r.Pinned || len(r.Values) != 2 ||
		!strings.HasPrefix(id, "20240229-201530-framerate-") {
		t.Errorf("%s: %+v, %v", id, r, err)
	}
	for _, file := range []string{session.RecordFile, result.FileName, "recording.eid"} {
		was, errWas := os.ReadFile(filepath.Join(a.path(alone), file))
		is, errIs := os.ReadFile(filepath.Join(b.path(id), file))
		if errWas != nil || errIs != nil || !bytes.Equal(was, is) {
			t.Errorf("%s is another: %v, %v", file, errWas, errIs)
		}
	}
	id, _, err = b.Receive(background, bytes.NewReader(zipped(t, a, set)))
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(t, b, Query{Set: id}); !slices.Equal(got, []string{id + "~run-02", id + "~run-01"}) {
		t.Errorf("the set has %v", got)
	}
}

// TestUploadsAreRefused: an upload that is not a run, is broken or incomplete leaves nothing. The
// error has the reason.
//
// Fault: An upload is not a run, lies about sizes, or breaks off
// Fault: A pushed zip that bursts, lies or escapes
func TestUploadsAreRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	m := run(0, 60)
	m.recording = true
	whole := put(t, s, m)
	record, err := os.ReadFile(filepath.Join(s.path(whole), session.RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	recording, err := os.ReadFile(filepath.Join(s.path(whole), "recording.eid"))
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(recording)
	flipped[len(flipped)/2] ^= 1
	good := zipped(t, s, whole)
	broken := errors.New("the line broke")
	for name, tc := range map[string]struct {
		from io.Reader
		want error
		text string
	}{
		"nothing": {strings.NewReader(""), ErrRefused, "zip"},
		"no run":  {bytes.NewReader(zipOf(t, map[string]string{"a.txt": "x"})), ErrRefused, "run.json"},
		"a flipped bit": {bytes.NewReader(
			zipOf(t, map[string]string{"run.json": string(record), "recording.eid": string(flipped)})), ErrRefused,
			"recording.eid"},
		"a cut recording": {bytes.NewReader(
			zipOf(t, map[string]string{"recording.eid": string(recording[:len(recording)/2])})), ErrRefused,
			"recording.eid"},
		"bad results": {bytes.NewReader(
			zipOf(t, map[string]string{"run.json": string(record), "results.json": "{}"})), ErrRefused, "results.json"},
		"a run that runs": {bytes.NewReader(
			zipOf(t, map[string]string{"run.json": strings.Replace(string(record), `"ok"`, `"running"`, 1)})),
			ErrRefused, "not ended"},
		"one bad of two": {bytes.NewReader(
			zipOf(t, map[string]string{"a/run.json": string(record), "b/run.json": "{}"})), ErrRefused, "b"},
		"a name that is none": {bytes.NewReader(zipOf(t, map[string]string{"a b/run.json": string(record)})),
			ErrRefused, "a b"},
		"deep": {bytes.NewReader(zipOf(t, map[string]string{"a/b/c/d/e/run.json": string(record)})),
			ErrRefused, "a/b/c/d/e"},
		"it breaks off": {io.MultiReader(bytes.NewReader(good[:len(good)/2]), iotest.ErrReader(broken)), broken,
			""},
		"it is cut off": {bytes.NewReader(good[:len(good)/2]), ErrRefused, "zip"},
	} {
		id, _, err := s.Receive(background, tc.from)
		if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %s, %v, want %v with %q", name, id, err, tc.want, tc.text)
		}
	}
	if got := ids(t, s, Query{}); len(got) != 1 {
		t.Errorf("listed: %v", got)
	}
	left, err := os.ReadDir(filepath.Join(dir, uploadsDir))
	if err != nil || len(left) > 0 {
		t.Errorf("uploads: %v, %v", left, err)
	}
	if names, err := s.names(); err != nil || len(names) != 1 {
		t.Errorf("folders: %v, %v", names, err)
	}
}

// TestUploadsAreBounded: more than is allowed, or than there is room for, is not taken.
//
// Fault: An upload is not a run, lies about sizes, or breaks off
func TestUploadsAreBounded(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	m := run(0, 60)
	m.recording = true
	good := zipped(t, s, put(t, s, m))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		o    Options
		want error
	}{
		"size":     {Options{Dir: dir, MaxUpload: int64(len(good)) - 1}, ErrTooLarge},
		"unpacked": {Options{Dir: dir, MaxUpload: int64(len(good))}, ErrTooLarge},
		"room":     {Options{Dir: dir, MinFree: 1 << 62}, ErrNoSpace},
	} {
		s, err := Open(background, tc.o)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Receive(background, bytes.NewReader(good)); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLargeFrames: a recording of frames that exceed the rig's memory is rejected before one is
// read, however small the file is.
func TestLargeFrames(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	record, err := os.ReadFile(filepath.Join(s.path(put(t, s, run(0, 60))), session.RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		width, height int
		want          error
	}{{8192, 2, nil}, {16384, 2306, ErrTooLarge}} {
		content := flat(t, tc.width, tc.height, 0)
		_, _, err = s.Receive(background,
			bytes.NewReader(zipOf(t, map[string]string{"run.json": string(record), "recording.eid": string(content)})))
		size := fmt.Sprintf("%dx%d", tc.width, tc.height)
		if !errors.Is(err, tc.want) || tc.want != nil &&
			(!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), size)) {
			t.Errorf("%s in %d bytes: %v, want %v", size, len(content), err, tc.want)
		}
	}
}

// TestLargeEvents receives small files with 60 and with 65 MiB of events.
//
// Bug: a pushed file of 72 KB with 2,000 events of 1 MiB took 4 GB of memory.
func TestLargeEvents(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	record, err := os.ReadFile(filepath.Join(s.path(put(t, s, run(0, 60))), session.RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	for events, want := range map[int]error{60: nil, 65: ErrTooLarge} {
		content := flat(t, 64, 36, events)
		_, _, err = s.Receive(background,
			bytes.NewReader(zipOf(t, map[string]string{"run.json": string(record), "recording.eid": string(content)})))
		if !errors.Is(err, want) || want != nil && !strings.Contains(err.Error(), "events and metadata") {
			t.Errorf("%d events in %d bytes: %v, want %v", events, len(content), err, want)
		}
	}
}

// flat is a recording of one frame that shows nothing, and of events of 1 MiB each.
func flat(t *testing.T, width, height, events int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flat.eid")
	w, err := recording.Create(path, recording.Options{NoDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	blanks := append(bytes.Repeat([]byte(" "), timeline.MaxEventData-1), '1')
	for range events {
		err = errors.Join(err, w.Event(timeline.Event{Kind: "large", Data: blanks}))
	}
	f, ferr := frame.NewFormat(frame.YU12, width, height)
	if err := errors.Join(err, ferr, w.Segment(f, 1, 60),
		w.WriteFrame(make([]byte, f.Size()), frame.Meta{Sampled: timeline.At(1)}, nil), w.Close()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// FuzzReceive: whatever is sent, all that is listed can be read, and nothing is left where uploads
// are.
//
// Fault: A pushed zip that bursts, lies or escapes
func FuzzReceive(f *testing.F) {
	dir := f.TempDir()
	s := open(f, dir)
	m := run(0, 60)
	m.recording = true
	f.Add(zipped(f, s, put(f, s, m)))
	f.Add(zipped(f, s, put(f, s, run(1, 0))))
	f.Add(zipped(f, s, putSet(f, s, 2, 60, 61)))
	f.Add(zipOf(f, map[string]string{"../run.json": "{}"}))
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, b []byte) {
		id, _, err := s.Receive(background, bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, ErrRefused) {
				t.Errorf("not told as what is sent: %v", err)
			}
		} else {
			check := ids(t, s, Query{Set: id})
			if len(check) == 0 {
				t.Errorf("%s was received and is not listed", id)
			}
			for _, run := range check {
				if r, err := s.Get(background, run); err != nil || r.State == unreadable {
					t.Errorf("%s was received and is %s: %s, %v", run, r.State, r.Reason, err)
				}
			}
			if err := s.Delete(background, id); err != nil {
				t.Error(err)
			}
		}
		if left, err := os.ReadDir(filepath.Join(dir, uploadsDir)); err != nil || len(left) > 0 {
			t.Errorf("uploads: %v, %v", left, err)
		}
	})
}
