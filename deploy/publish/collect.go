package publish

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

const (
	maxSeries = 1000
	onPage    = 2000 // points or tiles of a product on its page
	onIndex   = 60   // and in the overview
	recent    = 400  // points that a lead is searched in
)

// collector makes the pages of all values.
type collector struct {
	db    *trend.DB
	w     *writer
	files runs

	devices map[string]string // shown names
	kinds   map[string]int    // devices of each kind
}

// collect writes the page of each value. It returns the overview.
func (c *collector) collect(ctx context.Context) (overview page, err error) {
	c.devices, c.kinds = map[string]string{}, map[string]int{}
	overview = page{Kind: "overview", Values: []value{}, Changes: []change{}}
	all, err := c.groups(ctx)
	if err != nil {
		return overview, err
	}
	for _, group := range all {
		v, changes, err := c.value(ctx, group)
		if err != nil {
			return overview, err
		}
		if len(v.Products) == 0 {
			continue // all under embargo
		}
		content, err := c.w.page(v.Test, "", page{Kind: "value", Home: "../" + indexFile, Values: []value{v},
			Changes: changes})
		if err != nil {
			return overview, err
		}
		if v.Address, err = c.w.put(v.Test+"-"+v.Value, "html", content); err != nil {
			return overview, err
		}
		for i := range changes {
			changes[i].Value.Address = v.Address
		}
		for i := range v.Products {
			p := &v.Products[i]
			p.Points, p.Level, p.Film = p.recent[max(0, len(p.recent)-onIndex):], 0, nil
			p.Tiles = []api.SeriesTile{}
		}
		overview.Values = append(overview.Values, v)
		overview.Changes = append(overview.Changes, changes...)
		c.w.result.Values++
	}
	slices.SortStableFunc(overview.Changes, func(a, b change) int { return strings.Compare(b.Day, a.Day) })
	overview.Changes = overview.Changes[:min(len(overview.Changes), onIndex)]
	return overview, nil
}

// groups returns the series of the public tests. A group is a subject with its rivals. Of several
// versions of a measure it is the newest, and of several generations too.
func (c *collector) groups(ctx context.Context) (groups [][]api.Series, err error) {
	all, err := c.series(ctx)
	if err != nil {
		return nil, err
	}
	at, newest := map[api.Series]int{}, map[api.Series]int{}
	of := func(s api.Series) api.Series {
		return api.Series{Schedule: s.Schedule, Test: s.Test, Window: s.Window, Measure: s.Measure, Value: s.Value,
			Unit: s.Unit, Better: s.Better, Device: s.Device, Network: s.Network}
	}
	age := func(s api.Series) int { return s.Version<<16 + s.Generation }
	for _, s := range all {
		newest[of(s)] = max(newest[of(s)], age(s))
	}
	for _, s := range all { // the subject comes first
		i, there := at[of(s)]
		switch {
		case s.Role == trend.Control || age(s) < newest[of(s)] || !there && s.Role != trend.Subject:
		case there:
			groups[i] = append(groups[i], s)
		default:
			at[of(s)], groups = len(groups), append(groups, []api.Series{s})
		}
	}
	return groups, nil
}

// series returns the series of the public tests in the order of all series.
func (c *collector) series(ctx context.Context) (all []api.Series, err error) {
	tests, err := c.db.Tests(ctx)
	if err != nil {
		return nil, err
	}
	named := func(pattern, test string) bool {
		is, _ := path.Match(pattern, test) // a wrong pattern matches nothing
		return is
	}
	for _, t := range c.w.o.Tests {
		if !slices.ContainsFunc(tests, func(test string) bool { return named(t, test) }) {
			c.w.result.Unknown = append(c.w.result.Unknown, t+wording.Meant(t, tests))
		}
	}
	for _, test := range tests {
		if !slices.ContainsFunc(c.w.o.Tests, func(t string) bool { return named(t, test) }) {
			continue
		}
		list, err := c.db.Series(ctx, api.SeriesListParams{Test: test, Limit: maxSeries})
		if err != nil {
			return nil, err
		}
		if all = append(all, list.Series...); len(all) > maxSeries || list.Total > maxSeries {
			return nil, fmt.Errorf("over %d series; publish fewer tests from each rig", maxSeries)
		}
	}
	slices.SortStableFunc(all, func(a, b api.Series) int { return strings.Compare(a.Schedule, b.Schedule) })
	return all, nil
}

