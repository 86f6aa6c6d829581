package recording

import (
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

// The change reported when a frame is written equals the change that a reader reports.
func TestChangesAreToldAsTheyAreRead(t *testing.T) {
	for seed := range uint64(20) {
		f := format(t, frame.BGR4, 61, 43, int(seed)%3*4)
		all := film(t, seed, f, 40)
		disk := &memDisk{}
		w := newWriter(disk, testOptions())
		if err := w.Segment(f, 1, 60); err != nil {
			t.Fatal(err)
		}
		var told []frame.Change
		var c frame.Change
		for i, pix := range all {
			if err := w.WriteFrameChange(pix, metaOf(i), nil, &c); err != nil {
				t.Fatal(err)
			}
			told = append(told, frame.Change{Spans: slices.Clone(c.Spans), Moves: slices.Clone(c.Moves)})
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := newReader(disk, int64(len(disk.b)))
		if err != nil {
			t.Fatal(err)
		}
		for step, err := range r.Changes(0, len(all)) {
			if err != nil {
				t.Fatal(err)
			}
			want := &told[step.Number]
			if !slices.Equal(step.Change.Spans, want.Spans) || !slices.Equal(step.Change.Moves, want.Moves) {
				t.Fatalf("seed %d, frame %d: told %+v, read %+v", seed, step.Number, want, step.Change)
			}
		}
	}
}

// Frames that were flushed are there for whoever opens the growing file, long before a sync that
// comes by time.
func TestFlushedFramesAreRead(t *testing.T) {
	f := format(t, frame.GREY, 64, 48, 0)
	all := film(t, 1, f, 30)
	path := filepath.Join(t.TempDir(), "a.eid")
	w, err := Create(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Segment(f, 1, 60); err != nil {
		t.Fatal(err)
	}
	for i, pix := range all {
		if err := w.WriteFrame(pix, metaOf(i), nil); err != nil {
			t.Fatal(err)
		}
		if i%10 != 9 {
			continue
		}
		w.Flush()
		var r *Reader
		for r == nil || r.Frames() < i+1 { // the test's own deadline bounds this
			if r != nil {
				r.Close()
			}
			if r, err = Open(path); err != nil {
				r = nil // the header is on its way
			}
		}
		if r.Frames() != i+1 || r.Info().Complete {
			t.Errorf("%d frames after a flush of %d", r.Frames(), i+1)
		}
		m, err := r.Image(i)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(pix))
		if m.CopyTo(got); !reflect.DeepEqual(got, pix) {
			t.Errorf("frame %d is another", i)
		}
		r.Close()
	}
}
