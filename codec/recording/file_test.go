package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// TestFiles writes to real files, past the page cache where that goes and through it.
func TestFiles(t *testing.T) {
	tale := powerTale(t, 41)
	for _, noDirect := range []bool{false, true} {
		t.Run(fmt.Sprintf("nodirect=%v", noDirect), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "film.eid")
			o := testOptions()
			o.NoDirect = noDirect
			for range 2 { // the second time over the first
				w, err := Create(path, o)
				if err != nil {
					t.Fatal(err)
				}
				if s := w.Stats(); s.Direct == (s.DirectNote != "") || noDirect && s.Direct {
					t.Errorf("direct %v, note %q", s.Direct, s.DirectNote)
				}
				if err := tale.write(w, nil); err != nil {
					t.Fatal(err)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if _, err := Create(path, Options{}); !errors.Is(err, fs.ErrExist) {
					t.Errorf("create again: %v, want ErrExist", err)
				}
				o.Force = true
			}
			checkFile(t, tale, path)
		})
	}
}

// TestForceLeavesOtherNames: a recording that is overwritten keeps its content under its other
// names. A link to it stays one.
//
// Fault: `--force` replaces a recording that a run folder shares
func TestForceLeavesOtherNames(t *testing.T) {
	first, second := powerTale(t, 7), powerTale(t, 8)
	dir := t.TempDir()
	path, kept, link := filepath.Join(dir, "film.eid"), filepath.Join(dir, "kept.eid"), filepath.Join(dir, "link.eid")
	record := func(tell *tale, path string) {
		t.Helper()
		o := testOptions()
		o.Force = true
		w, err := Create(path, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(tell.write(w, nil), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	record(first, path)
	if err := errors.Join(os.Link(path, kept), os.Symlink("film.eid", link)); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("no links here: %v", err)
	}
	before, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	record(second, link)
	if after, err := os.ReadFile(kept); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the recording's other name has %d bytes, %v; want the %d that it had", len(after), err, len(before))
	}
	if st, err := os.Lstat(link); err != nil || st.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", st, err)
	}
	checkFile(t, second, path)
}

// checkFile reads a sound recording, cuts its end off, and repairs it.
func checkFile(t *testing.T, tale *tale, path string) {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int64{0, blockSize - 100} {
		if err := os.Truncate(path, st.Size()-cut); err != nil {
			t.Fatal(err)
		}
		rep, err := Repair(path)
		if err != nil || rep.Repaired != (cut > 0) || rep.Kept != len(tale.frames) {
			t.Errorf("repair after a cut of %d: %+v, %v", cut, rep, err)
		}
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := allReadable(tale, r, len(tale.frames)); err != nil {
			t.Error(err)
		}
		if v, err := Verify(t.Context(), path, nil); err != nil || !v.Complete || len(v.Problems) > 0 {
			t.Errorf("verify: %+v, %v", v, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, make([]byte, 10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := func(name string, at int, value byte) string {
		h := fileHeader{codec: codecMoves}
		b := h.bytes()
		b[at] = value
		reseal(b)
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, append(b, b...), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]error{text: ErrNotRecording,
		newer("version", 10, formatVersion+1): errVersion, newer("codec", 12, codecResidual+1): errVersion,
		filepath.Join(dir, "none"): fs.ErrNotExist} {
		if _, err := Open(path); !errors.Is(err, want) {
			t.Errorf("open %s: %v, want %v", filepath.Base(path), err, want)
		}
		if _, err := Repair(path); !errors.Is(err, want) {
			t.Errorf("repair %s: %v, want %v", filepath.Base(path), err, want)
		}
	}
	if _, err := Open(dir); err == nil {
		t.Error("a folder was opened as a recording")
	}
}

// TestManyGoroutines writes frames while others record events and ask for counts, then reads from
// several at once.
func TestManyGoroutines(t *testing.T) {
	f := format(t, frame.BGR4, 64, 48, 0)
	all := film(t, 12, f, 200)
	d := &memDisk{}
	w := newWriter(d, testOptions())
	if err := w.Segment(f, 1, 60); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	const events = 100
	for k := range 2 {
		wg.Go(func() {
			for i := range events {
				e := timeline.Event{At: timeline.Time(i), Source: fmt.Sprint(k), Kind: "tick",
					Data: json.RawMessage("1")}
				if err := w.Event(e); err != nil {
					t.Error(err)
				}
				w.SetPressure(float64(i) / events)
				w.Stats()
			}
		})
	}
	for i, pix := range all {
		if err := w.WriteFrame(pix, metaOf(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := newReader(d, int64(len(d.b)))
	if err != nil || len(r.Events()) != 2*events {
		t.Fatalf("%d events, %v", len(r.Events()), err)
	}
	for range 3 {
		wg.Go(func() { checkImages(t, r, all) })
	}
	wg.Wait()
}

// checkImages reads every frame; unlike checkFrames it may run beside the test's goroutine.
func checkImages(t *testing.T, r *Reader, all [][]byte) {
	pix := make([]byte, len(all[0]))
	for n := range all {
		if err := r.ReadFrame(n, pix); err != nil || string(pix) != string(all[n]) {
			t.Errorf("frame %d differs: %v", n, err)
		}
	}
}
