package vitals

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/eideticker/eideticker/capture/frame"
)

// Script collects the claims of a document. It runs before the document's own scripts.
//
//go:embed observe.js
var Script string

// Expressions for a page with [Script]. Each is a string.
const (
	Answer = `eidetickerClaims("read")` // for [Read]
	Clock  = `eidetickerClaims("now")`  // ms since the navigation began
)

// Limits of an answer. Script has smaller ones, but a page may answer in its place.
const (
	maxAnswer = 2 << 20 // bytes
	maxList   = 1000
	maxNamed  = 200  // timings and errors
	maxNumber = 1e12 // ms, bytes
	maxWords  = 300  // bytes of a text
	maxTypes  = 100  // names of kinds of entries
	maxSide   = 1 << 16
)

// Page is the answer of a page about itself, with numbers from 0 to a limit and short texts. Times
// are in ms since the navigation began.
type Page struct {
	lcp       *paint
	shifts    [][2]float64 // time and score
	tasks     [][2]float64 // time and duration
	durations []float64    // of interactions
	timings   []Timing
	errors    []string
	requests  []Request
	hidden    int // requests whose size is not known
	firstByte float64
	document  bool // its navigation is known

	offers                 func(kind string) bool
	ids                    bool // interactions have ids
	interactions           int
	total                  map[string]int // of each list, also of entries that are not kept
	windowWide, windowHigh float64        // in pixels of the screen
	invalid                int            // entries that were left out
}

// paint is a claimed largest contentful paint.
type paint struct {
	Time     float64   `json:"time"`
	Pixels   float64   `json:"pixels"`
	Selector string    `json:"selector"`
	Box      []float64 `json:"box"` // of the element in the window, in pixels of the screen
}

// Timing is a mark or a measure of the page.
type Timing struct {
	Name   string   `json:"name"`
	AtMS   float64  `json:"at_ms"`                 // since the navigation began
	LastMS *float64 `json:"duration_ms,omitempty"` // of a measure
}

// answer is the page's answer as it came.
type answer struct {
	LCP     *paint      `json:"lcp"`
	Shifts  [][]float64 `json:"shifts"`
	Tasks   [][]float64 `json:"tasks"`
	Timings []struct {
		Name  string   `json:"name"`
		At    float64  `json:"at"`
		Lasts *float64 `json:"lasts"`
	} `json:"timings"`
	Errors    []string `json:"errors"`
	Resources []struct {
		MIME      string  `json:"mime"`
		Initiator string  `json:"initiator"`
		Ending    string  `json:"ending"` // of the path, after the last dot
		Host      string  `json:"host"`
		Bytes     float64 `json:"bytes"`
		Hidden    bool    `json:"hidden"`
	} `json:"resources"`
	Total        map[string]float64 `json:"total"`
	Types        []string           `json:"types"`
	Width        float64            `json:"width"`
	Height       float64            `json:"height"`
	IDs          bool               `json:"ids"`
	Interactions float64            `json:"interactions"`
	Durations    []float64          `json:"durations"`
	Document     *struct {
		FirstByte float64 `json:"first_byte"`
		Host      string  `json:"host"`
		Bytes     float64 `json:"bytes"`
	} `json:"document"`
}

