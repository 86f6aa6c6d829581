package result

import (
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze"
)

// UsualPrimaries returns the names of the primary values of tests that name none. It gets the kind
// of test from the measured values: response, load, animation or scroll. Load figures of a window
// between markers come after framerates: such a window has other content than a load.
func UsualPrimaries(measured func(name string) bool, markers bool) []string {
	load := func(prefix string) []string {
		index := prefix + "histogram.speed_index"
		if !measured(index) {
			index = prefix + "pixel.speed_index"
		}
		return []string{prefix + "first_visual_change", index, prefix + "pixel.complete_100"}
	}
	loads := [][]string{load("speedindex."), load("windowopen.")}
	kinds := [][]string{{"response.latency_p50", "response.latency_p95"}}
	if !markers {
		kinds = append(kinds, loads...)
	}
	dropped := "fps.dropped_frames"
	if !measured(dropped) {
		dropped = "fps.dropped"
	}
	kinds = append(kinds, []string{"fps.framerate", "fps.longest_freeze", dropped}, []string{"scroll.framerate"})
	kinds = append(kinds, loads...)
	kinds = append(kinds, load("speedindex.from_first_change."), load("windowopen.from_first_change."))
	for _, names := range kinds {
		names = slices.DeleteFunc(names, func(name string) bool { return !measured(name) })
		if len(names) > 0 {
			return names
		}
	}
	return nil
}

const (
	minPrimary = 3
	maxPrimary = 6
)

// primary returns the names of the values that a window shows first: the declared ones, and the
// usual ones of its kind. A window without such values has its first ones with a direction.
func (w *Window) primary(declared []string) (names []string) {
	there := func(name string) bool { _, ok := w.value(name); return ok }
	add := func(name string) {
		if there(name) && len(names) < maxPrimary && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range declared {
		add(name)
		add(beside(name))
	}
	if len(names) < minPrimary {
		for _, name := range UsualPrimaries(w.judged, w.Kind != End) {
			add(name)
			add(beside(name))
		}
	}
	if slices.Contains(names, "fps.framerate") {
		add("scroll.framerate")
	}
	if len(names) > 0 {
		return names
	}
	for _, r := range w.Results {
		for _, v := range r.Values {
			if name := r.Measure + "." + v.Name; len(names) < minPrimary && w.judged(name) {
				add(name)
			}
		}
	}
	return names
}

// beside returns the value that readers expect after another one, or "".
func beside(name string) string {
	if prefix, ok := strings.CutSuffix(name, "histogram.speed_index"); ok {
		return prefix + "pixel.speed_index"
	}
	if name == "response.latency_p95" {
		return "response.latency_max"
	}
	return ""
}

// value returns the value of a name, "fps.framerate" say, unless it was refused.
func (w *Window) value(name string) (analyze.Value, bool) {
	measure, of, _ := strings.Cut(name, ".")
	for i := range w.Results {
		if r := &w.Results[i]; r.Measure == measure {
			if v, ok := r.Find(of); ok && v.State != analyze.Refused {
				return v, true
			}
		}
	}
	return analyze.Value{}, false
}

// judged reports whether a value was measured for certain and has a better direction.
func (w *Window) judged(name string) bool {
	v, ok := w.value(name)
	return ok && v.State != analyze.Suspected && v.Better != analyze.Neither && v.Better != ""
}
