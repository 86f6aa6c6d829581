package store

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/session"
)

// TestPushedTwice: what is sent twice is there once, under the ID that it has, also if it is one of a set; what only looks like it is kept beside.
func TestPushedTwice(t *testing.T) {
	a, b := open(t, t.TempDir()), open(t, t.TempDir())
	m := run(0, 60)
	m.recording = true
	alone, set := put(t, a, m), putSet(t, a, 10, 60, 61)
	receive := func(what string, content []byte, want string) (id string) {
		t.Helper()
		id, known, err := b.Receive(background, bytes.NewReader(content))
		if err != nil || known != (want != "") || want != "" && id != want {
			t.Fatalf("%s: %s, known %v, %v, want %q", what, id, known, err, want)
		}
		return id
	}
	first, whole := zipped(t, a, alone), zipped(t, a, set)
	id := receive("a run", first, "")
	if err := b.Pin(background, id, true); err != nil {
		t.Fatal(err)
	}
	receive("the same", first, id)
	ofSet := receive("a set", whole, "")
	receive("the same set", whole, ofSet)
	receive("one of the set", zipped(t, a, set+"~run-02"), ofSet+"~run-02")

	files := map[string]string{}
	for _, name := range []string{session.RecordFile, report.FileName, "recording.eid"} {
		text, err := os.ReadFile(filepath.Join(a.path(alone), name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	receive("what it is made of", zipOf(t, files), id)
	with := func(name, content string) []byte {
		other := map[string]string{name: content}
		for n, c := range files {
			if n != name {
				other[n] = c
			}
		}
		return zipOf(t, other)
	}
	anew := receive("one that was measured anew", with(report.FileName, files[report.FileName]+" "), "")
	receive("it again", with(report.FileName, files[report.FileName]+" "), anew)
	receive("another record of the same name and time", with(session.RecordFile, files[session.RecordFile]+" "), "")
	receive("another recording", with("recording.eid", string(flat(t, 64, 48))), "")
	receive("without a recording", zipOf(t, map[string]string{session.RecordFile: files[session.RecordFile], report.FileName: files[report.FileName]}), "")
	receive("another set of the same runs", zipOf(t, map[string]string{"a/run.json": files[session.RecordFile], "b/run.json": strings.Replace(files[session.RecordFile], "local", "other", 1)}), "")

	bare := zipOf(t, map[string]string{"recording.eid": files["recording.eid"]}) // which tells by itself when it began
	receive("a recording", bare, receive("a recording", bare, ""))
	if err := b.Delete(background, anew); err != nil {
		t.Fatal(err)
	}
	receive("what was deleted", with(report.FileName, files[report.FileName]+" "), "")
}
