// Package tearing finds frames that show parts of several pictures. A tear is certain with
// pairwise disjoint images only. Any other tear is suspected, and the result states that.
package tearing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// # tearing
//
// Images are pairwise disjoint if no two of them have an equal pixel at any place of R. This is
// checked. With such a set:
//
//   - A line matches an image if none of its pixels that count differs from the image's.
//   - fi is torn if its lines match two or more images of the set.
//   - With a tolerance, a line can match several images. fi is then torn if no single image matches
//     all of its lines that match any.
//   - So a frame that could be whole is never called torn.
//   - A line that matches no image is skipped, such as one in which the scan-out changed images
//     halfway.
//   - The tear row is the first line that counts after the last one of the image above it.
//
// The values are:
//
//	images         number of images in the set;
//	torn_frames    of s ≤ i ≤ e;
//	torn           the same, of all stored frames;
//	other_frames   frames that are neither torn nor an image of the set in all of their lines;
//	pair_frames    by the pair rule of the 2011 specification: s < i ≤ e.
//	               f(i-1) and fi differ and share an equal pixel at some place.
//	               A whole frame after a torn one counts as well. It needs disjoint images;
//	suspected_frames        for any content, s < i < e, no frame missing in between.
//	                        The rows above a line change in fi and those below it in f(i+1).
//	                        The last line in which fi differs from f(i-1) is
//	                        above the first in which f(i+1) differs from fi;
//	suspected_below_first   the same upside down: a new picture that overtakes the scan-out
//	                        shows below the tear first.
//
// Suspected tears are uncertain: blocks of a page that appear one below the other look the same.
//
// The images are named frames of the same format. Without names, they are searched for. s and up to
// 63 frames that differ from the previous one are compared with each other. A picture that two or
// more of the window's frames show is an image. Those that are shown longest come first. One that
// is torn of earlier ones is left out. Any other that is not disjoint from them means that the
// window has no set. A set has 2 to 16 images. An image that is never whole in two frames is not
// found. Without a set, only suspected tears are reported, with the reason.
//
// A found set is a guess: a page that repaints every pixel in steps shows pictures that look like
// torn images. So its results are suspected, with two exceptions. The content may be declared as
// disjoint images. Or the page may draw a code strip, whose copies on both sides of each tear
// decide. If they have different ids everywhere, the tear is certain. If they have the same id
// anywhere, the page drew the frame like that, and the set is dropped. A tear stays suspected if
// the copies in an image of the set differ: the most frequent picture need not be whole.
//
// Each lost frame may have been torn or another picture. The two frames beside a gap are neither
// pairs nor suspected, and may have been.
//
// Frames are decoded only if there is a set.
func Measure(o Options) measure.Measure {
	begin := func(c *measure.Case) (measure.Part, error) { return newPart(c, &o) }
	return measure.Measure{Name: "tearing", Version: 1, Begin: begin, Values: []string{
		"torn_frames", "torn", "images", "other_frames", "pair_frames", "suspected_frames", "suspected_below_first",
	}}
}

// Options describe the content.
type Options struct {
	Images []int // numbers of frames that show the images of a disjoint set, each whole; empty: they are looked for
	// Disjoint says that the content is made of disjoint images, even where none is seen whole: the
	// pair rule is applied unchecked, and images that are found are not guessed.
	Disjoint bool
}

// Tear is a torn frame.
type Tear struct {
	Frame  int   `json:"frame"`  // number
	Rows   []int `json:"rows"`   // lines of the picture at which another image begins
	Images []int `json:"images"` // of the set, from top to bottom: one more than rows
}

// Detail is the detail of a result, as JSON.
type Detail struct {
	Images    []int       `json:"images"`    // numbers of frames that show the images of the set
	Torn      []Tear      `json:"torn"`      // ascending
	Pairs     []int       `json:"pairs"`     // torn by the pair rule
	Suspected []Suspicion `json:"suspected"` // ascending
}

// Suspicion is a frame that looks as if it were torn.
type Suspicion struct {
	Frame int  `json:"frame"`
	Row   int  `json:"row"`         // first line below the tear
	Below bool `json:"below_first"` // the part below changed first
}

type part struct {
	*measure.Case
	set      *imageSet   // nil: there is none
	why      string      // there is none
	guessed  bool        // the set was found, and nobody said that there is one
	check    *stripCheck // of a guessed one; nil: there is none
	pairRule bool
	pixels   bool // changes alone leave too much open

	frames  int
	matcher *matcher // with a set
	shape   shape    // of the frame before
	torn    []Tear
	other   int
	pairs   []int
	noPairs int // frames that have lost ones before them
	suspects
}

