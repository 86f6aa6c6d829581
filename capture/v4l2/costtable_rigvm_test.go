//go:build linux && rigvm && benchrig

package v4l2

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// writeCosts prints the measurements. The others are compared with the first way. The share of a
// core and the ratio are of the medians. Those of the quickest rounds differ more from run to run.
// Allocations and pins are the maximum of a round.
func writeCosts(out io.Writer, title string, ways []*way) error {
	if _, err := fmt.Fprintf(out, "\n%s\n\n", title); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  a frame\tmin\tmedian\tmax\tof a core at 60/s\tplain copies\tallocations\tpins\tits use")
	one := median(ways[0].rounds)
	for _, way := range ways {
		allocs, pins := "-", "-"
		if way.ours {
			allocs, pins = fmt.Sprint(way.allocs), fmt.Sprint(way.pins)
		}
		mid := median(way.rounds)
		fmt.Fprintf(w, "  %s\t%v\t%v\t%v\t%.1f %%\t%.2f\t%s\t%s\t%s\n", way.name, micro(slices.Min(way.rounds)),
			micro(mid), micro(slices.Max(way.rounds)),
			100*60*mid.Seconds(), float64(mid)/float64(one), allocs, pins, way.does)
	}
	return w.Flush()
}

func micro(d time.Duration) time.Duration { return d.Round(time.Microsecond) }

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
