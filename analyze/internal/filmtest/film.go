// Package filmtest has recordings in memory for tests of measures, and the analysis of one measure.
// Films are scenes of synth, or random ones that a literal implementation measures too. Only tests
// import it.
package filmtest

import (
	"fmt"
	"iter"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/synth"
	"github.com/eideticker/eideticker/capture/timeline"
)

// Film is a Recording in memory, for tests.
type Film struct {
	Layout *frame.Layout
	Pix    [][]byte
	Metas  []frame.Meta
	Period time.Duration
	Log    []timeline.Event
	Holes  []frame.Hole
	Asked  atomic.Int32 // images that were asked for out of order
}

// New returns a film without frames, of 60 frames a second.
func New(t testing.TB, f frame.Format) *Film {
	t.Helper()
	l, err := frame.NewLayout(f)
	if err != nil {
		t.Fatal(err)
	}
	return &Film{Layout: l, Period: time.Second / 60}
}

// Shoot adds a frame with the next sequence number, after lost others.
func (m *Film) Shoot(pix []byte, lost int) {
	seq := uint64(lost)
	if n := len(m.Metas); n > 0 {
		seq += m.Metas[n-1].Sequence + 1
	}
	meta := frame.Meta{Sequence: seq, Sampled: timeline.At(timeline.Time(seq) * timeline.Time(m.Period))}
	if lost > 0 {
		meta.Flags |= frame.FlagGapBefore
		m.Holes = append(m.Holes, frame.Hole{Before: len(m.Metas),
			Gap: frame.Gap{First: seq - uint64(lost), Count: uint64(lost), Cause: frame.RingFull}})
	}
	m.Pix, m.Metas = append(m.Pix, slices.Clone(pix)), append(m.Metas, meta)
}

// Scene records a scene of synth, but for the frames that lost picks.
func Scene(t testing.TB, scene, params string, lost func(n uint64) bool) (*Film, synth.Truth) {
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
	m := New(t, s.Info().Format)
	m.Period = time.Duration(uint64(time.Second) * truth.FPSDen / truth.FPSNum)
	pix := make([]byte, m.Layout.Size)
	missing := 0
	for n := range truth.Frames {
		if lost != nil && lost(n) {
			missing++
			continue
		}
		s.Render(n, pix)
		m.Shoot(pix, missing)
		missing = 0
	}
	return m, truth
}

// Content is the window of a scene's content: between its markers if it has any, else all.
func (m *Film) Content(t synth.Truth) measure.Window {
	if t.Green == nil {
		return measure.FramesWindow(m, 0, len(m.Metas))
	}
	w := measure.Window{Kind: measure.ByMarkers, Green: m.number(t.Green.End) - 1, Start: m.number(t.Green.End),
		Red: m.number(t.Red.First)}
	w.End = w.Red - 1
	return w
}

// number returns the first stored frame whose sequence number is at least seq.
func (m *Film) number(seq uint64) int {
	return slices.IndexFunc(m.Metas, func(f frame.Meta) bool { return f.Sequence >= seq })
}

func (m *Film) Frames() int        { return len(m.Metas) }
func (m *Film) Gaps() []frame.Hole { return m.Holes }
func (m *Film) Events() (heads []timeline.EventHead) {
	for _, e := range m.Log {
		heads = append(heads, timeline.EventHead{At: e.At, Uncertainty: e.Uncertainty, Source: e.Source, Kind: e.Kind,
			Bytes: len(e.Data)})
	}
	return heads
}
func (m *Film) Event(n int) (timeline.Event, error) { return m.Log[n], nil }

func (m *Film) Segments() []frame.Segment {
	if len(m.Metas) == 0 {
		return nil
	}
	return []frame.Segment{{Frames: len(m.Metas), Layout: m.Layout, PeriodNum: int64(m.Period),
		PeriodDen: int64(time.Second), FemtoPeriod: int64(m.Period) * 1e6}}
}

func (m *Film) Meta(n int) (frame.Meta, error) {
	if n < 0 || n >= len(m.Metas) {
		return frame.Meta{}, fmt.Errorf("no frame %d", n)
	}
	return m.Metas[n], nil
}

func (m *Film) Image(n int) (frame.Image, error) {
	if n < 0 || n >= len(m.Metas) {
		return frame.Image{}, fmt.Errorf("no frame %d", n)
	}
	m.Asked.Add(1)
	return m.Layout.View(m.Pix[n]), nil
}

func (m *Film) Changes(from, to int) iter.Seq2[*frame.Step, error] { return m.Play(from, to, false) }
func (m *Film) Steps(from, to int) iter.Seq2[*frame.Step, error]   { return m.Play(from, to, true) }

func (m *Film) Play(from, to int, pixels bool) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		for n := from; n < to; n++ {
			step := frame.Step{Number: n, Meta: m.Metas[n], Change: m.Change(n)}
			step.Image.Layout, step.Previous.Layout = m.Layout, m.Layout
			if pixels {
				step.Image = m.Layout.View(m.Pix[n])
				if n > 0 {
					step.Previous = m.Layout.View(m.Pix[n-1])
				}
			}
			if !yield(&step, nil) {
				return
			}
		}
	}
}

// Change tells a span per row, as far apart as the differences reach: the least that frame.Change
// promises.
func (m *Film) Change(n int) *frame.Change {
	c := new(frame.Change)
	for y, r := range m.Layout.Rows {
		start, end, ok := 0, r.Seen, true
		if n > 0 {
			start, end, ok = m.Layout.Tighten(y, m.Layout.Row(m.Pix[n-1], y), m.Layout.Row(m.Pix[n], y), 0, r.Bytes)
		}
		if ok {
			c.Spans = append(c.Spans, frame.Span{Row: int32(y), Start: int32(start), End: int32(end)})
		}
	}
	return c
}

// One measures one thing, and fails the test if that cannot be done.
func One(t testing.TB, rec measure.Recording, w measure.Window, o analyze.Options, name string) measure.Result {
	t.Helper()
	o.Measures = []string{name}
	found, err := analyze.Analyze(t.Context(), rec, w, o)
	if err != nil {
		t.Fatal(err)
	}
	WantDeclared(t, found.Results...)
	return found.Results[0]
}
