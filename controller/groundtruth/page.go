package groundtruth

import (
	"context"
	"image"
	"slices"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/netsim/site"
)

// Input is a played page with its measures.
type Input struct {
	Reader  *recording.Reader
	Outcome *analyze.Outcome // of the window in which it played; all of its content was measured, exactly
	Masks   []frame.Region   // that were used in it
	Report  site.Report      // of the page
	// Script are the calls of the page's scripts; nil: they were not instrumented.
	Script *result.Script
	// Measures are the requested ones; empty: all that apply. Measures that were not requested are
	// not checked.
	Measures []string
}

// Page is the result of the checks of a page.
type Page struct {
	Checks []result.Check
	Claims map[string]float64 // by the page, of values that are measured
}

// Read reads the strip of all content frames of a page and makes its checks. On pages that flip
// through images, tearing may be measured again with the images that the strip names. This happens
// if the measure did not find all of them itself. The outcome then has the new result.
func Read(ctx context.Context, in Input) (*Page, error) {
	t := newPlayed(in)
	var err error
	if t.sum, err = t.read(ctx); err != nil {
		return nil, err
	}
	if in.Report.Page.Flip != nil {
		if err := t.measureTearing(ctx); err != nil {
			return nil, err
		}
	}
	p := &Page{Claims: map[string]float64{}}
	if in.Report.ClaimedFPS > 0 {
		p.Claims["fps.framerate"] = in.Report.ClaimedFPS
	}
	for _, c := range t.checks() {
		if c.Frames == nil {
			c.Frames = []int{}
		}
		if c.of != "" && c.Claimed != nil {
			p.Claims[c.of] = *c.Claimed
		}
		p.Checks = append(p.Checks, c.Check)
	}
	return p, nil
}

// read reads the strip of all frames.
func (t *played) read(ctx context.Context) (strip.Summary, error) {
	w := t.Outcome.Window
	segment, err := t.Reader.SegmentOf(w.Start)
	if err != nil {
		return strip.Summary{}, err
	}
	r := w.Region
	decoder, err := strip.NewDecoder(segment.Layout, image.Rect(r.X, r.Y, r.X+r.Width, r.Y+r.Height))
	if err != nil {
		return strip.Summary{}, err
	}
	account := strip.NewAccount(t.Report.Number)
	var reading strip.Reading
	for step, err := range t.Reader.Steps(w.Start, w.End+1) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return strip.Summary{}, err
		}
		changed := len(step.Change.Spans) > 0
		if changed || len(t.views) == 0 {
			reading = decoder.ReadContent(step.Image)
		}
		if len(t.views) > 0 && t.Outcome.Times.Lost(step.Number) > 0 {
			account.Missing()
		}
		account.Add(step.Number, changed, reading)
		t.add(step.Number, reading)
	}
	return account.Close(t.Report.IDs()), nil
}

// asked reports whether a measure was asked for.
func (t *played) asked(measure string) bool {
	return len(t.Measures) == 0 || slices.Contains(t.Measures, measure)
}
