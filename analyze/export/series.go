package export

import (
	"fmt"
	"math"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
)

// seriesColumn is a column of numbers: the series of one name, of one or more windows.
type seriesColumn struct {
	name string
	runs []seriesRun // in order of frames, without overlap
}

// seriesRun is the series of one window.
type seriesRun struct {
	analyze.Series
	last int // frame to which the last value holds
	next int // place of the first value not yet passed
}

// seriesColumns reads the series of Results.
func (s *Selection) seriesColumns() ([]seriesColumn, error) {
	r, err := s.results()
	if err != nil || r == nil {
		return nil, err
	}
	var columns []seriesColumn
	add := func(window string, res *analyze.Result, last int) {
		for _, one := range res.Series {
			if len(one.Frames) > 0 && len(one.Values) == len(one.Frames) {
				columns = addSeries(columns, columnName(res.Measure, one), window, one, last)
			}
		}
	}
	add("", &r.Quality, r.Recording.Frames-1)
	for i := range r.Windows {
		w := &r.Windows[i]
		if w.T0 != nil && len(w.Times.Time) > 0 {
			columns = addSeries(columns, "seconds_from_t0", w.Name, fromT0(w), 0)
		}
		for i := range w.Results {
			add(w.Name, &w.Results[i], max(w.End, w.Red))
		}
	}
	return columns, nil
}

// results reads Results; nil: there are none.
func (s *Selection) results() (*result.Results, error) {
	if s.Results == "" {
		return nil, nil
	}
	r, err := result.Read(s.Results)
	if err != nil {
		return nil, err
	}
	if err := runfolder.ResultsAreOf(r.Recording, s.Reader, s.Path); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Results, err)
	}
	return r, nil
}

// fromT0 returns the times of a window's frames since its command, in seconds.
func fromT0(w *result.Window) (s analyze.Series) {
	for i, t := range w.Times.Time {
		s.Frames = append(s.Frames, w.Times.First+i)
		s.Values = append(s.Values, float64(t+w.StartNS-w.T0.AtNS)/1e9)
	}
	return s
}

// columnName is measure.name_unit, such as loadhist.progress_fraction.
func columnName(measure string, s analyze.Series) string {
	name := measure + "." + s.Name
	if s.Unit != "" {
		name += "_" + strings.NewReplacer("/", "_per_", "%", "percent", " ", "_").Replace(s.Unit)
	}
	return name
}

// addSeries appends to the column of a name, or begins one. If two windows share frames, the later
// one has a column of its own, which names the window.
func addSeries(columns []seriesColumn, name, window string, s analyze.Series, last int) []seriesColumn {
	run := seriesRun{Series: s, last: max(last, s.Frames[len(s.Frames)-1])}
	used := 0
	for i := range columns {
		c := &columns[i]
		if c.name != name && !strings.HasPrefix(c.name, name+" ") {
			continue
		}
		if c.runs[len(c.runs)-1].last < s.Frames[0] {
			c.runs = append(c.runs, run)
			return columns
		}
		used++
	}
	if used > 0 {
		name = fmt.Sprintf("%s (%s)", name, window)
	}
	return append(columns, seriesColumn{name, []seriesRun{run}})
}

// at returns the value of frame n; NaN: none. Call it with ascending frames.
func (c *seriesColumn) at(n int) float64 {
	for len(c.runs) > 0 && n > c.runs[0].last {
		c.runs = c.runs[1:]
	}
	if len(c.runs) == 0 {
		return math.NaN()
	}
	r := &c.runs[0]
	for r.next < len(r.Frames) && r.Frames[r.next] <= n {
		r.next++
	}
	if r.next == 0 || !r.Holds && r.Frames[r.next-1] != n {
		return math.NaN()
	}
	return r.Values[r.next-1]
}
