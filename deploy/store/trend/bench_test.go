package trend_test

import (
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
	"github.com/eideticker/eideticker/deploy/store/trend/trendtest"
)

// timed reports the 99th percentile of a call's time.
func timed(b *testing.B, do func(i int) error) {
	b.Helper()
	var all []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := do(len(all)); err != nil {
			b.Fatal(err)
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[(len(all)-1)*99/100])/1e6, "p99-ms")
}

// BenchmarkPage reads pages of a series of 10⁶ points, and adds points at its end and within.
func BenchmarkPage(b *testing.B) {
	const points = 1_000_000
	d := trendtest.Open(b, trendtest.Filling{Points: points, Alone: true, Runs: 1})
	for name, p := range map[string]api.SeriesParams{
		"all": {Series: 1, Limit: 2000}, "usual": {Series: 1},
		"tenth":  {Series: 1, Limit: 2000, FromSeq: points, ToSeq: 2 * points},
		"points": {Series: 1, Limit: 2000, FromSeq: points, ToSeq: points + 19_990},
	} {
		b.Run(name, func(b *testing.B) {
			timed(b, func(int) error {
				_, err := d.Get(b.Context(), p)
				return err
			})
		})
	}
	for name, seq := range map[string]func(i int) int64{
		"append":   func(i int) int64 { return 10*points + int64(i) + 1 },
		"backfill": func(i int) int64 { return 5*points + int64(i)*10 + 1 },
	} {
		b.Run(name, func(b *testing.B) {
			timed(b, func(i int) error {
				m := point(seq(i), name+set(int64(i)), 1)
				list, err := d.Series(b.Context(), api.SeriesListParams{Role: trend.Subject})
				m[0].Key.Test = list.Series[0].Test
				if err != nil {
					return err
				}
				return d.Add(b.Context(), m[0].Point.Set, m)
			})
		})
	}
}

func BenchmarkList(b *testing.B) {
	d := trendtest.Open(b, trendtest.Filling{Points: 30, Tests: 334})
	timed(b, func(int) error {
		list, err := d.Series(b.Context(), api.SeriesListParams{Limit: 1000})
		if err == nil && len(list.Series) != 1000 {
			b.Fatal(len(list.Series))
		}
		return err
	})
}
