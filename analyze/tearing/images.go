package tearing

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

const (
	maxImages  = 16 // of a set
	maxLooks   = 64 // frames that are decoded to find one
	maxClashes = 4  // pictures that are not disjoint from others, before the search is given up
)

// imageSet is images that are pairwise disjoint. It is not changed, and safe for several
// goroutines.
type imageSet struct {
	images  []frame.Image
	numbers []int // of frames that show them
}

// namedImages reads the images that frames are said to show, and checks that they are disjoint.
func namedImages(c *measure.Case, numbers []int) (*imageSet, error) {
	if most := maxSet(c); len(numbers) < 2 || len(numbers) > most {
		return nil, fmt.Errorf("%d images are named; tearing needs 2 to %d", len(numbers), most)
	}
	set := &imageSet{numbers: slices.Clone(numbers)}
	line := newLineEqual(c)
	for _, n := range numbers {
		if n < 0 || n >= c.Recording.Frames() {
			return nil, fmt.Errorf("frame %d is named as an image, and the recording has 0 to %d", n,
				c.Recording.Frames()-1)
		}
		m, err := c.Recording.Image(n)
		if err != nil {
			return nil, fmt.Errorf("frame %d, named as an image, cannot be read: %w", n, err)
		}
		if m.Layout.Format != c.Layout.Format {
			return nil, fmt.Errorf("frame %d, named as an image, is %v and the window is %v", n, m.Layout.Format,
				c.Layout.Format)
		}
		for k, other := range set.images {
			if x, y, clash := line.clash(other, m); clash {
				return nil, clashes(numbers[k], n, x, y)
			}
		}
		set.images = append(set.images, m)
	}
	return set, nil
}

func clashes(a, b, x, y int) error {
	return fmt.Errorf("frames %d and %d are not disjoint, they are equal at pixel %d,%d: name others, or leave what "+
		"they share out by a region or a mask", a, b, x, y)
}

// changeScan is what a window's changes say before any pixel is looked at.
type changeScan struct {
	states   []state // s, and the frames that may differ from the one before; the first maxLooks
	whole    bool    // every pixel that counts is inside some change
	unsure   int     // frames whose changes do not say which lines differ
	covering int     // frames whose changes reach over all pixels that count

	area *measure.Area
	left *measure.Cover
}

// state is a frame, and those behind it that are the same.
type state struct{ number, frames int }

func scanChanges(c *measure.Case) (*changeScan, error) {
	s := &changeScan{area: c.Area, left: measure.NewCover(c.Area)}
	for step, err := range c.Changes(c.Window.Start, c.Window.End+1) {
		if err != nil {
			return nil, err
		}
		s.add(step)
	}
	s.whole = s.left.Pixels == 0
	s.states = s.states[:min(len(s.states), maxLooks)]
	return s, nil
}

// add takes the next frame, the first of which is s.
func (s *changeScan) add(step *frame.Step) {
	if len(s.states) > 0 {
		if s.area.Unchanged(step.Change) {
			s.states[len(s.states)-1].frames++
			return
		}
		if r := possibleReach(s.area, step.Change); !r.certain() {
			s.unsure++
		}
		if s.area.Covers(step.Change) {
			s.covering++
		}
		s.left.Take(step.Change)
	}
	if len(s.states) <= maxLooks { // one more than is looked at takes the rest's count
		s.states = append(s.states, state{step.Number, 1})
	}
}

// picture is what some frames show.
type picture struct {
	image         frame.Image
	number, shown int // first frame, and how many there are
}

// findImages looks for a disjoint set. Without one it says why.
func findImages(c *measure.Case, scan *changeScan) (set *imageSet, why string, err error) {
	if !scan.whole {
		return nil, "a part of the picture never changes, so no two frames are disjoint", nil
	}
	g := gallery{lineEqual: newLineEqual(c), most: maxSet(c)}
	for _, s := range scan.states {
		m, err := c.Image(s.number)
		if err != nil {
			return nil, "", &measure.UnreadableError{Frame: s.number, Err: err}
		}
		if why := g.add(m, s); why != "" {
			return nil, why, nil
		}
	}
	set, why = g.set()
	return set, why, nil
}

// gallery collects pictures that differ from each other.
type gallery struct {
	*lineEqual
	all     []*picture
	most    int
	clashes int
}

// add takes a frame, and says why it is of no use to go on, if it is of none.
func (g *gallery) add(m frame.Image, s state) (why string) {
	i := slices.IndexFunc(g.all, func(p *picture) bool { return g.same(p.image, m) })
	if i < 0 {
		if len(g.all) == g.most {
			once := slices.IndexFunc(g.all, func(p *picture) bool { return p.shown == 1 })
			if once < 0 {
				return fmt.Sprintf("more than %d different pictures are shown in two frames or more", g.most)
			}
			g.all = slices.Delete(g.all, once, once+1)
		}
		i = len(g.all)
		g.all = append(g.all, &picture{image: m, number: s.number})
	}
	p := g.all[i]
	before := p.shown
	p.shown += s.frames
	if before > 1 || p.shown == 1 {
		return ""
	}
	return g.disjoint(p)
}

