package compare

import (
	"encoding/csv"
	"io"
	"path"
	"slices"
	"strconv"
)

// tableColumns are the columns of [SetFolder.CSV].
var tableColumns = []string{"variant", "run", "block", "run_state", "reason", "window", "measure", "version", "value",
	"unit", "number", "low", "high", "state", "better"}

// CSV writes a line for each value of each run of the set. A run without results, such as a failed
// one, has a line without a value. CSV returns the number of lines.
func (s *SetFolder) CSV(out io.Writer) (lines int, err error) {
	w := csv.NewWriter(out)
	write := func(cells ...string) { // Flush tells
		lines++
		_ = w.Write(append(cells, make([]string, len(tableColumns)-len(cells))...))
	}
	_ = w.Write(tableColumns)
	for _, p := range s.plan.Runs {
		if p.WarmUp {
			p.State = "warm-up"
		}
		r := s.run(&p)
		if r == nil {
			write(p.Variant, path.Base(p.Dir), "", p.State, p.Reason)
			continue
		}
		for i := range r.Windows {
			for _, res := range r.Windows[i].Results {
				for _, v := range res.Values {
					write(p.Variant, r.Name, strconv.Itoa(r.Block), p.State, p.Reason, r.Windows[i].Name, res.Measure,
						strconv.Itoa(res.Version), v.Name, v.Unit, cell(v.Value), cell(v.Low), cell(v.High),
						string(v.State), string(v.Better))
				}
			}
		}
	}
	w.Flush()
	return lines, w.Error()
}

func cell(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// run returns a run of the plan; nil: it has no results that count.
func (s *SetFolder) run(p *planRun) *Run {
	i := slices.Index(s.plan.Variants, p.Variant)
	if i < 0 || s.variants[i] == nil {
		return nil
	}
	runs := s.variants[i].Runs
	at := slices.IndexFunc(runs, func(r Run) bool { return r.Name == path.Base(p.Dir) })
	if at < 0 {
		return nil
	}
	return &runs[at]
}
