package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/stats"
)

// comparison is all that is known of B against A.
type comparison struct {
	a, b        *runSet
	measures    []compared // the primary first
	primary     *compared
	primaryName string // as asked for; several windows may have it
	threshold   fraction
	shownA      int // index of the run that is shown for all: closest to the median of the primary
	shownB      int
	environment []envDifference
	warnings    []string
	heat        *heatDifference // where it was asked for
	divergence  *divergence
	pair        *pairVideo
}

// compared is one value of one measure in one window.
type compared struct {
	key     valueKey
	version int
	stats.Difference
}

// valueKey names a value: the same in every run of both sets.
type valueKey struct{ window, measure, value string }

// fullName is how a value is named for people: with its window where there are several.
func (m *compared) fullName() string { return m.key.String() }

func (k valueKey) String() string {
	name := k.measure + "." + k.value
	if k.window != "" {
		name = k.window + ": " + name
	}
	return name
}

// envDifference is something in which the sets' environments or recordings differ.
type envDifference struct {
	name string
	a, b []string // all values that there are
}

// found is a value of one run.
type found struct {
	version int
	value   analyze.Value
	point   stats.Point
}

// compareRuns pairs the values of two sets and compares them.
func compareRuns(a, b *runSet, threshold fraction, primary string) (*comparison, error) {
	c := &comparison{a: a, b: b, threshold: threshold, primaryName: primary}
	c.warnings = nameWindows(a, b)
	keys, inA := a.values()
	keysB, inB := b.values()
	var pairs []stats.Pair
	for _, key := range keys {
		if len(inB[key]) == 0 {
			continue
		}
		m, pair, why := pairOf(key, inA[key], inB[key], threshold)
		if why != "" {
			c.warnings = append(c.warnings, why)
			continue
		}
		c.measures, pairs = append(c.measures, m), append(pairs, pair)
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("compare %s with %s: %w", b.path, a.path, nothingInCommon(a, b, c.warnings))
	}
	differences, err := stats.Compare(pairs)
	if err != nil {
		return nil, err
	}
	for i := range differences {
		c.measures[i].Difference = differences[i]
	}
	if err := c.choosePrimary(primary); err != nil {
		return nil, err
	}
	c.shownA, c.shownB = a.closest(c.primary.A), b.closest(c.primary.B)
	c.environment = differing(a, b)
	c.warn("A", a, keys, inB)
	c.warn("B", b, keysB, inA)
	return c, nil
}

// because adds why values were left out.
func because(err error, why []string) error {
	if len(why) == 0 {
		return err
	}
	return fmt.Errorf("%w (%s)", err, why[0])
}

// values returns what each value is in the runs that have it, and the values in the order of their first run.
func (s *runSet) values() (order []valueKey, all map[valueKey][]found) {
	all = map[valueKey][]found{}
	for i := range s.runs {
		r := &s.runs[i]
		for j := range r.windows {
			for _, result := range r.windows[j].Results {
				for _, v := range result.Values {
					key := valueKey{r.keys[j], result.Measure, v.Name}
					here := all[key]
					if v.State == analyze.Refused || len(here) > 0 && here[len(here)-1].point.Run == r.name {
						continue // of two results of one measure the first counts
					}
					if len(here) == 0 {
						order = append(order, key)
					}
					all[key] = append(here, found{result.Version, v, stats.Point{Run: r.name, Value: v.Value, Low: v.Low, High: v.High}})
				}
			}
		}
	}
	return order, all
}

// usualThreshold is that of values which have no better direction, and so no threshold of their own.
const usualThreshold = 0.03

// pairOf makes a pair of what both sets say, or says why that cannot be compared.
func pairOf(key valueKey, a, b []found, threshold fraction) (m compared, p stats.Pair, why string) {
	first := a[0]
	for _, f := range slices.Concat(a, b) {
		switch {
		case f.version != first.version:
			return m, p, fmt.Sprintf("%s is not compared: runs have versions %d and %d of its definition; analyze all with one program", key, first.version, f.version)
		case f.value.Unit != first.value.Unit:
			return m, p, fmt.Sprintf("%s is not compared: it is in %s and in %s", key, first.value.Unit, f.value.Unit)
		}
	}
	suspected := slices.ContainsFunc(slices.Concat(a, b), func(f found) bool { return f.value.State == analyze.Suspected })
	measure := stats.Measure{Name: key.String(), Unit: first.value.Unit, Better: first.value.Better, Threshold: first.value.Threshold}
	if suspected { // what is only suspected fails nobody
		measure.Better = analyze.Neither
	}
	switch {
	case threshold.given:
		measure.Threshold = threshold.value
	case measure.Threshold == 0 && measure.Better != analyze.Higher && measure.Better != analyze.Lower:
		measure.Threshold = usualThreshold
	}
	points := func(all []found) (s stats.Sample) {
		for _, f := range all {
			s = append(s, f.point)
		}
		return s
	}
	return compared{key: key, version: first.version}, stats.Pair{Measure: measure, A: points(a), B: points(b)}, ""
}