// disjoint compares a picture that is shown for the second time with the others. It returns the
// reason if too many are not disjoint.
func (g *gallery) disjoint(p *picture) (why string) {
	var others []*picture
	for _, q := range g.all {
		if q != p && q.shown > 1 {
			others = append(others, q)
		}
	}
	for _, q := range others {
		x, y, clash := g.clash(q.image, p.image)
		switch {
		case !clash:
			continue
		case g.torn(p, others):
			return ""
		case g.clashes == maxClashes:
			return notDisjoint(q, p, x, y)
		}
		g.clashes++
		return ""
	}
	return ""
}

func notDisjoint(p, q *picture, x, y int) string {
	a, b := min(p.number, q.number), max(p.number, q.number)
	return fmt.Sprintf("frames %d and %d, for one, are equal at pixel %d,%d and differ elsewhere", a, b, x, y)
}

// set makes a set of the pictures that were shown more than once, or says why they are none.
func (g *gallery) set() (*imageSet, string) {
	g.all = slices.DeleteFunc(g.all, func(p *picture) bool { return p.shown == 1 })
	slices.SortStableFunc(g.all,
		func(a, b *picture) int { return cmp.Or(cmp.Compare(b.shown, a.shown), cmp.Compare(a.number, b.number)) })
	var taken []*picture
	for _, p := range g.all {
		why, torn := "", false
		for _, q := range taken {
			if x, y, clash := g.clash(q.image, p.image); clash {
				why, torn = notDisjoint(q, p, x, y), g.torn(p, taken)
				break
			}
		}
		switch {
		case why == "":
			taken = append(taken, p)
		case !torn:
			return nil, why
		}
	}
	if len(taken) < 2 {
		return nil, "fewer than two different pictures are shown in two frames or more"
	}
	slices.SortFunc(taken, func(a, b *picture) int { return cmp.Compare(a.number, b.number) })
	return setOf(taken), ""
}

func setOf(pictures []*picture) *imageSet {
	set := new(imageSet)
	for _, p := range pictures {
		set.images, set.numbers = append(set.images, p.image), append(set.numbers, p.number)
	}
	return set
}

// torn reports whether each line of a picture is one of others'.
func (g *gallery) torn(p *picture, others []*picture) bool {
	r := g.area.Region
	for y := r.Y; y < r.Y+r.Height; y++ {
		if !slices.ContainsFunc(others, func(q *picture) bool { return g.equal(q.image, p.image, y) }) {
			return false
		}
	}
	return true
}

// lineEqual compares images line by line, as far as their pixels count. It belongs to one
// goroutine.
type lineEqual struct {
	area   *measure.Area
	differ *frame.Differ
	w0, w1 int // words of the region
	bits   []uint64
}

func newLineEqual(c *measure.Case) *lineEqual {
	r := c.Area.Region
	return &lineEqual{
		area: c.Area, differ: frame.NewDiffer(c.Layout, c.Tolerance),
		w0: r.X / 64, w1: (r.X + r.Width + 63) / 64, bits: make([]uint64, c.Area.Words),
	}
}

// equal reports whether no pixel of picture line y differs. It looks at a little of it first: most
// lines differ everywhere.
func (l *lineEqual) equal(a, b frame.Image, y int) bool {
	for from := l.w0; from < l.w1; {
		to := min(l.w1, 2*from-l.w0+1)
		l.differ.Line(l.bits, y, from, to, a, b)
		for i, counts := range l.area.Line(y)[from:to] {
			if l.bits[i]&counts != 0 {
				return false
			}
		}
		from = to
	}
	return true
}

func (l *lineEqual) same(a, b frame.Image) bool {
	r := l.area.Region
	for y := r.Y; y < r.Y+r.Height; y++ {
		if !l.equal(a, b, y) {
			return false
		}
	}
	return true
}

// clash returns a pixel in which two images do not differ, if there is one.
func (l *lineEqual) clash(a, b frame.Image) (x, y int, found bool) {
	r := l.area.Region
	for y := r.Y; y < r.Y+r.Height; y++ {
		l.differ.Line(l.bits, y, l.w0, l.w1, a, b)
		for i, counts := range l.area.Line(y)[l.w0:l.w1] {
			if same := ^l.bits[i] & counts; same != 0 {
				return 64*(l.w0+i) + bits.TrailingZeros64(same), y, true
			}
		}
	}
	return 0, 0, false
}

func lowest(set uint16) int { return bits.TrailingZeros16(set) }

// maxSet returns how many images a set may have. They are kept.
func maxSet(c *measure.Case) int {
	return max(2, min(maxImages, measure.FrameMemory/4/c.Layout.Size))
}
