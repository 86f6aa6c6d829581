package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/eideticker/eideticker/analyze"
)

// Line is one line of a progress graph.
type Line struct {
	Name    string
	Series  analyze.Series          // fractions, 0…1
	Seconds func(frame int) float64 // when a frame was on the screen
}

// ProgressGraph draws how far a load had come over time, a line for each variant or run. Series
// that hold are drawn as steps, others as points joined by straight lines.
func ProgressGraph(lines []Line, o GraphOptions) (*Graph, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("draw progress: %w", err)
	}
	const most = 24
	if len(lines) == 0 || len(lines) > most {
		return nil, fmt.Errorf("draw progress: %w: %d lines, want 1 to %d", errGraph, len(lines), most)
	}
	o.Marks = sortedMarks(o.Marks)
	g := newGraph(o, "visually complete (%)")
	g.plot.Y.Min, g.plot.Y.Max = 0, 100
	from, to := math.Inf(1), math.Inf(-1)
	var drawn []*trace
	for i, l := range lines {
		points, err := pointsOf(l.Series, l.Seconds)
		if err != nil {
			return nil, fmt.Errorf("draw progress of %q: %w", l.Name, err)
		}
		for j := range points {
			points[j].y *= 100
			g.plot.Y.Min = math.Min(g.plot.Y.Min, points[j].y)
			g.plot.Y.Max = math.Max(g.plot.Y.Max, points[j].y)
		}
		from, to = math.Min(from, points[0].x), math.Max(to, points[len(points)-1].x)
		t := &trace{points: points, steps: l.Series.Holds, style: lineStyle(i)}
		drawn = append(drawn, t)
		if len(lines) > 1 || l.Name != "" {
			g.keys = append(g.keys, key{name: l.Name, colour: lineColour(i), dashes: t.style.Dashes})
		}
	}
	g.times(from, to)
	g.plot.Add(moments(o.Marks))
	for _, t := range slices.Backward(drawn) { // the first lies on top
		t.end = g.plot.X.Max
		t.points = thin(t.points, 2*o.Width)
		g.plot.Add(t)
	}
	return g, nil
}

// lineStyle repeats its colours with dashes.
func lineStyle(i int) draw.LineStyle {
	s := draw.LineStyle{Color: lineColour(i), Width: px(2.25)}
	if dashes := []float64{0, 7, 3, 11}[i/6%4]; dashes > 0 {
		s.Dashes = []vg.Length{px(dashes), px(4)}
	}
	return s
}

func sortedMarks(marks []TimeMark) []TimeMark {
	marks = slices.Clone(marks)
	slices.SortStableFunc(marks, func(a, b TimeMark) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return marks
}

// point is a place on a graph.
type point struct{ x, y float64 }

// pointsOf checks a series and gives it times.
func pointsOf(s analyze.Series, seconds func(int) float64) ([]point, error) {
	switch {
	case len(s.Frames) != len(s.Values):
		return nil, fmt.Errorf("%w: %d frames and %d values", errGraph, len(s.Frames), len(s.Values))
	case len(s.Frames) == 0 || len(s.Frames) > maxPoints:
		return nil, fmt.Errorf("%w: %d values, want 1 to %d", errGraph, len(s.Frames), maxPoints)
	case seconds == nil:
		return nil, fmt.Errorf("%w: nothing gives its frames their times", errGraph)
	}
	points := make([]point, len(s.Frames))
	for i, n := range s.Frames {
		p := point{seconds(n), s.Values[i]}
		if math.IsNaN(p.x+p.y) || math.IsInf(p.x+p.y, 0) {
			return nil, fmt.Errorf("%w: frame %d has %v at %v s", errGraph, n, p.y, p.x)
		}
		if i > 0 && p.x < points[i-1].x {
			return nil, fmt.Errorf("%w: frame %d is before the one before it", errGraph, n)
		}
		points[i] = p
	}
	return points, nil
}

// thin keeps the first, lowest, highest and last point of each of n columns. The result looks the
// same.
func thin(points []point, n int) []point {
	if len(points) <= 4*n {
		return points
	}
	from, width := points[0].x, (points[len(points)-1].x-points[0].x)/float64(n)
	if width <= 0 { // all at one time
		width = 1
	}
	out := make([]point, 0, 4*n)
	for start := 0; start < len(points); {
		column := math.Floor((points[start].x - from) / width)
		low, high, end := start, start, start
		for end < len(points) && (end == start || math.Floor((points[end].x-from)/width) == column) {
			if points[end].y < points[low].y {
				low = end
			}
			if points[end].y > points[high].y {
				high = end
			}
			end++
		}
		keep := []int{start, low, high, end - 1}
		slices.Sort(keep)
		for _, i := range slices.Compact(keep) {
			out = append(out, points[i])
		}
		start = end
	}
	return out
}

// trace is a line through points.
type trace struct {
	points []point
	steps  bool
	end    float64 // to which the last value of steps holds
	style  draw.LineStyle
}

func (t *trace) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := make([]vg.Point, 0, 2*len(t.points)+1)
	for i, at := range t.points {
		if t.steps && i > 0 {
			line = append(line, vg.Point{X: x(at.x), Y: line[len(line)-1].Y})
		}
		line = append(line, vg.Point{X: x(at.x), Y: y(at.y)})
	}
	if t.steps {
		line = append(line, vg.Point{X: x(t.end), Y: line[len(line)-1].Y})
	}
	c.StrokeLines(t.style, line)
}
