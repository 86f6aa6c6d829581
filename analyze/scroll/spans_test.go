package scroll

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestSpansFindMoves moves a window over other content. Its spans alone give the displacement, also
// in formats whose pixels share bytes.
func TestSpansFindMoves(t *testing.T) {
	formats := []frame.PixelFormat{frame.BGR4, frame.BGR3, frame.YUYV, frame.NV12}
	for seed := range analyzetest.Seeds(uint64(24)) {
		rng := rand.New(rand.NewPCG(seed, 21))
		f := analyzetest.Must(frame.NewFormat(formats[seed%4], 400, 200))(t)
		l := analyzetest.Must(frame.NewLayout(f))(t)
		dx, dy := 2*(rng.IntN(61)-30), 2*(rng.IntN(31)-15)
		if dx == 0 && dy == 0 {
			dx = 2
		}
		each := l.Rows[0].Seen / f.Width
		page, window := noise(rng, f.Width*each, f.Height), noise(rng, 180*each, 100)
		draw := func(x, y int) frame.Image {
			m := l.View(make([]byte, l.Size))
			for i := range f.Height {
				copy(m.Rows[i], page[i])
			}
			for i, line := range window {
				copy(m.Rows[y+i][x*each:], line)
			}
			return m
		}
		m, whole := estimatorOf(t, l)
		before, now := draw(80, 40), draw(80+dx, 40+dy)
		m.choose(measure.NewDiffer(m.Area, 0).Of(whole, before, now), before, now)
		if found := m.ofSpans(measure.Rect{}); len(found) == 0 || found[0].dx != dx || found[0].dy != dy {
			t.Errorf("seed %d, %v: candidates %v, want %d, %d first", seed, f, found, dx, dy)
		}
	}
}

// TestSpansOfRepeatedContent moves stripes. All displacements that explain the change equally are
// candidates, so that none is chosen over another.
func TestSpansOfRepeatedContent(t *testing.T) {
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, 400, 200))(t)
	l := analyzetest.Must(frame.NewLayout(f))(t)
	stripe := noise(rand.New(rand.NewPCG(1, 21)), 4*100, len(l.Rows))
	draw := func(shift int) frame.Image {
		m := l.View(make([]byte, l.Size))
		for y, row := range m.Rows {
			for x := range row {
				row[x] = stripe[y][(x+4*shift)%len(stripe[y])]
			}
		}
		return m
	}
	m, whole := estimatorOf(t, l)
	before, now := draw(0), draw(40)
	m.choose(measure.NewDiffer(m.Area, 0).Of(whole, before, now), before, now)
	dxs := map[int]bool{}
	for _, k := range m.ofSpans(measure.Rect{}) {
		dxs[k.dx] = k.dy == 0
	}
	if !dxs[-40] || !dxs[60] {
		t.Errorf("stripes of 100 pixels: displacements %v, want −40 and 60 among them", dxs)
	}
	if k, ok := bestExact([]candidate{m.check(-40, 0), m.check(60, 0)}); ok {
		t.Errorf("%v is chosen, though another explains as much", k)
	}
}

// TestLinesThatDiffer moves a window. What is chosen of a change that may be anywhere is what is
// chosen of the lines that differ.
func TestLinesThatDiffer(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 21))
	l := analyzetest.Must(frame.NewLayout(analyzetest.Must(frame.NewFormat(frame.BGR4, 300, 240))(t)))(t)
	before, now := l.View(make([]byte, l.Size)), l.View(make([]byte, l.Size))
	change := new(frame.Change)
	for i, line := range noise(rng, 400, 70) {
		copy(now.Rows[100+i][200:], line)
		change.Spans = append(change.Spans, frame.Span{Row: int32(100 + i), Start: 200, End: 600})
	}
	m, whole := estimatorOf(t, l)
	var lines [2][]int
	for i, c := range []*frame.Change{whole, change} {
		m.choose(measure.NewDiffer(m.Area, 0).Of(c, before, now), before, now)
		for _, at := range m.lines {
			lines[i] = append(lines[i], at.y)
		}
	}
	if len(lines[0]) != sampledLines || !slices.Equal(lines[0], lines[1]) {
		t.Errorf("lines %v of all, %v of those that differ", lines[0], lines[1])
	}
}

func noise(rng *rand.Rand, width, height int) [][]byte {
	lines := make([][]byte, height)
	for y := range lines {
		lines[y] = make([]byte, width)
		for x := range lines[y] {
			lines[y][x] = byte(rng.Uint32())
		}
	}
	return lines
}

// estimatorOf returns an estimator of whole frames, and the change of all of one.
func estimatorOf(t *testing.T, l *frame.Layout) (*estimator, *frame.Change) {
	t.Helper()
	f := l.Format
	area := analyzetest.Must(measure.NewArea(l, frame.Region{Width: f.Width, Height: f.Height}, nil))(t)
	return newEstimator(&measure.Case{Layout: l, Area: area}), area.WholeChange()
}
