// Package trendtest fills files of trends for tests.
package trendtest

import (
	"context"
	"fmt"
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
	Step  float64
	Seed  uint64
	Alone bool // without rivals and controls
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
	if err := f.add(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d
}

func seq(n int) int64   { return 10 * int64(n+1) }
func name(n int) string { return fmt.Sprintf("build-%d", n+1) }

// largest is the number of builds that one set has here.
const largest = 250_000

func (f Filling) add(ctx context.Context, d *trend.DB) error {
	random := rand.New(rand.NewPCG(f.Seed, 1))
	for from := 0; from < f.Points; from += largest {
		set := fmt.Sprintf("s-%07d", from+1)
		var all []trend.Measured
		for n := from; n < min(from+largest, f.Points); n++ {
			for test := range f.Tests {
				all = append(all, f.set(random, set, n, test)...)
			}
		}
		if err := d.Add(ctx, set, all); err != nil {
			return err
		}
	}
	return nil
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
		if all = append(all, m); f.Alone {
			break
		}
	}
	return all
}
