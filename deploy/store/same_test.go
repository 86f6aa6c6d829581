package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/controller/session"
)

// TestPushedTwice: a run that is sent twice is stored once, under its first ID. It may be part of a
// set. A similar run is stored separately.
//
// Fault: A run is pushed twice, also at the same time
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
	for _, name := range []string{session.RecordFile, result.FileName, "recording.eid"} {
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
	anew := receive("one that was measured anew", with(result.FileName, files[result.FileName]+" "), "")
	receive("it again", with(result.FileName, files[result.FileName]+" "), anew)
	receive("another record of the same name and time", with(session.RecordFile, files[session.RecordFile]+" "), "")
	receive("another recording", with("recording.eid", string(flat(t, 64, 48, 0))), "")
	receive("without a recording",
		zipOf(t, map[string]string{session.RecordFile: files[session.RecordFile],
			result.FileName: files[result.FileName]}), "")
	receive("another set of the same runs",
		zipOf(t, map[string]string{"a/run.json": files[session.RecordFile],
			"b/run.json": strings.Replace(files[session.RecordFile], "local", "other", 1)}), "")

	bare := zipOf(t, map[string]string{"recording.eid": files["recording.eid"]}) // which tells by itself when it began
	receive("a recording", bare, receive("a recording", bare, ""))
	if err := b.Delete(background, anew); err != nil {
		t.Fatal(err)
	}
	receive("what was deleted", with(result.FileName, files[result.FileName]+" "), "")
}

// stepping opens a store with a hook for its steps.
func stepping(t *testing.T) (s *Store, step *func(string)) {
	t.Helper()
	step = new(func(string))
	s, err := Open(background, Options{Dir: t.TempDir(), step: func(name string) {
		if *step != nil {
			(*step)(name)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, step
}

// TestPushedAtOnce: two clients that send the same run at the same time have sent it once. While it
// is compared with the stored runs, others can read and change those.
//
// Fault: A run is pushed twice, also at the same time
func TestPushedAtOnce(t *testing.T) {
	a := open(t, t.TempDir())
	m := run(0, 60)
	m.recording = true
	content := zipped(t, a, put(t, a, m))
	b, step := stepping(t)
	other := put(t, b, run(20, 60))

	var both sync.WaitGroup
	both.Add(2)
	var compared, indexed atomic.Int32
	*step = func(name string) {
		switch name {
		case "receive verified":
			both.Done()
			both.Wait()
		case "receive comparing":
			if compared.Add(1) == 2 && indexed.Load() == 0 {
				t.Error("the second is compared with what is there before the first is")
			}
			if !b.change.TryLock() {
				t.Error("whoever wants to change something waits until it is compared")
				return
			}
			b.change.Unlock()
			if err := b.Pin(context.Background(), other, true); err != nil {
				t.Error(err)
			}
		case "receive indexed":
			indexed.Add(1)
		}
	}
	var ids [2]string
	var known [2]bool
	var pushes sync.WaitGroup
	for i := range ids {
		pushes.Go(func() {
			var err error
			if ids[i], known[i], err = b.Receive(background, bytes.NewReader(content)); err != nil {
				t.Error(err)
			}
		})
	}
	pushes.Wait()
	if ids[0] != ids[1] || ids[0] == "" || known[0] == known[1] {
		t.Errorf("they were given %v, known %v", ids, known)
	}
	if page, err := b.List(background, Query{}); err != nil || len(page.Runs) != 2 {
		t.Errorf("%v: %d runs are there, want it and the other", err, len(page.Runs))
	}
}

// TestPushedWhileWaiting: who waits for another's run to be compared, and gives up, waits no
// longer.
func TestPushedWhileWaiting(t *testing.T) {
	a := open(t, t.TempDir())
	content := zipped(t, a, put(t, a, run(0, 60)))
	b, step := stepping(t)
	gaveUp := errors.New("whoever sent it went away")
	ctx, giveUp := context.WithCancelCause(background)
	*step = func(name string) {
		switch name {
		case "receive verified":
			giveUp(gaveUp)
		case "receive comparing":
			t.Error("it is compared beside the other")
		}
	}
	b.taking <- struct{}{} // the other
	if _, _, err := b.Receive(ctx, bytes.NewReader(content)); !errors.Is(err, gaveUp) {
		t.Error(err)
	}
	<-b.taking
	*step = nil
	if _, known, err := b.Receive(background, bytes.NewReader(content)); err != nil || known {
		t.Errorf("known %v, %v", known, err)
	}
}

// TestPushedWhileDeleted: a run that is deleted during the comparison is taken in again.
func TestPushedWhileDeleted(t *testing.T) {
	a := open(t, t.TempDir())
	content := zipped(t, a, put(t, a, run(0, 60)))
	b, step := stepping(t)
	first, _, err := b.Receive(background, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	*step = func(name string) {
		if name != "receive compared" {
			return
		}
		if err := b.Delete(context.Background(), first); err != nil {
			t.Error(err)
		}
	}
	id, known, err := b.Receive(background, bytes.NewReader(content))
	if err != nil || known || id == first {
		t.Errorf("%v: it is %s, known %v", err, id, known)
	}
	if _, err := b.Get(background, id); err != nil {
		t.Error(err)
	}
}
