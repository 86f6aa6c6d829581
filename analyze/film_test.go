package analyze

import (
	"fmt"
	"iter"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/synth"
	"github.com/eideticker/eideticker/capture/timeline"
)

// film is a Recording in memory, for tests.
type film struct {
	layout *frame.Layout
	pix    [][]byte
	metas  []frame.Meta
	period time.Duration
	events []timeline.Event
	gaps   []frame.Hole
	asked  atomic.Int32 // images that were asked for out of order
}

// newFilm returns a film without frames, of 60 frames a second.
func newFilm(t testing.TB, f frame.Format) *film {
	t.Helper()
	l, err := frame.NewLayout(f)
	if err != nil {
		t.Fatal(err)
	}
	return &film{layout: l, period: time.Second / 60}
}

// shoot adds a frame with the next sequence number, after lost others.
func (m *film) shoot(pix []byte, lost int) {
	seq := uint64(lost)
	if n := len(m.metas); n > 0 {
		seq += m.metas[n-1].Sequence + 1
	}
	meta := frame.Meta{Sequence: seq, Sampled: timeline.At(timeline.Time(seq) * timeline.Time(m.period))}
	if lost > 0 {
		meta.Flags |= frame.FlagGapBefore
		m.gaps = append(m.gaps, frame.Hole{Before: len(m.metas),
			Gap: frame.Gap{First: seq - uint64(lost), Count: uint64(lost), Cause: frame.RingFull}})
	}
	m.pix, m.metas = append(m.pix, slices.Clone(pix)), append(m.metas, meta)
}

// filmScene records a scene of synth, but for the frames that lost picks.
func filmScene(t testing.TB, scene, params string, lost func(n uint64) bool) (*film, synth.Truth) {
	t.Helper()
	q, err := url.ParseQuery(params)
	if err != nil {
		t.Fatal(err)
	}
	s, err := synth.Open(scene, q)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	truth := s.Truth()
	m := newFilm(t, s.Info().Format)
	m.period = time.Duration(uint64(time.Second) * truth.FPSDen / truth.FPSNum)
	pix := make([]byte, m.layout.Size)
	missing := 0
	for n := range truth.Frames {
		if lost != nil && lost(n) {
			missing++
			continue
		}
		s.Render(n, pix)
		m.shoot(pix, missing)
		missing = 0
	}
	return m, truth
}

// content is the window of a scene's content: between its markers if it has any, else all.
func (m *film) content(t synth.Truth) Window {
	if t.Green == nil {
		return FramesWindow(m, 0, len(m.metas))
	}
	w := Window{Kind: ByMarkers, Green: m.number(t.Green.End) - 1, Start: m.number(t.Green.End),
		Red: m.number(t.Red.First)}
	w.End = w.Red - 1
	return w
}

// number returns the first stored frame whose sequence number is at least seq.
func (m *film) number(seq uint64) int {
	return slices.IndexFunc(m.metas, func(f frame.Meta) bool { return f.Sequence >= seq })
}

func (m *film) Frames() int        { return len(m.metas) }
func (m *film) Gaps() []frame.Hole { return m.gaps }
func (m *film) Events() (heads []timeline.EventHead) {
	for _, e := range m.events {
		heads = append(heads, timeline.EventHead{At: e.At, Uncertainty: e.Uncertainty, Source: e.Source, Kind: e.Kind,
			Bytes: len(e.Data)})
	}
	return heads
}
func (m *film) Event(n int) (timeline.Event, error) { return m.events[n], nil }

func (m *film) Segments() []frame.Segment {
	if len(m.metas) == 0 {
		return nil
	}
	return []frame.Segment{{Frames: len(m.metas), Layout: m.layout, PeriodNum: int64(m.period),
		PeriodDen: int64(time.Second), FemtoPeriod: int64(m.period) * 1e6}}
}

func (m *film) Meta(n int) (frame.Meta, error) {
	if n < 0 || n >= len(m.metas) {
		return frame.Meta{}, fmt.Errorf("no frame %d", n)
	}
	return m.metas[n], nil
}

func (m *film) Image(n int) (frame.Image, error) {
	if n < 0 || n >= len(m.metas) {
		return frame.Image{}, fmt.Errorf("no frame %d", n)
	}
	m.asked.Add(1)
	return m.layout.View(m.pix[n]), nil
}

func (m *film) Changes(from, to int) iter.Seq2[*frame.Step, error] { return m.play(from, to, false) }
func (m *film) Steps(from, to int) iter.Seq2[*frame.Step, error]   { return m.play(from, to, true) }

func (m *film) play(from, to int, pixels bool) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		for n := from; n < to; n++ {
			step := frame.Step{Number: n, Meta: m.metas[n], Change: m.change(n)}
			step.Image.Layout, step.Previous.Layout = m.layout, m.layout
			if pixels {
				step.Image = m.layout.View(m.pix[n])
				if n > 0 {
					step.Previous = m.layout.View(m.pix[n-1])
				}
			}
			if !yield(&step, nil) {
				return
			}
		}
	}
}

// change tells a span per row, as far apart as the differences reach: the least that frame.Change
// promises.
func (m *film) change(n int) *frame.Change {
	c := new(frame.Change)
	for y, r := range m.layout.Rows {
		start, end, ok := 0, r.Seen, true
		if n > 0 {
			start, end, ok = m.layout.Tighten(y, m.layout.Row(m.pix[n-1], y), m.layout.Row(m.pix[n], y), 0, r.Bytes)
		}
		if ok {
			c.Spans = append(c.Spans, frame.Span{Row: int32(y), Start: int32(start), End: int32(end)})
		}
	}
	return c
}

// one measures one thing, and fails the test if that cannot be done.
func one(t testing.TB, rec Recording, w Window, o Options, name string) Result {
	t.Helper()
	o.Measures = []string{name}
	found, err := Analyze(t.Context(), rec, w, o)
	if err != nil {
		t.Fatal(err)
	}
	wantDeclared(t, found.Results...)
	return found.Results[0]
}

// wantValue fails the test if a value is not exactly this.
func wantValue(t testing.TB, r Result, name string, want float64) {
	t.Helper()
	wantDeclared(t, r)
	v, ok := r.Find(name)
	if !ok {
		t.Fatalf("%s has no value %q: %+v", r.Measure, name, r)
	}
	if v.Value != want {
		t.Errorf("%s %s is %v, want %v", r.Measure, name, v.Value, want)
	}
}