// choosePrimary puts the primary measure first: the one that was named, or the first of those that people look at first.
func (c *comparison) choosePrimary(name string) error {
	at := -1
	wanted := []string{name}
	if name == "" {
		wanted = []string{"fps.framerate", "speedindex.pixel.speed_index", "speedindex.from_first_change.pixel.speed_index", "fps", "speedindex", "response", "loadhist"}
	}
	for _, w := range wanted {
		if at = slices.IndexFunc(c.measures, func(m compared) bool { return m.called(w) && (name != "" || m.Judged()) }); at >= 0 {
			break
		}
	}
	if at < 0 && name != "" {
		var names []string
		for i := range c.measures {
			names = append(names, c.measures[i].fullName())
		}
		return usagef("no measure of both is called %q: there are %s", name, strings.Join(names, ", "))
	}
	if at < 0 {
		at = max(0, slices.IndexFunc(c.measures, func(m compared) bool { return m.Judged() }))
	}
	primary := c.measures[at]
	c.measures = slices.Insert(slices.Delete(c.measures, at, at+1), 0, primary)
	c.primary = &c.measures[0]
	return nil
}

// called says that a value goes by a name: window, measure and value, or measure and value, or one of the two.
func (m *compared) called(name string) bool {
	return slices.Contains([]string{m.key.String(), m.key.measure + "." + m.key.value, m.key.measure, m.key.value}, name)
}

// closest returns the index of the run that is shown for all.
func (s *runSet) closest(of stats.Sample) int {
	at := stats.Closest(of.Values())
	return slices.IndexFunc(s.runs, func(r runResults) bool { return at >= 0 && r.name == of[at].Run })
}

// differing lists what a fair comparison has alike and these sets don't.
func differing(a, b *runSet) (all []envDifference) {
	keys := report.EnvironmentKeys()
	for _, s := range []*runSet{a, b} {
		for _, r := range s.runs {
			for _, key := range slices.Sorted(maps.Keys(r.environment)) {
				if !slices.Contains(keys, key) {
					keys = append(keys, key)
				}
			}
		}
	}
	for _, key := range keys {
		of := func(r *runResults) string {
			if v := r.environment[key]; v != "" {
				return v
			}
			return "unknown"
		}
		if d := (envDifference{key, a.each(of), b.each(of)}); !alike(key, d.a, d.b) {
			all = append(all, d)
		}
	}
	for _, p := range []struct {
		name string
		of   func(r *runResults) string
	}{
		{"frame size", func(r *runResults) string { return fmt.Sprintf("%dx%d", r.recording.Width, r.recording.Height) }},
		{"pixel format", func(r *runResults) string { return r.recording.PixelFormat }},
		{"tolerance", inWindows(usedTolerance)},
		{"pixels taken for noise", inWindows(usedMinPixels)},
		{"region", func(r *runResults) string { return askedRegion(r.settings.Region) }},
		{"masks", inWindows(usedMasks)},
		{"smallest change seen for certain, by calibration", inWindows(usedNoise)},
	} {
		if d := (envDifference{p.name, a.each(p.of), b.each(p.of)}); !slices.Equal(d.a, d.b) {
			all = append(all, d)
		}
	}
	return all
}

// each returns what the runs have, each value once, sorted.
func (s *runSet) each(of func(*runResults) string) []string {
	seen := map[string]bool{}
	for i := range s.runs {
		seen[of(&s.runs[i])] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// warmer is a difference of temperature, in its unit, that is worth a word; they are never equal.
const warmer = 5

// alike says that sets do not differ in something. Temperatures are, if their means lie close to each other.
func alike(key string, a, b []string) bool {
	if key != report.EnvTemperature || slices.Equal(a, b) {
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

// warn notes what to know about one set before believing the numbers.
func (c *comparison) warn(name string, s *runSet, keys []valueKey, other map[valueKey][]found) {
	if runs, times := s.retried(); runs > 0 {
		c.warnings = append(c.warnings, fmt.Sprintf("%s of %s began again, %s in all; what came out is among the values", plural(runs, "run"), name, plural(times, "time")))
	}
	if n := len(s.without); n > 0 {
		c.warnings = append(c.warnings, fmt.Sprintf("%s of %s without results are left out: %s", plural(n, "run"), name, few(s.without)))
	}
	var lossy []string
	for _, r := range s.runs {
		if slices.ContainsFunc(r.windows, func(w report.Window) bool { return len(w.Times.Lost) > 0 }) {
			lossy = append(lossy, r.name)
		}
	}
	if len(lossy) > 0 {
		c.warnings = append(c.warnings, fmt.Sprintf("%s of %s lost frames in a window: %s", plural(len(lossy), "run"), name, few(lossy)))
	}
	var only []string
	for _, key := range keys {
		if len(other[key]) == 0 {
			only = append(only, key.String())
		}
	}
	if len(only) > 0 {
		c.warnings = append(c.warnings, fmt.Sprintf("only %s has %s", name, few(only)))
	}
}

// few lists the first of many names.
func few(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