func newPart(c *measure.Case, o *Options) (measure.Part, error) {
	t := &part{Case: c, suspects: suspects{Case: c}}
	scan, err := scanChanges(c)
	if err != nil {
		return nil, err
	}
	if numbers := o.Images; len(numbers) > 0 {
		t.set, err = namedImages(c, numbers)
	} else {
		t.set, t.why, err = findImages(c, scan)
	}
	if err != nil {
		return nil, err
	}
	if len(o.Images) == 0 && t.set != nil {
		s, err := c.Image(c.Window.Start)
		if err != nil {
			return nil, &measure.UnreadableError{Frame: c.Window.Start, Err: err}
		}
		if t.guessed = !o.Disjoint; t.guessed {
			t.check = newStripCheck(c, s)
			t.check.hold(t.set)
		}
	}
	t.pairRule = t.set != nil || o.Disjoint
	const few = 16 // frames that may be decoded one by one
	t.pixels = t.set != nil || scan.unsure > few || t.pairRule && scan.covering > few
	return t, nil
}

func (t *part) NeedsPixels() bool { return t.pixels }

func (t *part) Fork() measure.Part {
	return &part{Case: t.Case, set: t.set, guessed: t.guessed, check: t.check.fork(), pairRule: t.pairRule,
		suspects: suspects{Case: t.Case}}
}

func (t *part) Add(f *measure.Frame) {
	t.frames++
	if t.set != nil {
		t.hold(f)
	}
	if t.pairRule && f.Number > t.Window.Start {
		t.pair(f)
	}
	t.suspects.add(f)
}

// hold holds a frame against the images.
func (t *part) hold(f *measure.Frame) {
	switch {
	case t.matcher != nil:
		t.matcher.update(f)
	case f.Number == t.Window.Start:
		t.matcher = newMatcher(t.Case, t.set)
		t.matcher.begin(f.Image)
	default:
		t.matcher = newMatcher(t.Case, t.set)
		t.matcher.begin(f.Previous)
		t.matcher.update(f)
	}
	if t.matcher.stale {
		t.shape = t.matcher.shape()
	}
	switch {
	case len(t.shape.rows) > 0:
		t.torn = append(t.torn, Tear{f.Number, t.shape.rows, t.shape.images})
		t.check.look(f.Image, t.shape.rows)
	case !t.shape.whole:
		t.other++
	}
}

// pair applies the pair rule.
func (t *part) pair(f *measure.Frame) {
	if f.Lost > 0 {
		t.noPairs++
		return
	}
	if !f.Unique {
		return
	}
	shares := true
	if f.Diff != nil {
		shares = f.Diff.Pixels < t.Area.Pixels
	} else if t.Area.Covers(f.Change) {
		shares = t.look(f.Number).Pixels < t.Area.Pixels
	}
	if shares {
		t.pairs = append(t.pairs, f.Number)
	}
}

func (t *part) Merge(next measure.Part) {
	n := next.(*part)
	t.frames += n.frames
	t.torn, t.other = append(t.torn, n.torn...), t.other+n.other
	t.pairs, t.noPairs = append(t.pairs, n.pairs...), t.noPairs+n.noPairs
	t.check.merge(n.check)
	t.suspects.merge(&n.suspects)
}

func (t *part) Result() measure.Result {
	if t.err != nil {
		return measure.Result{State: measure.Refused, Refusal: t.err.Error()}
	}
	if t.guessed && t.check.refutes() {
		t.why = fmt.Sprintf("%d frames look as if they were made of several images of a set, and by the page's code "+
			"strip the page drew them like that", t.check.against)
		t.set, t.pairRule, t.guessed, t.torn, t.pairs = nil, false, false, nil, nil
	}
	t.guessed = t.guessed && !t.check.confirms()
	d := Detail{Images: []int{}, Torn: measure.OrEmpty(t.torn), Pairs: measure.OrEmpty(t.pairs),
		Suspected: measure.OrEmpty(t.found)}
	var r measure.Result
	lost := float64(t.Lost())
	if t.set != nil {
		d.Images = t.set.numbers
		t.report(&r, lost)
	} else {
		r.Warnings = append(r.Warnings, "torn frames can be told from others only on pairwise disjoint images: "+t.why+
			"; results are suspected unless you name frames that show such images whole")
	}
	if t.pairRule {
		n := float64(len(t.pairs))
		pairs := measure.Between("pair_frames", "frames", n, n, n+lost+float64(t.noPairs), measure.Lower, 0.05)
		pairs.Frames = t.pairs
		pairs.Note = "the pair rule of 2011: a frame differs from the one before and shares a pixel with it"
		if t.set == nil {
			pairs.Note += "; that the images are disjoint was taken for granted"
		}
		r.Add(pairs)
	}
	if t.guessed {
		for i := range r.Values {
			v := &r.Values[i]
			v.State, v.Low = measure.Suspected, 0
			switch v.Name { // other frames may be made of lost images
			case "torn_frames":
				v.High += float64(t.other)
			case "torn":
				v.High = min(1, v.High+float64(t.other)/float64(t.frames))
			}
		}
		r.Warnf("the content is not declared as disjoint images: %d pictures were found to be, and their results are "+
			"suspected. A page that repaints all of itself in steps looks the same. If it is made of such images, "+
			"say so (--disjoint), or name frames that show them (--images)", len(t.set.images))
	}
	t.suspects.report(&r, lost, t.set == nil)
	r.Detail = measure.Detail(d)
	return r
}