// visible are the newest points of a series that are public.
type visible struct {
	hidden  []int64
	points  []trend.Point
	figures []point
}

func (c *collector) visible(ctx context.Context, s api.Series) (v visible, err error) {
	if c.w.o.Embargo > 0 {
		if v.hidden, err = c.db.Since(ctx, s.ID, c.limit()); err != nil {
			return v, err
		}
		c.w.result.Hidden += len(v.hidden)
	}
	points, err := c.db.Points(ctx, s.ID, 0, 0, recent+len(v.hidden))
	for _, p := range points {
		if v.hides(p.Seq, p.Seq) {
			continue
		}
		i := p.Median()
		v.points = append(v.points, p)
		v.figures = append(v.figures, point{p.Seq, p.Build, day(p.WallNS), len(p.Values), i.Estimate, i.Low, i.High,
			i.Exists})
	}
	return v, err
}

// limit is the time after which runs are not public yet.
func (c *collector) limit() int64 { return c.w.o.Now.Add(-c.w.o.Embargo).UnixNano() }

func (v *visible) hides(first, last int64) bool {
	i, _ := slices.BinarySearch(v.hidden, first)
	return i < len(v.hidden) && v.hidden[i] <= last
}

func day(wall int64) string { return time.Unix(0, wall).UTC().Format(time.DateOnly) }

// value reads all products of a value, and the subject's confirmed changes.
func (c *collector) value(ctx context.Context, group []api.Series) (v value, changes []change, err error) {
	changes = []change{}
	s := group[0]
	v = value{Test: s.Test, Window: s.Window, Measure: s.Measure, Value: s.Value, Unit: s.Unit, Better: s.Better,
		Network: s.Network}
	var all []visible
	for i, s := range group {
		seen, err := c.visible(ctx, s)
		if err != nil {
			return v, nil, err
		}
		n := len(seen.figures) - 1
		if n < 0 && i == 0 {
			return v, nil, nil
		} else if n < 0 {
			continue
		}
		last := seen.figures[n]
		p := product{Name: c.name(s, group), Latest: &last, recent: seen.figures, Points: []point{},
			Tiles: []api.SeriesTile{},
			Text: wording.Measured{Value: last.Median, Low: last.Low, High: last.High, Unit: s.Unit,
				Bounded: last.Interval}.Text()}
		data, err := c.db.Get(ctx, api.SeriesParams{Series: s.ID, Limit: onPage})
		if err != nil {
			return v, nil, err
		}
		p.Level = data.Level
		for _, d := range data.Points {
			if !seen.hides(d.Seq, d.Seq) {
				p.Points = append(p.Points, point{d.Seq, d.Build, day(d.WallNS), d.Runs, d.Median, d.Low, d.High,
					d.Interval})
			}
		}
		for _, t := range data.Tiles {
			if !seen.hides(t.FirstSeq, t.LastSeq) {
				p.Tiles = append(p.Tiles, t)
			}
		}
		c.w.result.Points += len(p.Points) + len(p.Tiles)
		if p.Film, err = c.film(seen.points[n]); err != nil {
			return v, nil, err
		}
		v.Products, all = append(v.Products, p), append(all, seen)
		if i > 0 {
			continue
		}
		v.Device = c.device(s.Device, seen.points[n])
		for _, d := range data.Changes {
			if d.State != "confirmed" || seen.hides(d.FirstSeq, d.LastSeq) || d.FoundNS > c.limit() {
				continue
			}
			about := change{Value: v, Product: p.Name, FirstSeq: d.FirstSeq, LastSeq: d.LastSeq, Shift: d.Shift,
				Low: d.Low, High: d.High, Relative: d.Relative, Direction: d.Direction}
			about.Value.Products = []product{}
			if about.Before, about.From, _, err = c.side(ctx, s.ID, d.FirstSeq); err != nil {
				return v, nil, err
			}
			if about.After, about.To, about.Day, err = c.side(ctx, s.ID, d.LastSeq); err != nil {
				return v, nil, err
			}
			changes = append(changes, about)
		}
	}
	v.Lead = leading(&v, all)
	return v, changes, nil
}

