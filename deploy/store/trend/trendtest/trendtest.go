// Package trendtest fills files of trends for tests.
package trendtest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// Filling describes series of seeded values.
type Filling struct {
	Tests  int // each has a subject, a rival and a control; 0: 1
	Points int // of each series; build n has the sequence number 10 n and the name "build-N"
	Runs   int // of each point, in blocks; 0: 5
	// Step is the part by which the subject's values are smaller from the middle on.
	Step float64
	Seed uint64
	// Alone leaves out rivals and controls, and makes large sets: a million points in a minute.
	Alone bool
}

const (
	day   = 24 * 3600 * 1_000_000_000
	begin = 1_790_000_000 * 1_000_000_000 // in 2026
)

// Open opens a file in a folder of the test's own, and fills it.
func Open(t testing.TB, f Filling) *trend.DB {
	t.Helper()
	d, err := trend.Open(t.Context(), filepath.Join(t.TempDir(), "trend.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // the test is over
	if f.Tests = max(f.Tests, 1); f.Runs == 0 {
		f.Runs = 5
	}
	var builds []api.Build
	for i := range min(f.Points, 1000) {
		n := max(0, f.Points-1000) + i
		builds = append(builds, api.Build{Feed: "nightly", Seq: seq(n), Name: name(n),
			Revision: fmt.Sprintf("%012x", n), WallNS: begin + int64(n)*day, State: "usable"})
	}
	if err := d.AddBuilds(t.Context(), builds); err != nil {
		t.Fatal(err)
	}
	if err := d.AddAll(t.Context(), f.sets()); err != nil {
		t.Fatal(err)
	}
	return d
}

func seq(n int) int64   { return 10 * int64(n+1) }
func name(n int) string { return fmt.Sprintf("build-%d", n+1) }

// sets returns a set for each build and test.
func (f Filling) sets() iter.Seq2[string, []trend.Measured] {
	random := rand.New(rand.NewPCG(f.Seed, 1))
	return func(yield func(string, []trend.Measured) bool) {
		for n := 0; f.Alone && n < f.Points; n += 1000 {
			set := fmt.Sprintf("s-%07d", n+1)
			var all []trend.Measured
			for i := n; i < min(n+1000, f.Points); i++ {
				all = append(all, f.set(random, set, i, 0)[0])
			}
			if !yield(set, all) {
				return
			}
		}
		for n := 0; !f.Alone && n < f.Points; n++ {
			for test := range f.Tests {
				set := fmt.Sprintf("s-%07d-%d", n+1, test)
				if !yield(set, f.set(random, set, n, test)) {
					return
				}
			}
		}
	}
}

func (f Filling) set(random *rand.Rand, set string, n, test int) (all []trend.Measured) {
	for _, role := range []string{trend.Subject, trend.Rival, trend.Control} {
		m := trend.Measured{Threshold: 0.03, Key: trend.SeriesKey{Schedule: "awfy", Test: fmt.Sprintf("scene-%d", test),
			Measure: "fps", Value: "framerate", Unit: "frames/s", Better: "higher", Version: 1, Device: "local",
			Product: "firefox", Feed: "nightly", Role: role},
			Point: trend.Point{Seq: seq(n), Build: name(n), Set: set, WallNS: begin + int64(n)*day}}
		level := 60.0
		switch role {
		case trend.Subject:
			if n >= f.Points/2 {
				level *= 1 - f.Step
			}
		case trend.Rival:
			m.Key.Product, m.Key.Feed, m.Point.Build = "chrome", "stable", "140.0.1"
		case trend.Control:
			m.Point.Build = name(0)
		}
		for block := range f.Runs {
			m.Point.Values = append(m.Point.Values, trend.Value{Run: fmt.Sprintf("%s~%s~run-%02d", set, role, block+1),
				Block: block + 1, Value: level * (1 + 0.01*random.NormFloat64())})
		}
		all = append(all, m)
	}
	return all
}
