package schedule

import (
	"fmt"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// addRound adds the value of a round's job to those of a device.
func addRound(set *[]trend.Measured, m trend.Measured, block int) {
	if len(m.Point.Values) == 0 {
		return
	}
	i := slices.IndexFunc(*set, func(o trend.Measured) bool { return o.Key == m.Key })
	if i < 0 {
		i = len(*set)
		*set = append(*set, trend.Measured{Key: m.Key, Threshold: m.Threshold})
	}
	v := m.Point.Values[0]
	v.Block = block
	(*set)[i].Point.Values = append((*set)[i].Point.Values, v)
}

// comparePool compares each two devices in all values of their rounds. They are the same if the
// interval of each difference is within the threshold. They are apart if the test finds one. The
// text names the largest difference, or the reason why nothing is decided. A value that is usually
// 0 takes no part, as its changes are never confirmed.
func comparePool(devices []string, sets [][]trend.Measured) (same, apart bool, text string) {
	var pairs []stats.Pair
	var names []string
	for i := range devices {
		for k := range i {
			for _, a := range sets[k] {
				on := fmt.Sprintf("%s beside %s: %s.%s", devices[i], devices[k], a.Key.Measure, a.Key.Value)
				at := slices.IndexFunc(sets[i], func(b trend.Measured) bool { return shared(a.Key) == shared(b.Key) })
				p := stats.Pair{Blocks: true, Measure: stats.Measure{Name: a.Key.Value, Unit: a.Key.Unit,
					Better: analyze.Better(a.Key.Better), Threshold: a.Threshold}}
				if p.Measure.Threshold == 0 {
					p.Measure.Threshold = stats.UsualThreshold
				}
				if at >= 0 {
					p.A, p.B = inBlocks(a.Point.Values, sets[i][at].Point.Values)
				}
				if len(p.A) < stats.FewestBlocks {
					text = on + " is not measured on both"
					continue
				}
				if median(p.A.Values()) != 0 || median(p.B.Values()) != 0 {
					pairs, names = append(pairs, p), append(names, on)
				}
			}
			if len(sets[i]) != len(sets[k]) {
				text = fmt.Sprintf("%s and %s have different values", devices[k], devices[i])
			}
		}
	}
	if len(pairs) == 0 && text == "" {
		text = "no value can be compared"
	}
	all, err := stats.Compare(pairs, poolLooks().Alpha())
	if err != nil {
		return false, false, err.Error()
	}
	largest := 0.0
	for i := range all {
		d := &all[i]
		if d.Verdict == stats.Unchanged || apart && !d.Found() {
			continue
		}
		if size := math.Abs(d.Change.Estimate); d.Found() && !apart || text == "" || size > largest {
			largest, text = size, sentence("%s is %s", names[i], d.Sentence())
		}
		apart = apart || d.Found()
	}
	return text == "", apart, text
}

// inBlocks returns the values of the blocks that both have.
func inBlocks(a, b []trend.Value) (x, y stats.Sample) {
	for _, v := range a {
		i := slices.IndexFunc(b, func(o trend.Value) bool { return o.Block == v.Block })
		if i >= 0 {
			x = append(x, stats.Point{Run: v.Run, Value: v.Value, Low: v.Value, High: v.Value})
			y = append(y, stats.Point{Run: b[i].Run, Value: b[i].Value, Low: b[i].Value, High: b[i].Value})
		}
	}
	return x, y
}
