package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze/report"
)

// used fills in what was used in a window for results of a time when only settings told it.
func used(w *report.Window, s *report.Settings) {
	if w.Tolerance == 0 && w.MinPixels == 0 && len(w.Masks) == 0 && w.Noise == nil {
		w.Tolerance, w.MinPixels, w.Masks = s.Tolerance, s.MinPixels, s.Masks
	}
}

// inWindows returns what holds in a run's windows, each text once, in order.
func inWindows(of func(*report.Window) string) func(*runResults) string {
	return func(r *runResults) string {
		var all []string
		for i := range r.windows {
			if text := of(&r.windows[i]); !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
		return strings.Join(all, " and ")
	}
}

func usedTolerance(w *report.Window) string { return strconv.Itoa(w.Tolerance) }

func usedMinPixels(w *report.Window) string { return strconv.Itoa(w.MinPixels) }

func usedMasks(w *report.Window) string {
	if len(w.Masks) == 0 {
		return "none"
	}
	var all []string
	for _, m := range w.Masks {
		all = append(all, askedRegion(m))
	}
	return strings.Join(all, " ")
}

// usedNoise tells calibrations apart by what they promise. How many frames were held differs from run to run and does not count.
func usedNoise(w *report.Window) string {
	if w.Noise == nil {
		return "none"
	}
	return fmt.Sprintf("%s by %s", plural(w.Noise.SmallestPixels, "pixel"), plural(w.Noise.SmallestLevels, "level"))
}

func askedRegion(r []int) string {
	if len(r) != 4 {
		return "found"
	}
	return fmt.Sprintf("%dx%d+%d+%d", r[2], r[3], r[0], r[1])
}
