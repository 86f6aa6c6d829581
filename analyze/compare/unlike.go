package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/wording"
)

// Unlike is something in which the sets' environments or recordings differ.
type Unlike struct {
	Name string   `json:"name"`
	A    []string `json:"a"` // all values that there are
	B    []string `json:"b"`
}

// differing lists what a fair comparison has alike and these sets don't.
func differing(a, b *Set) (all []Unlike) {
	keys := result.EnvironmentKeys()
	for _, s := range []*Set{a, b} {
		for _, r := range s.Runs {
			for _, key := range slices.Sorted(maps.Keys(r.Environment)) {
				if !slices.Contains(keys, key) {
					keys = append(keys, key)
				}
			}
		}
	}
	for _, key := range keys {
		of := func(r *Run) string {
			absent := "unknown"
			switch key {
			case result.EnvVitals:
				absent = "not observed"
			case result.EnvScript:
				absent = "not instrumented"
			case result.EnvProfile:
				absent = "not profiled"
			}
			return cmp.Or(r.Environment[key], absent)
		}
		if d := (Unlike{key, a.each(of), b.each(of)}); !alike(key, d.A, d.B) {
			all = append(all, d)
		}
	}
	for _, p := range []struct {
		name string
		of   func(r *Run) string
	}{
		{"frame size", func(r *Run) string { return fmt.Sprintf("%dx%d", r.Recording.Width, r.Recording.Height) }},
		{"pixel format", func(r *Run) string { return r.Recording.PixelFormat }},
		{"tolerance", inWindows(usedTolerance)},
		{"pixels taken for noise", inWindows(usedMinPixels)},
		{"region", func(r *Run) string { return askedRegion(r.Settings.Region) }},
		{"masks", inWindows(usedMasks)},
		{"smallest change seen for certain, by calibration", inWindows(usedNoise)},
	} {
		if d := (Unlike{p.name, a.each(p.of), b.each(p.of)}); !slices.Equal(d.A, d.B) {
			all = append(all, d)
		}
	}
	return all
}

// warmer is a difference of temperature, in its unit, that is worth a word; they are never equal.
const warmer = 5

// alike says that sets do not differ in something. What a device says of its health differs each
// time. Temperatures are alike, if their means lie close to each other.
func alike(key string, a, b []string) bool {
	if key == result.EnvHealth {
		return true
	}
	if key != result.EnvTemperature || slices.Equal(a, b) {
		return slices.Equal(a, b)
	}
	meanA, okA := mean(a)
	meanB, okB := mean(b)
	return okA && okB && math.Abs(meanA-meanB) < warmer
}

// mean is that of the numbers with which texts begin.
func mean(texts []string) (m float64, ok bool) {
	for _, t := range texts {
		number := t[:len(t)-len(strings.TrimLeft(t, "+-.0123456789"))]
		v, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return 0, false
		}
		m += v / float64(len(texts))
	}
	return m, true
}

// used fills in the settings of a window for results that are so old that only their settings have
// them.
func used(w *result.Window, s *result.Settings) {
	if w.Tolerance == 0 && w.MinPixels == 0 && len(w.Masks) == 0 && w.Noise == nil {
		w.Tolerance, w.MinPixels, w.Masks = s.Tolerance, s.MinPixels, s.Masks
	}
}

// inWindows returns what holds in a run's windows, each text once, in order.
func inWindows(of func(*result.Window) string) func(*Run) string {
	return func(r *Run) string {
		var all []string
		for i := range r.Windows {
			if text := of(&r.Windows[i]); !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
		return strings.Join(all, " and ")
	}
}

func usedTolerance(w *result.Window) string { return strconv.Itoa(w.Tolerance) }

func usedMinPixels(w *result.Window) string { return strconv.Itoa(w.MinPixels) }

func usedMasks(w *result.Window) string {
	if len(w.Masks) == 0 {
		return "none"
	}
	var all []string
	for _, m := range w.Masks {
		all = append(all, askedRegion(m))
	}
	return strings.Join(all, " ")
}

// usedNoise tells calibrations apart by what they promise. How many frames were held differs from
// run to run and does not count.
func usedNoise(w *result.Window) string {
	if w.Noise == nil {
		return "none"
	}
	return fmt.Sprintf("%s by %s", wording.Plural(w.Noise.SmallestPixels, "pixel"),
		wording.Plural(w.Noise.SmallestLevels, "level"))
}

func askedRegion(r []int) string {
	if len(r) != 4 {
		return "found"
	}
	return fmt.Sprintf("%dx%d+%d+%d", r[2], r[3], r[0], r[1])
}
