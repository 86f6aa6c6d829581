package export_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/analyze/export/pftrace/pftracetest"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

const ms = 1_000_000

// traced writes a trace with the clock of the recording.
func traced(t *testing.T, name string,
	put func(w *activity.Writer, thread uint32, f func(string) uint32)) *activity.Trace {
	t.Helper()
	dir := t.TempDir()
	w := analyzetest.Must(activity.NewWriter(dir, activity.Info{Name: name, Clock: activity.Clock{Exact: true}}))(t)
	thread := w.Thread(activity.Thread{Process: 7, ID: 8, Name: "main", ProcessName: "chromium"})
	put(w, thread, func(name string) uint32 { return w.Function(activity.Function{Name: name, Module: "m"}) })
	analyzetest.Must(w.Close())(t)
	trace := analyzetest.Must(activity.Open(dir))(t)
	t.Cleanup(func() { trace.Close() })
	return trace
}

// TestStacksOfTwoTraces: one thread has native samples and waits, and calls of JavaScript. They
// overlap, so each has a track.
func TestStacksOfTwoTraces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.eid")
	w, err := recording.Create(path, recording.Options{NoDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	f, _ := frame.NewFormat(frame.GREY, 4, 4)
	err = w.Segment(f, 1, 10)
	for n := range 3 {
		if err == nil {
			err = w.WriteFrame(make([]byte, f.Size()), frame.Meta{Sequence: uint64(n),
				Sampled: timeline.At(timeline.Time(1000*ms + n*100*ms))}, nil)
		}
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	event := func(w *activity.Writer, e activity.Event) {
		analyzetest.Check(t, w.Event(e))
	}
	native := traced(t, "native", func(w *activity.Writer, thread uint32, f func(string) uint32) {
		loop := w.Stack(0, f("loop"))
		for at := int64(1011 * ms); at < 1030*ms; at += ms {
			event(w, activity.Event{At: at, Thread: thread, Kind: activity.Sample, Ref: w.Stack(loop, f("paint")),
				Value: ms})
		}
		event(w, activity.Event{At: 1040 * ms, Thread: thread, Kind: activity.Out, Value: activity.Waits})
		event(w, activity.Event{At: 1050 * ms, Thread: thread, Kind: activity.In})
	})
	js := traced(t, "js", func(w *activity.Writer, thread uint32, f func(string) uint32) {
		event(w, activity.Event{At: 1005 * ms, Thread: thread, Kind: activity.Slice, Ref: f("outer"), Value: 20 * ms})
		event(w, activity.Event{At: 1006 * ms, Thread: thread, Kind: activity.Slice, Ref: f("inner"), Value: 2 * ms})
	})
	r := analyzetest.Must(recording.Open(path))(t)
	defer r.Close()
	s := export.Selection{Reader: r, Path: path, To: r.Frames(), Activities: []*activity.Trace{native, js}}
	var out bytes.Buffer
	if n, err := s.Perfetto(t.Context(), &out); err != nil || n.Slices != 5 || n.Left != 0 {
		t.Fatalf("%+v, error %v", n, err)
	}
	trace := pftracetest.Decode(t, out.Bytes())
	one := func(name string) *pftracetest.Track {
		all := trace.Named(name)
		if len(all) != 1 {
			t.Fatalf("%d tracks %q", len(all), name)
		}
		return all[0]
	}
	said := func(track *pftracetest.Track) (all []string) {
		for _, s := range track.Slices {
			all = append(all, fmt.Sprintf("%d %s %d–%d", s.Depth, s.Name, s.From/ms, s.To/ms))
		}
		return all
	}
	main := one("main")
	if main.Parent != one("chromium").ID || main.Process != 7 || main.Thread != 8 || trace.Clock != 3 {
		t.Errorf("%+v", main)
	}
	for track, want := range map[*pftracetest.Track][]string{
		main:                           {"0 loop 1010–1029", "1 paint 1010–1029"},
		one("main 8, calls of js"):     {"0 outer 1005–1025", "1 inner 1006–1008"},
		one("main 8, state of native"): {"0 waiting 1040–1050"},
	} {
		if got := said(track); !slices.Equal(got, want) || track != main && track.Parent != main.ID {
			t.Errorf("%s: %q, want %q", track.Name, got, want)
		}
	}
}
