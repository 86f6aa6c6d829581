package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// copiedWorld makes a world whose hub has keys and a folder for copies.
func copiedWorld(t *testing.T, rigs ...string) *world {
	w := newWorld(t, rigs...)
	w.o.Copy = t.TempDir()
	w.hub.o.Copy = w.o.Copy
	for _, name := range []string{copied[0], "secrets/fleet/state.json", "schedule.json", "secrets/tls.pem",
		"secrets/tokens.json"} {
		file := filepath.Join(w.o.Dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(name), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// adopt restores the copy in a new data directory, and has a hub there.
func (w *world) adopt() (Adopted, error) {
	w.memory, w.o.Dir = bus.NewMemory(), w.TempDir()
	a, err := Adopt(w.Context(), w.o.Dir, w.o.Copy,
		func(string, string) (bus.Hub, error) { return w.memory.Hub(), nil })
	if err == nil {
		w.o.Bus, w.adopted = w.memory.Hub(), true
		w.restart()
	}
	return a, err
}

// TestAdopt: each copied job ends once on the new hub. Rigs worked for the old hub after the copy.
//
// Fault: The disk of a fleet's hub is lost
func TestAdopt(t *testing.T) {
	w := copiedWorld(t, "a", "b", "c")
	a, b, c := w.rigs["a"], w.rigs["b"], w.rigs["c"]
	for _, id := range []string{"s-c1", "s-c2"} { // for rig c only
		w.submit(id, api.JobParams{Needs: []string{"rig=c"}})
	}
	c.poll()
	for i := range 8 {
		w.submit(fmt.Sprint("s-", i), api.JobParams{Needs: []string{"rig=a,b"}})
	}
	a.poll()
	b.poll()
	light := &wire.LightState{Bytes: 10, SHA256: strings.Repeat("a", 64)}
	first := slices.Sorted(maps.Keys(a.has))[0]
	a.end(first, wire.Ended{State: "ok"}).poll().poll() // before the copy
	if w.hub.copy(t.Context()); w.hub.copies.err != nil {
		t.Fatal(w.hub.copies.err)
	}
	second := slices.Sorted(maps.Keys(b.has))[0]
	b.end(second, wire.Ended{State: "ok"}).poll().poll() // after it: the copy has this job at work
	a.poll()
	c.end("s-c1.1", wire.Ended{State: "ok"}).poll().poll().poll() // the copy has the next one as waiting
	w.expect("s-c2", "running c:running")
	old := w.hub
	got, err := w.adopt()
	if err != nil || got.Jobs != 10 || got.Rigs != 3 || got.Epoch <= 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, name := range []string{"secrets/tls.pem", "secrets/tokens.json"} {
		if raw, err := os.ReadFile(filepath.Join(w.o.Dir, name)); string(raw) != name || err != nil {
			t.Errorf("%s is %q, %v", name, raw, err)
		}
	}
	a.kept[first].ended.Light = light // its folder is sent again
	for range 40 {
		w.pass(10e9, "a", "b", "c")
		for _, r := range w.rigs {
			for id, x := range r.has {
				if x.ended == nil {
					r.end(id, wire.Ended{State: "ok"})
				}
			}
		}
	}
	for _, id := range []string{"s-0", "s-1", "s-2", "s-3", "s-4", "s-5", "s-6", "s-7", "s-c1", "s-c2"} {
		j := w.job(id)
		wins := 0
		for _, x := range j.Attempts {
			if x.State == "ok" && !x.Superseded {
				wins++
			}
		}
		if j.State != "ok" || wins != 1 {
			t.Errorf("%s is %s with %d winners: %+v", j.Job, j.State, wins, j.Attempts)
		}
	}
	if len(a.answer.Light) != 1 || a.answer.Light[0].Attempt != first {
		t.Errorf("the light folder of %s is not wanted again: %+v", first, a.answer)
	}
	var p wire.Poll
	if err := json.Unmarshal(a.report(), &p); err != nil {
		t.Fatal(err)
	}
	w.now = time.Now() // as the epoch
	var answer wire.Polled
	p.Epoch = got.Epoch + 1e9
	raw, _ := json.Marshal(p)
	old.handle(t.Context(), "b", "poll", raw)
	if !strings.Contains(old.Status().Reason, "rig b reports the invalid epoch") {
		t.Errorf("an epoch that cannot be: status %q", old.Status().Reason)
	}
	p.Epoch = got.Epoch
	raw, _ = json.Marshal(p)
	if err := json.Unmarshal(old.handle(t.Context(), "a", "poll", raw), &answer); err != nil ||
		!strings.Contains(answer.Error, "old copy") || !strings.Contains(old.Status().Reason, "adopted") {
		t.Errorf("the old hub answers %+v, %v; status %q", answer, err, old.Status().Reason)
	}
	if _, err := Adopt(t.Context(), w.o.Dir, w.o.Copy, nil); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second adoption: %v", err)
	}
}

// TestCopyRefused: a copy that is not whole makes no fleet. A folder that is missing is a warning.
//
// Fault: The copy of a fleet is truncated or changed
// Fault: The disk for copies of a fleet is full or missing
func TestCopyRefused(t *testing.T) {
	for name, spoil := range map[string]func(archive, manifest string) error{
		"truncated": func(archive, _ string) error { return os.Truncate(archive, 100) },
		"changed": func(archive, _ string) error {
			raw, err := os.ReadFile(archive)
			raw[len(raw)/2] ^= 1
			return errors.Join(err, os.WriteFile(archive, raw, 0o600))
		},
		"missing":     func(archive, _ string) error { return os.Remove(archive) },
		"no manifest": func(_, manifest string) error { return os.Remove(manifest) },
		"newer":       func(_, m string) error { return os.WriteFile(m, []byte(`{"version":2}`), 0o600) },
		"another path": func(_, m string) error {
			return os.WriteFile(m, []byte(`{"version":1,"archive":"../x"}`), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := copiedWorld(t, "a")
			w.submit("s-1", api.JobParams{})
			w.hub.copy(t.Context())
			all, err := filepath.Glob(filepath.Join(w.o.Copy, archiveForm))
			if err != nil || len(all) != 1 {
				t.Fatal(all, err, w.hub.copies.err)
			}
			if err := spoil(all[0], filepath.Join(w.o.Copy, manifestName)); err != nil {
				t.Fatal(err)
			}
			if _, err := w.adopt(); err == nil {
				t.Error("it was adopted")
			}
			if left, _ := os.ReadDir(w.o.Dir); len(left) != 0 {
				t.Errorf("the data directory has %v", left)
			}
		})
	}
	w := copiedWorld(t, "a")
	w.hub.o.Copy = filepath.Join(w.o.Copy, "missing")
	if w.hub.copy(t.Context()); !strings.Contains(w.hub.Status().Reason, "missing") {
		t.Errorf("status %+v", w.hub.Status())
	}
	w.submit("s-1", api.JobParams{})
	w.expect("s-1", "assigned a:assigned")
}

// TestCopyKept: a hub does not replace the copy of another fleet or of a newer hub.
func TestCopyKept(t *testing.T) {
	w := copiedWorld(t, "a")
	check := func(what, want string) {
		t.Helper()
		before, _ := os.ReadFile(filepath.Join(w.o.Copy, manifestName)) // "": there is none
		w.hub.copy(t.Context())
		m, f, err := openCopy(w.o.Copy)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		f.Close()
		now, _ := os.ReadFile(filepath.Join(w.o.Copy, manifestName))
		reason := w.hub.Status().Reason
		if (want == "") != (reason == "") || !strings.Contains(reason, want) ||
			want != "" && string(now) != string(before) {
			t.Errorf("%s: status %q, manifest %+v", what, reason, m)
		}
		if want == "" && m.Epoch != w.hub.epoch {
			t.Errorf("%s: the copy has epoch %d, the hub %d", what, m.Epoch, w.hub.epoch)
		}
	}
	check("the first copy", "")
	all, _ := filepath.Glob(filepath.Join(w.o.Copy, archiveForm))
	empty := filepath.Join(w.o.Copy, "fleet-0.tar.gz")
	if err := os.Rename(all[0], empty); err != nil {
		t.Fatal(err)
	}
	check("the same content without its archive", "")
	dir, old := w.o.Dir, w.hub
	if _, err := w.adopt(); err != nil {
		t.Fatal(err)
	}
	check("the adopted hub", "")
	adopted := w.hub
	w.hub, w.o.Dir = old, dir
	check("the old hub", "newer hub")
	w.hub = adopted
	if err := os.WriteFile(filepath.Join(adopted.o.Dir, copied[0]), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("another fleet", "another fleet")
	if err := os.WriteFile(filepath.Join(w.o.Copy, manifestName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if w.hub.copy(t.Context()); !strings.Contains(w.hub.Status().Reason, "move it away") {
		t.Errorf("a damaged manifest: status %q", w.hub.Status().Reason)
	}
}

// TestCopyLarge: a file that is too large is left out, but not a key. Rigs are in several parts.
func TestCopyLarge(t *testing.T) {
	w := copiedWorld(t, "a")
	w.submit("s-1", api.JobParams{})
	for i := range copyLines + 5 {
		r := w.hub.rig(fmt.Sprint("r-", i))
		r.known = true
	}
	large := func(name string) {
		t.Helper()
		file := filepath.Join(w.o.Dir, name)
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, maxCopied+1)); err != nil {
			t.Fatal(err)
		}
		w.hub.copy(t.Context())
	}
	dir := w.o.Dir
	if large("trend.jsonl"); !strings.Contains(w.hub.Status().Reason, "left out: trend.jsonl") ||
		w.hub.Status().CopiedWallNS == 0 {
		t.Errorf("%+v", w.hub.Status())
	}
	old := w.hub
	if a, err := w.adopt(); err != nil || a.Jobs != 1 || a.Rigs != copyLines+6 {
		t.Errorf("%+v, %v", a, err)
	}
	w.hub, w.o.Dir = old, dir
	if large("secrets/tls.pem"); !strings.Contains(w.hub.Status().Reason, "tls.pem has more") {
		t.Errorf("%+v", w.hub.Status())
	}
}

// TestCopyInterrupted: a copy that ends at any of its writes leaves the one before.
//
// Fault: The hub of a fleet is killed while it writes a copy
func TestCopyInterrupted(t *testing.T) {
	w := copiedWorld(t, "a")
	w.hub.copy(t.Context())
	before, f, err := openCopy(w.o.Copy)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	w.submit("s-1", api.JobParams{})
	for n := 0; ; n++ {
		left := n
		w.hub.o.copyStep = func() error {
			if left--; left < 0 {
				return errKilled
			}
			return nil
		}
		w.hub.copy(t.Context())
		now, f, err := openCopy(w.o.Copy)
		if err != nil {
			t.Fatalf("after write %d: %v", n, err)
		}
		f.Close()
		if done := w.hub.copies.err == nil; done != (now.SHA256 != before.SHA256) {
			t.Fatalf("after write %d: %+v, before %+v, %v", n, now, before, w.hub.copies.err)
		} else if done {
			if n < 3 {
				t.Errorf("the copy has %d writes", n)
			}
			return
		}
	}
}

// TestLeave: a rig that leaves is removed after the answer, unless it has joined again.
func TestLeave(t *testing.T) {
	w := newWorld(t, "a", "b")
	left := func(want int) {
		t.Helper()
		w.hub.tick(t.Context())
		if all, err := w.hub.Rigs(); err != nil || len(all.Rigs) != want {
			t.Errorf("%+v, %v", all, err)
		}
	}
	w.hub.handle(context.Background(), "a", "leave", nil)
	left(1)
	w.hub.handle(context.Background(), "b", "leave", nil)
	w.enrol("b")
	left(1)
	if err := w.hub.removeKey(t.Context(), "b", "its old key"); err == nil {
		t.Error("a rig with a new key was removed")
	}
}
