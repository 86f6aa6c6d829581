package measure

import (
	"math/bits"

	"github.com/eideticker/eideticker/capture/frame"
)

// Diff is the pixels of an area in which two images differ. It is valid until it is made anew.
type Diff struct {
	// Lines are the lines in which anything changed, from top to bottom. Every pixel that changed
	// at all, whatever the tolerance, stands within the words of its line.
	Lines  []Line
	Pixels int // that differ beyond the tolerance
}

// Line is the difference in one line of the picture.
type Line struct {
	Y, Word int      // of the picture; number of the first word
	Bits    []uint64 // bit i of word w is pixel 64·(Word+w)+i, set where it counts and differs beyond the tolerance
}

// Differ makes diffs out of changes. It belongs to one goroutine and allocates nothing per frame.
type Differ struct {
	area  *Area
	pixel *frame.Differ
	first []int32 // of each picture line: the range of words that changed
	end   []int32
	bits  []uint64
	diff  Diff

	before, now frame.Image
	y, bottom   int // lines of the picture that are still to be compared
}

// BandLines is how many lines of the picture are compared before anybody looks at them: few enough
// that all who do find them still in a processor's own cache.
const BandLines = 32

// NewDiffer returns a differ of an area. Pixels differ beyond the tolerance.
func NewDiffer(a *Area, tolerance int) *Differ {
	f := a.Layout.Format
	return &Differ{
		area: a, pixel: frame.NewDiffer(a.Layout, tolerance),
		first: make([]int32, f.Height), end: make([]int32, f.Height),
		bits: make([]uint64, a.Words*f.Height),
	}
}

// Of returns the diff between two images that differ in nothing but a change. The result belongs to
// the differ until its next call.
func (d *Differ) Of(c *frame.Change, before, now frame.Image) *Diff {
	d.begin(c, before, now)
	for d.bandEnd() > 0 {
		d.band()
	}
	return &d.diff
}

// begin prepares a diff that is made band by band.
func (d *Differ) begin(c *frame.Change, before, now frame.Image) {
	d.diff.Lines, d.diff.Pixels = d.diff.Lines[:0], 0
	d.before, d.now = before, now
	d.y, d.bottom = 0, 0
	if len(c.Spans) > 0 {
		d.y, d.bottom = d.collect(c)
	}
}

// bandEnd returns where the next band ends in which something changed; 0 if there is none, and the
// diff is whole. Bands end at multiples of BandLines in the picture.
func (d *Differ) bandEnd() int {
	for d.y < d.bottom && d.first[d.y] >= d.end[d.y] {
		d.y++
	}
	if d.y >= d.bottom {
		return 0
	}
	return min(d.bottom, (d.y/BandLines+1)*BandLines)
}

// band compares the lines of the next band in which something changed, and returns them.
func (d *Differ) band() []Line {
	had := len(d.diff.Lines)
	for end := d.bandEnd(); d.y < end; d.y++ {
		if d.first[d.y] < d.end[d.y] {
			d.line(d.y)
		}
	}
	return d.diff.Lines[had:]
}

func (d *Differ) line(y int) {
	w0, w1 := int(d.first[y]), int(d.end[y])
	d.first[y], d.end[y] = 0, 0
	line := Line{Y: y, Word: w0, Bits: d.bits[y*d.area.Words+w0 : y*d.area.Words+w1]}
	d.pixel.Line(line.Bits, y, w0, w1, d.before, d.now)
	for i, counts := range d.area.Line(y)[w0:w1] {
		line.Bits[i] &= counts
		d.diff.Pixels += bits.OnesCount64(line.Bits[i])
	}
	d.diff.Lines = append(d.diff.Lines, line)
}

// collect notes which words of which lines of the region a change touches, and returns the range of
// lines.
func (d *Differ) collect(c *frame.Change) (top, bottom int) {
	top = d.area.Layout.Format.Height
	for _, s := range c.Spans {
		x0, y0, x1, y1 := d.area.Layout.Rect(int(s.Row), int(s.Start), int(s.End))
		for y := y0; y < y1; y++ {
			from, to, ok := d.area.Clip(y, x0, x1)
			if !ok {
				continue
			}
			w0, w1 := int32(from/64), int32((to+63)/64)
			if d.first[y] < d.end[y] {
				w0, w1 = min(w0, d.first[y]), max(w1, d.end[y])
			}
			d.first[y], d.end[y] = w0, w1
			top, bottom = min(top, y), max(bottom, y+1)
		}
	}
	return top, bottom
}

// certainly is the exact answer that spans alone give: whether two frames differ in a pixel that
// counts.
type certainly uint8

const (
	equal certainly = iota
	different
	unsure // a span reaches over pixels that count, and neither of its ends does
)

// Unchanged reports whether a change touches no pixel that counts.
func (a *Area) Unchanged(c *frame.Change) bool { return a.judge(c) == equal }

// judge looks at a change. A span's first and last byte differ; of those between nothing is known.
func (a *Area) judge(c *frame.Change) certainly {
	verdict := equal
	for _, s := range c.Spans {
		x0, y0, x1, y1 := a.Layout.Rect(int(s.Row), int(s.Start), int(s.End))
		for y := y0; y < y1; y++ {
			from, to, ok := a.Clip(y, x0, x1)
			if !ok {
				continue
			}
			if a.EndsCount(s, y, x0, x1) {
				return different
			}
			if verdict == equal && a.Any(y, from, to) {
				verdict = unsure
			}
		}
	}
	return verdict
}

// EndsCount reports whether a pixel at either end of a span counts. The span's outer bytes belong
// to all pixels of the chroma block there, and to no others. Blocks are wholly in the area or not
// at all.
func (a *Area) EndsCount(s frame.Span, y, x0, x1 int) bool {
	return a.Holds(x0, y) || a.Holds(x1-1, y)
}

// Any reports whether a pixel of [from, to) in line y counts.
func (a *Area) Any(y, from, to int) bool {
	if !a.Masked {
		return true
	}
	found := false
	line := a.Line(y)
	EachWord(from, to, func(w int, mask uint64) { found = found || line[w]&mask != 0 })
	return found
}

// WholeChange says that all may have changed.
func (a *Area) WholeChange() *frame.Change {
	c := new(frame.Change)
	for y, row := range a.Layout.Rows {
		c.Spans = append(c.Spans, frame.Span{Row: int32(y), End: int32(row.Seen)})
	}
	return c
}

// AbsDiff returns by how many levels two samples differ.
func AbsDiff(a, b byte) int { return max(int(a)-int(b), int(b)-int(a)) }