// name returns that of a product, with its feed if the group has the product twice.
func (c *collector) name(s api.Series, group []api.Series) string {
	for _, o := range group {
		if o.ID != s.ID && o.Product == s.Product {
			return strings.TrimSpace(s.Product + " " + cmp.Or(s.Feed, "installed"))
		}
	}
	return s.Product
}

// side returns the film, the build and the day of a point beside a change.
func (c *collector) side(ctx context.Context, series, seq int64) (f *film, build, at string, err error) {
	points, err := c.db.Points(ctx, series, seq, seq, 1)
	if err != nil || len(points) == 0 {
		return nil, "", "", err
	}
	f, err = c.film(points[0])
	return f, points[0].Build, day(points[0].WallNS), err
}

// film returns the film of the run closest to the median. It prefers runs with a video.
func (c *collector) film(p trend.Point) (*film, error) {
	var filmed []trend.Value
	for _, v := range p.Values {
		if c.files.hasVideo(v.Run) {
			filmed = append(filmed, v)
		}
	}
	if len(filmed) == 0 {
		filmed = p.Values
	}
	middle := stats.Summarize(p.Numbers()).Estimate
	shown := slices.MinFunc(filmed, func(a, b trend.Value) int {
		return cmp.Compare(math.Abs(a.Value-middle), math.Abs(b.Value-middle))
	})
	return c.files.film(c.w, shown.Run, p.Build)
}

// device returns the shown name of a device.
func (c *collector) device(name string, p trend.Point) string {
	if c.w.o.Names {
		return name
	}
	if c.devices[name] == "" {
		kind := c.files.kind(p.Values[0].Run)
		c.devices[name] = kind
		if c.kinds[kind]++; c.kinds[kind] > 1 {
			c.devices[name] = fmt.Sprintf("%s %d", kind, c.kinds[kind])
		}
	}
	return c.devices[name]
}

// leastRuns is the number of runs of two points whose ranges are apart by chance in 3 of 100 cases.
const leastRuns = 4

// leading compares the products at their newest common build. It is nil without a better direction.
func leading(v *value, all []visible) *lead {
	if len(all) < 2 || v.Better == "" {
		return nil
	}
	sign := 1.0
	if v.Better == "lower" {
		sign = -1
	}
	// best returns the best product and the next one at a build that all have.
	best := func(seq int64) (first, next int, at []point) {
		for _, one := range all {
			i, there := slices.BinarySearchFunc(one.figures, seq, func(p point, seq int64) int {
				return cmp.Compare(p.Seq, seq)
			})
			if !there {
				return 0, 0, nil
			}
			at = append(at, one.figures[i])
		}
		next = -1
		for i := range at {
			switch {
			case sign*at[i].Median > sign*at[first].Median:
				first, next = i, first
			case i != first && (next < 0 || sign*at[i].Median > sign*at[next].Median):
				next = i
			}
		}
		return first, next, at
	}
	var l *lead
	leader := 0
	for i, p := range slices.Backward(all[0].figures) {
		first, next, at := best(p.Seq)
		if at == nil {
			continue
		}
		if l == nil {
			l, leader = &lead{Product: v.Products[first].Name, Next: v.Products[next].Name,
				By: math.Abs(at[first].Median/at[next].Median - 1)}, first
			if sign*(at[first].Median-at[next].Median) <= 0 || at[first].Low <= at[next].High &&
				at[next].Low <= at[first].High || at[next].Median == 0 ||
				min(at[first].Runs, at[next].Runs) < leastRuns {
				return &lead{Next: v.Products[next].Name}
			}
		}
		if first != leader {
			break
		}
		l.Since, l.Day, l.Longer = p.Build, p.Day, i == 0 && len(all[0].figures) >= recent
	}
	return l
}
