package render

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

func TestGraphRefusals(t *testing.T) {
	good := Line{"a", progressOf(60, 30, 0.2, true), sixty}
	with := func(change func(*Line)) []Line {
		l := Line{"a", progressOf(60, 30, 0.2, true), sixty}
		change(&l)
		return []Line{l}
	}
	for _, tc := range []struct {
		name  string
		lines []Line
		o     GraphOptions
	}{
		{"no lines", nil, GraphOptions{}},
		{"too many lines", make([]Line, 25), GraphOptions{}},
		{"no values", with(func(l *Line) { l.Series = analyze.Series{} }), GraphOptions{}},
		{"values missing", with(func(l *Line) { l.Series.Values = l.Series.Values[1:] }), GraphOptions{}},
		{"not a number", with(func(l *Line) { l.Series.Values[3] = math.NaN() }), GraphOptions{}},
		{"endless", with(func(l *Line) { l.Series.Values[3] = math.Inf(1) }), GraphOptions{}},
		{"no times", with(func(l *Line) { l.Seconds = nil }), GraphOptions{}},
		{"time runs back", with(func(l *Line) { l.Seconds = func(n int) float64 { return -float64(n) } }),
			GraphOptions{}},
		{"small", []Line{good}, GraphOptions{Width: 10, Height: 300}},
		{"large", []Line{good}, GraphOptions{Width: 800, Height: 1 << 20}},
		{"scale", []Line{good}, GraphOptions{Scale: 100}},
		{"mark at no time", []Line{good}, GraphOptions{Marks: []TimeMark{{Seconds: math.NaN()}}}},
		{"too many marks", []Line{good}, GraphOptions{Marks: make([]TimeMark, 1001)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := ProgressGraph(tc.lines, tc.o); !errors.Is(err, errGraph) {
				t.Errorf("error %v", err)
			}
		})
	}
	for _, unit := range []string{"", "pixels"} {
		s := frameTimesOf(9, 20)
		s.Unit = unit
		if _, err := FrameTimeGraph(s, sixty, GraphOptions{}); !errors.Is(err, errGraph) {
			t.Errorf("unit %q: error %v", unit, err)
		}
	}
	s := frameTimesOf(9, 20)
	s.Values[2] = -1
	if _, err := FrameTimeGraph(s, sixty, GraphOptions{}); !errors.Is(err, errGraph) {
		t.Errorf("negative: error %v", err)
	}
}

// TestGraphsOfLittle draws nearly empty series, at sizes and with texts of all kinds.
func TestGraphsOfLittle(t *testing.T) {
	one := analyze.Series{Unit: "ms", Frames: []int{7}, Values: []float64{0}}
	for _, tc := range []struct {
		name string
		o    GraphOptions
	}{
		{"plain", GraphOptions{}},
		{"small", GraphOptions{Width: 200, Height: 120, Title: strings.Repeat("long ", 50),
			Marks: []TimeMark{{1e9, "far", Fault}}}},
		{"markup", GraphOptions{Title: `<b>&"`, Marks: []TimeMark{{0, "]]>", End}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			progress := analyzetest.Must(ProgressGraph([]Line{{`<"&`, one, sixty}}, tc.o))(t)
			times := analyzetest.Must(FrameTimeGraph(one, sixty, tc.o))(t)
			for _, g := range []*Graph{progress, times} {
				checkGraph(t, g)
			}
		})
	}
}

// checkGraph reads both formats.
func checkGraph(t *testing.T, g *Graph) {
	t.Helper()
	var svg, dots bytes.Buffer
	analyzetest.Check(t, errors.Join(g.WriteSVG(&svg), g.WritePNG(&dots)))
	for d := xml.NewDecoder(&svg); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("SVG: %v", err)
		}
	}
	img, err := png.Decode(&dots)
	if err != nil || img.Bounds().Dx() != g.o.Width*g.o.Scale || img.Bounds().Dy() != g.o.Height*g.o.Scale {
		t.Errorf("PNG of %v (error %v), want %dx%d", img.Bounds(), err, g.o.Width*g.o.Scale, g.o.Height*g.o.Scale)
	}
}

func TestThinKeepsExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	points := make([]point, 100_000)
	for i := range points {
		points[i] = point{float64(i), r.Float64()}
	}
	points[31_234].y, points[71_234].y = 9, -9
	got := thin(points, 100)
	low, high := math.Inf(1), math.Inf(-1)
	for i, p := range got {
		low, high = min(low, p.y), max(high, p.y)
		if i > 0 && p.x <= got[i-1].x {
			t.Fatal("not in order")
		}
	}
	if len(got) > 404 || low != -9 || high != 9 || got[0] != points[0] || got[len(got)-1] != points[len(points)-1] {
		t.Errorf("%d points from %v to %v", len(got), low, high)
	}
	for i := range points {
		points[i].x = 1
	}
	if got := thin(points, 100); len(got) > 4 {
		t.Errorf("%d points at one time", len(got))
	}
}

func TestTicks(t *testing.T) {
	for _, tc := range []struct {
		low, high float64
		want      string
	}{
		{0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"}, {0, 100, "0 20 40 60 80 100"}, {-0.5, 0.5, "−0.4 −0.2 0.0 0.2 0.4"},
		{0, 12000, "0 5,000 10,000"},
	} {
		var got []string
		for _, tick := range (evenTicks{most: 5}).Ticks(tc.low, tc.high) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%v to %v: %q, want %q", tc.low, tc.high, got, tc.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, tc := range []struct {
		v    analyze.Value
		want string
	}{
		{analyze.Value{Unit: "frames/s", Value: 57.312, Low: 57.312, High: 57.312, State: analyze.Exact},
			"57.31 frames/s"},
		{analyze.Value{Unit: "ms", Value: 1204.4, Low: 1187.6, High: 1221, State: analyze.Bounded},
			"1,204 ms (1,188 – 1,221)"},
		{analyze.Value{Unit: "frames", Value: 3, Low: 3, High: 3, State: analyze.Exact}, "3 frames"},
		{analyze.Value{Unit: "fraction", Value: 0.1234, Low: 0.1234, High: 0.1234, State: analyze.Exact}, "12.34 %"},
		{analyze.Value{Unit: "pixels", Value: -1234567, Low: -1234567, High: -1234567, State: analyze.Exact},
			"−1,234,567 pixels"},
		{analyze.Value{State: analyze.Refused}, "–"},
	} {
		if got := valueText(tc.v); got != tc.want {
			t.Errorf("%+v is shown as %q, want %q", tc.v, got, tc.want)
		}
	}
}
