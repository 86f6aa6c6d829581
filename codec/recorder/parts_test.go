package recorder

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// left is a folder that a program left which was killed while it kept the last frames.
type left struct {
	t   *testing.T
	dir string
}

func newLeft(t *testing.T) left { return left{t, t.TempDir()} }

func (l left) path() string { return filepath.Join(l.dir, "a.eid") }

// record writes a file with frames of some numbers; cut leaves out the end, as a program does that
// is killed.
func (l left) record(name string, from, to uint64, cut bool) {
	l.t.Helper()
	src := &fakeSource{clocked: true}
	if from < to {
		src.steps = run(from, to, 0)
	}
	file := filepath.Join(l.dir, name)
	if _, err := Record(l.t.Context(), src, file, Options{Program: "before"}); err != nil {
		l.t.Fatal(err)
	}
	if !cut {
		return
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		l.t.Fatal(err)
	}
	l.write(name, whole[:len(whole)-40])
	if r, err := recording.Open(file); err != nil || r.Info().Complete {
		l.t.Fatalf("it is not cut: %v", err)
	} else {
		r.Close()
	}
}

func (l left) write(name string, content []byte) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, name), content, 0o644); err != nil {
		l.t.Fatal(err)
	}
}

func (l left) names() (names []string) {
	l.t.Helper()
	list, err := os.ReadDir(l.dir)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// TestJoinParts: whenever the program is killed, its parts become one recording. Empty parts leave
// nothing.
//
// Fault: A rig is killed while it keeps a device's last seconds
func TestJoinParts(t *testing.T) {
	for _, tc := range []struct {
		name  string
		leave func(l left)
		first uint64 // number of the first frame
		want  int    // frames
		stays []string
	}{
		{"in the first part", func(l left) { l.record("a.eid.part-0", 0, 10, true) }, 0, 10, nil},
		{"in a later part", func(l left) {
			l.record("a.eid.part-9", 0, 10, false)
			l.record("a.eid.part-10", 10, 15,
				true)
		}, 0, 15, nil},
		{"while a part was closed",
			func(l left) { l.record("a.eid.part-1", 0, 10, true); l.record("a.eid.part-2", 10, 15, true) }, 0, 15, nil},
		{"before the oldest part was removed", func(l left) {
			l.record("a.eid.part-0", 0, 5, false)
			l.record("a.eid.part-1", 5, 10, false)
			l.record("a.eid.part-2", 10, 15, true)
		}, 0, 15, nil},
		{"when a part had no frame", func(l left) {
			l.record("a.eid.part-0", 4, 10, false)
			l.record("a.eid.part-1", 10, 10, false)
		}, 4, 6, nil},
		{"when a part had no byte on the disk", func(l left) {
			l.record("a.eid.part-0", 0, 10, false)
			l.write("a.eid.part-1", nil)
			l.write("a.eid.part-2", make([]byte, 100_000))
		}, 0, 10, nil},
		{"while they were saved", func(l left) {
			l.record("a.eid.part-0", 0, 10, false)
			l.record("a.eid.part-1", 10, 15, false)
			l.record("a.eid", 7, 9, true)
			l.write(".a.eid.joined", []byte("of a program that was killed when it joined them"))
		}, 0, 15, nil},
		{"while they were removed",
			func(l left) { l.record("a.eid", 7, 15, false); l.record("a.eid.part-1", 10, 15, false) }, 7, 8, nil},
		{"before the first frame", func(l left) { l.record("a.eid.part-0", 0, 0, false); l.write("a.eid", nil) }, 0, 0,
			nil},
		{"before the first byte", func(l left) { l.write("a.eid.part-0", make([]byte, 10)) }, 0, 0, nil},
		{"and a part cannot be read", func(l left) {
			l.record("a.eid.part-0", 0, 10, false)
			l.write("a.eid.part-1", bytes.Repeat([]byte("other"), 1000))
		}, 0, 10, []string{"a.eid.part-1"}},
		{"and something else lies there",
			func(l left) { l.record("a.eid.part-0", 0, 10, true); l.write("a.eid.part-x", []byte("mine")) }, 0, 10,
			[]string{"a.eid.part-x"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLeft(t)
			tc.leave(l)
			j, err := JoinParts(t.Context(), l.path(), nil)
			if err != nil || j == nil || j.Frames != tc.want {
				t.Fatalf("%+v, %v, want %d frames", j, err, tc.want)
			}
			want := tc.stays
			if tc.want > 0 {
				want = append([]string{"a.eid"}, want...)
				if _, err := recording.Repair(l.path()); err != nil {
					t.Fatal(err)
				}
				r, err := recording.Open(l.path())
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				if _, err := r.Verify(t.Context(), nil); err != nil || r.Frames() != tc.want {
					t.Errorf("%d frames, %v", r.Frames(), err)
				}
				if m, err := r.Meta(0); err != nil || m.Sequence != tc.first {
					t.Errorf("the first frame is %+v, %v, want number %d", m, err, tc.first)
				}
			}
			for range 2 {
				if got := l.names(); !slices.Equal(got, want) {
					t.Errorf("left are %q, want %q", got, want)
				}
				if _, err := JoinParts(t.Context(), l.path(), nil); err != nil {
					t.Errorf("once more: %v", err)
				}
			}
		})
	}
}

// TestJoinedIsOfItsDay: a recording that is joined later, even after a reboot, keeps the times at
// which it was made.
func TestJoinedIsOfItsDay(t *testing.T) {
	l := newLeft(t)
	l.record("first", 0, 10, false)
	l.record("second", 10, 15, false)
	offset, _ := timeline.WallOffset(timeline.Monotonic())
	day := recording.Options{Program: "before", Clock: pastClock{0, offset - int64(48*time.Hour)}}
	for from, to := range map[string]string{"first": "a.eid.part-0", "second": "a.eid.part-1"} {
		if _, err := assemble(t.Context(), filepath.Join(l.dir, to), day, 1<<62, []string{filepath.Join(l.dir, from)},
			nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := JoinParts(t.Context(), l.path(), nil); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(l.path())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	in := r.Info()
	if off := time.Duration(in.WallOffset - offset + int64(48*time.Hour)); off.Abs() > time.Hour ||
		time.Since(in.Created) < 40*time.Hour || in.Writer != "before" {
		t.Errorf("%+v, off by %v", in, off)
	}
}

// TestJoiningIsCutShort: a cancelled join, or one without disk space, loses nothing.
func TestJoiningIsCutShort(t *testing.T) {
	l := newLeft(t)
	l.record("a.eid.part-0", 0, 10, false)
	l.record("a.eid.part-1", 10, 15, true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := JoinParts(ctx, l.path(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if got, want := l.names(), []string{"a.eid.part-0", "a.eid.part-1"}; !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	told := 0
	if j, err := JoinParts(t.Context(), l.path(), func(done int) { told = done }); err != nil || j.Frames != 15 ||
		told != 15 {
		t.Errorf("then: %+v, %v, told of %d", j, err, told)
	}
}