// Read reads a page's value of [Answer]. Entries with impossible numbers are counted and left out.
func Read(text string) (*Page, error) {
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("read the page's claims: %d bytes, at most %d are read", len(text), maxAnswer)
	}
	var a answer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return nil, fmt.Errorf("read the page's claims: %.200s", err)
	}
	if !possible(a.Width-1, a.Height-1) || max(a.Width, a.Height) > maxSide {
		return nil, errors.New("read the page's claims: its window has no possible size")
	}
	p := &Page{ids: a.IDs, windowWide: a.Width, windowHigh: a.Height, total: map[string]int{}}
	types := first(a.Types, maxTypes)
	p.offers = func(kind string) bool { return slices.Contains(types, kind) }
	p.pairs(&p.shifts, a.Shifts)
	p.pairs(&p.tasks, a.Tasks)
	for _, d := range first(a.Durations, maxList) {
		if p.valid(d) {
			p.durations = append(p.durations, d)
		}
	}
	if p.valid(a.Interactions) {
		p.interactions = int(a.Interactions)
	}
	for _, t := range first(a.Timings, maxNamed) {
		if p.valid(t.At) && (t.Lasts == nil || p.valid(*t.Lasts)) {
			p.timings = append(p.timings, Timing{clean(t.Name), t.At, t.Lasts})
		}
	}
	for _, e := range first(a.Errors, maxNamed) {
		p.errors = append(p.errors, clean(e))
	}
	if d := a.Document; d != nil && p.valid(d.FirstByte, d.Bytes) {
		p.document, p.firstByte = true, d.FirstByte
		p.requests = append(p.requests, Request{"document", clean(d.Host), int64(d.Bytes)})
	}
	for _, r := range first(a.Resources, maxList) {
		if !p.valid(r.Bytes) {
			continue
		}
		kind := typeOfResource(r.MIME, r.Initiator, r.Ending)
		p.requests = append(p.requests, Request{kind, clean(r.Host), int64(r.Bytes)})
		if r.Hidden {
			p.hidden++
		}
	}
	if l := a.LCP; l != nil && p.valid(l.Time, l.Pixels) {
		p.lcp = &paint{l.Time, l.Pixels, clean(l.Selector), nil}
		if len(l.Box) == 4 && !slices.ContainsFunc(l.Box, func(x float64) bool { return !possible(math.Abs(x)) }) {
			p.lcp.Box = l.Box
		}
	}
	for name, n := range a.Total { // one for each list, so they are few
		if len(p.total) < maxTypes && possible(n) {
			p.total[name] = int(n)
		}
	}
	return p, nil
}

// possible reports if numbers are finite, not negative and below the limit. NaN is not.
func possible(all ...float64) bool {
	return !slices.ContainsFunc(all, func(x float64) bool { return !(x >= 0 && x <= maxNumber) })
}

// valid counts an entry with impossible numbers.
func (p *Page) valid(all ...float64) bool {
	ok := possible(all...)
	if !ok {
		p.invalid++
	}
	return ok
}

func (p *Page) pairs(to *[][2]float64, from [][]float64) {
	for _, e := range first(from, maxList) {
		if len(e) == 2 && p.valid(e...) {
			*to = append(*to, [2]float64(e))
		} else if len(e) != 2 {
			p.invalid++
		}
	}
}

func first[T any](list []T, n int) []T { return list[:min(len(list), n)] }

// clean returns a short text without control characters.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(head(s), "?"))
	return strings.TrimSpace(s)
}

// head returns the first bytes of a text.
func head(s string) string { return s[:min(len(s), maxWords)] }

// lcpRegion returns the area of the claimed element on a screen that shows the page's window at an
// area.
func (p *Page) lcpRegion(area frame.Region) (r frame.Region, err error) {
	switch {
	case p.lcp.Box == nil:
		return r, errors.New("the page does not tell where its element is")
	case math.Abs(p.windowWide-float64(area.Width)) > 1 || math.Abs(p.windowHigh-float64(area.Height)) > 1:
		return r, fmt.Errorf("the page's window is %.0fx%.0f pixels, and its area on the screen is %dx%d", p.windowWide,
			p.windowHigh, area.Width, area.Height)
	}
	b := p.lcp.Box
	left, top := max(0, math.Ceil(b[0])), max(0, math.Ceil(b[1]))
	right := min(float64(area.Width), math.Floor(b[0]+b[2]))
	bottom := min(float64(area.Height), math.Floor(b[1]+b[3]))
	if right <= left || bottom <= top {
		return r, errors.New("the element lies outside of the window")
	}
	return frame.Region{X: area.X + int(left), Y: area.Y + int(top), Width: int(right - left),
		Height: int(bottom - top)}, nil
}
