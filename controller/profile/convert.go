package profile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/capture/timeline"
)

// convert writes a trace in a folder. read passes all events to a sink, in the order of time. An
// error of read ends the trace early.
func convert(dir string, info activity.Info, spans []timeline.Interval,
	read func(activity.Sink) (skipped map[string]int64, err error)) (activity.Info, error) {
	counted := info.Lost // records of gaps count again below
	info.Clock.Exact, info.Lost = len(info.Clock.Corners) == 0, 0
	if info.Recording == "" {
		info.Wall, _ = timeline.WallOffset(timeline.Monotonic())
	}
	w, err := activity.NewWriter(dir, info)
	if err != nil {
		return info, err
	}
	within := &within{Sink: w, spans: spans, open: map[uint32][]uint32{}}
	skipped, failed := read(within.sink())
	if err := within.end(); failed == nil {
		failed = err
	}
	if info, err = w.Close(); err != nil {
		return info, err
	}
	info.Lost = max(info.Lost, counted)
	if failed != nil {
		info.Cut = cmp.Or(info.Cut, failed.Error())
	}
	incomplete(&info, skipped)
	return info, info.Write(dir)
}

// incomplete adds skipped records to an info, and warnings about damaged ones and an early end.
func incomplete(info *activity.Info, skipped map[string]int64) {
	all := map[string]int64{}
	maps.Copy(all, info.Skipped)
	for kind, n := range skipped {
		all[kind] += n
	}
	if info.Skipped = all; info.Cut != "" {
		info.Warnings = append(info.Warnings, "The trace ends early: "+info.Cut+".")
	}
	for _, kind := range slices.Sorted(maps.Keys(skipped)) {
		if kind == activity.FromBefore {
			continue
		}
		info.Warnings = append(info.Warnings, fmt.Sprintf("%d records were skipped: %s.", skipped[kind], kind))
	}
}

// within is a sink that passes on the events of spans. Calls that are open at the begin of a span
// begin there, and end at its end.
type within struct {
	activity.Sink
	spans  []timeline.Interval // the first one has not ended
	inside bool
	open   map[uint32][]uint32 // calls by thread
}

// sink returns the sink for all events, or the one that drops events outside the spans.
func (w *within) sink() activity.Sink {
	if w.spans == nil {
		return w.Sink
	}
	return w
}

// Event implements activity.Sink.
func (w *within) Event(e activity.Event) error {
	err := w.move(int64(e.At))
	switch e.Kind {
	case activity.Call:
		w.open[e.Thread] = append(w.open[e.Thread], e.Ref)
	case activity.Return:
		if n := len(w.open[e.Thread]); n > 0 {
			w.open[e.Thread] = w.open[e.Thread][:n-1]
		}
	}
	// A slice that begins before a span may end in it.
	late := e.Kind == activity.Slice && len(w.spans) > 0 && e.At+e.Value >= int64(w.spans[0].Earliest)
	if err == nil && (w.inside || late) {
		err = w.Sink.Event(e)
	}
	return err
}

// move begins and ends spans until a time.
func (w *within) move(at int64) error {
	for len(w.spans) > 0 {
		begin, end := int64(w.spans[0].Earliest), int64(w.spans[0].Latest)
		if !w.inside && at >= begin {
			w.inside = true
			if err := w.all(activity.Call, begin, 0); err != nil {
				return err
			}
		}
		if at <= end {
			break
		}
		if err := w.all(activity.Return, end, 1); err != nil {
			return err
		}
		w.inside, w.spans = false, w.spans[1:]
	}
	return nil
}

// end ends the last span.
func (w *within) end() error {
	if !w.inside {
		return nil
	}
	return w.move(int64(w.spans[0].Latest) + 1)
}

// all passes on an event for each open call.
func (w *within) all(kind activity.Kind, at, value int64) error {
	for thread, calls := range w.open {
		calls = slices.Clone(calls)
		if kind == activity.Return {
			slices.Reverse(calls)
		}
		for _, function := range calls {
			e := activity.Event{At: at, Thread: thread, Kind: kind, Ref: function, Value: value}
			if err := w.Sink.Event(e); err != nil {
				return err
			}
		}
	}
	return nil
}
