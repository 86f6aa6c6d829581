package main

import (
	"fmt"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/netsim/site"
)

// demoCheck is one number three times: measured, drawn, and claimed by the page.
type demoCheck struct {
	What     string   `json:"what"`
	Unit     string   `json:"unit"`
	Measured demoSpan `json:"measured"`
	Drawn    demoSpan `json:"drawn"`
	Claimed  *float64 `json:"claimed"` // null: the page claims nothing of the kind
	Agrees   bool     `json:"agrees"`  // measured and drawn
	Frames   []int    `json:"frames"`  // in which they do not
	Note     string   `json:"note,omitempty"`

	of string // the value that is measured, such as fps.framerate; empty where there is no such one
}

// forReport are a page's checks as they stand in its window of the results, and what it claims of values that are measured.
func (p *demoPage) forReport() (checks []report.Check, claims map[string]float64) {
	claims = map[string]float64{}
	if p.ClaimedFPS > 0 {
		claims["fps.framerate"] = p.ClaimedFPS
	}
	for _, c := range p.Checks {
		checks = append(checks, report.Check{
			What: c.What, Unit: c.Unit, Measured: report.Span(c.Measured), Drawn: report.Span(c.Drawn), Claimed: c.Claimed, Agrees: c.Agrees,
			Frames: c.Frames, Note: c.Note,
		})
		if c.of != "" && c.Claimed != nil {
			claims[c.of] = *c.Claimed
		}
	}
	return checks, claims
}

// demoSpan is a number and its bounds.
type demoSpan struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

func spanOf(v analyze.Value) demoSpan { return demoSpan{v.Value, v.Low, v.High} }

func exactSpan(n int) demoSpan { return demoSpan{float64(n), float64(n), float64(n)} }

// meets reports whether two numbers may be the same.
func (s demoSpan) meets(o demoSpan) bool { return s.Low <= o.High && o.Low <= s.High }

func (s demoSpan) String() string {
	low, high := figureText(s.Low), figureText(s.High)
	if low == high {
		return figureText(s.Value)
	}
	return fmt.Sprintf("%s (%s–%s)", figureText(s.Value), low, high)
}

// figureText has one decimal where there is anything behind the point.
func figureText(v float64) string {
	if v == float64(int(v)) {
		return countText(int(v))
	}
	return fmt.Sprintf("%.1f", v)
}

// checks holds each thing that is measured of a page against what was drawn.
func (t *demoTruth) checks() []demoCheck {
	list := []demoCheck{t.checkUnique()}
	p := t.report.Page
	switch {
	case len(p.Parts) > 0:
		list = append(list, t.checkLoad()...)
	case p.Flip != nil:
		list = append(list, t.checkTearing()...)
	case p.Cadence == site.CadenceInput:
		list = append(list, t.checkResponse()...)
	case p.Checker != nil:
		list = append(list, t.checkChecker()...)
	default:
		list = append(list, t.checkFramerate()...)
	}
	for i := range list {
		if list[i].Frames == nil {
			list[i].Frames = []int{}
		}
	}
	return list
}

// checkUnique: a frame is unique if and only if it shows another picture than the frame before, or another mixture of pictures.
func (t *demoTruth) checkUnique() demoCheck {
	drawn := t.changes()
	c := demoCheck{What: "unique frames", Unit: "frames", of: "fps.unique_frames", Drawn: exactSpan(len(drawn)), Frames: difference(t.unique(), drawn)}
	claimed := float64(len(t.report.Drawn))
	c.Claimed = &claimed
	if r := t.result("fps"); r != nil {
		if v, ok := r.Find("unique_frames"); ok {
			c.Measured, c.Agrees = spanOf(v), len(c.Frames) == 0
		}
	}
	return c
}

// checkFramerate: pictures that were seen, by the time for which the page says it played.
func (t *demoTruth) checkFramerate() []demoCheck {
	r := t.result("fps")
	if r == nil {
		return nil
	}
	v, ok := r.Find("framerate")
	low, mid, high := t.lasted()
	if !ok || low <= 0 {
		return nil
	}
	n := float64(len(t.changes()))
	claimed := t.report.ClaimedFPS
	c := demoCheck{
		What: "framerate", Unit: "frames/s", Measured: spanOf(v), Claimed: &claimed,
		Drawn: demoSpan{n / mid.Seconds(), n / high.Seconds(), n / low.Seconds()},
	}
	c.Agrees = c.Measured.meets(c.Drawn)
	return []demoCheck{c}
}