// report adds the results about torn frames.
func (t *part) report(r *measure.Result, lost float64) {
	n, all := float64(len(t.torn)), float64(t.frames)
	torn := measure.Between("torn_frames", "frames", n, n, n+lost, measure.Lower, 0.05)
	row := measure.Series{Name: "tear_row", Unit: "line"}
	const shown = 100
	for i, tear := range t.torn {
		torn.Frames = append(torn.Frames, tear.Frame)
		row.Frames, row.Values = append(row.Frames, tear.Frame), append(row.Values, float64(tear.Rows[0]))
		if i < shown {
			e := measure.Evidence{Kind: "torn", Frame: tear.Frame, Rows: tear.Rows, Text: tear.String()}
			if t.guessed {
				e.Kind, e.Text = "suspected", "suspected tear: "+e.Text
			}
			r.Evidence = append(r.Evidence, e)
		}
	}
	r.Add(measure.Exactly("images", "images", float64(len(t.set.numbers)), measure.Neither, 0), torn,
		measure.Between("torn", "fraction", n/all, n/(all+lost), (n+lost)/(all+lost), measure.Lower, 0.05),
		measure.Between("other_frames", "frames", float64(t.other), float64(t.other), float64(t.other)+lost,
			measure.Neither, 0))
	r.Series = append(r.Series, row)
	if t.other > 0 {
		r.Warnf("%d of %d frames show something else than the %d images, in some lines at least", t.other, t.frames,
			len(t.set.numbers))
	}
}

// String says which image lies where.
func (t Tear) String() string {
	parts := []string{fmt.Sprintf("image %d above line %d", t.Images[0], t.Rows[0])}
	for i, row := range t.Rows[:len(t.Rows)-1] {
		parts = append(parts, fmt.Sprintf("image %d from line %d to %d", t.Images[i+1], row, t.Rows[i+1]-1))
	}
	last := len(t.Rows) - 1
	return strings.Join(append(parts, fmt.Sprintf("image %d from line %d on", t.Images[last+1], t.Rows[last])), ", ")
}

// matcher knows which images each line of a frame matches. It belongs to one goroutine.
type matcher struct {
	*lineEqual
	set   *imageSet
	lines []uint16 // of the region: a bit per image
	empty []bool   // the line has no pixel that counts
	stale bool     // the lines have changed since shape
}

func newMatcher(c *measure.Case, set *imageSet) *matcher {
	r := c.Area.Region
	m := &matcher{lineEqual: newLineEqual(c), set: set, lines: make([]uint16, r.Height), empty: make([]bool, r.Height)}
	for y := range m.empty {
		m.empty[y] = !slices.ContainsFunc(c.Area.Line(r.Y+y), func(w uint64) bool { return w != 0 })
	}
	return m
}

// begin looks at a whole frame.
func (m *matcher) begin(i frame.Image) {
	for y := range m.lines {
		m.look(i, y)
	}
	m.stale = true
}

// update looks at the lines in which a frame differs from the one before.
func (m *matcher) update(f *measure.Frame) {
	for i := range f.Diff.Lines {
		m.look(f.Image, f.Diff.Lines[i].Y-m.area.Region.Y)
	}
}

func (m *matcher) look(i frame.Image, y int) {
	was := m.lines[y]
	m.lines[y] = 0
	for k, image := range m.set.images {
		if m.equal(image, i, m.area.Region.Y+y) {
			m.lines[y] |= 1 << k
		}
	}
	m.stale = m.stale || m.lines[y] != was
}

// shape is how a frame is made up of images.
type shape struct {
	whole  bool // one image matches all lines
	rows   []int
	images []int
}

// shape tells what the lines say. Going down, an image lasts for as long as there is one that
// matches all lines since it began.
func (m *matcher) shape() shape {
	m.stale = false
	const all = 1<<maxImages - 1
	s := shape{whole: true}
	now, row := uint16(all), 0
	for y, match := range m.lines {
		switch {
		case m.empty[y]:
			continue
		case match == 0:
			s.whole = false
			continue
		case now&match == 0:
			s.rows, s.images = append(s.rows, row), append(s.images, lowest(now))
			now = all
		}
		now &= match
		for row = m.area.Region.Y + y + 1; row-m.area.Region.Y < len(m.empty) && m.empty[row-m.area.Region.Y]; {
			row++
		}
	}
	if len(s.rows) > 0 {
		s.whole, s.images = false, append(s.images, lowest(now))
	}
	return s
}
