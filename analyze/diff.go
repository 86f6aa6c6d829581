package analyze

import (
	"math/bits"

	"github.com/eideticker/eideticker/capture/frame"
)

// diff is the pixels of an area in which two images differ. It is valid until it is made anew.
type diff struct {
	// Lines are the lines in which anything changed, from top to bottom. Every pixel that changed
	// at all, whatever the tolerance, stands within the words of its line.
	Lines  []line
	Pixels int // that differ beyond the tolerance
}

// line is the difference in one line of the picture.
type line struct {
	Y, Word int      // of the picture; number of the first word
	Bits    []uint64 // bit i of word w is pixel 64·(Word+w)+i, set where it counts and differs beyond the tolerance
}

// differ makes diffs out of changes. It belongs to one goroutine and allocates nothing per frame.
type differ struct {
	area  *Area
	pixel *frame.Differ
	first []int32 // of each picture line: the range of words that changed
	end   []int32
	bits  []uint64
	diff  diff

	before, now frame.Image
	y, bottom   int // lines of the picture that are still to be compared
}

// bandLines is how many lines of the picture are compared before anybody looks at them: few enough
// that all who do find them still in a processor's own cache.
const bandLines = 32

func newDiffer(a *Area, tolerance int) *differ {
	f := a.Layout.Format
	return &differ{
		area: a, pixel: frame.NewDiffer(a.Layout, tolerance),
		first: make([]int32, f.Height), end: make([]int32, f.Height),
		bits: make([]uint64, a.words*f.Height),
	}
}

// of returns the diff between two images that differ in nothing but a change. The result belongs to
// the differ until its next call.
func (d *differ) of(c *frame.Change, before, now frame.Image) *diff {
	d.begin(c, before, now)
	for d.bandEnd() > 0 {
		d.band()
	}
	return &d.diff
}

// begin prepares a diff that is made band by band.
func (d *differ) begin(c *frame.Change, before, now frame.Image) {
	d.diff.Lines, d.diff.Pixels = d.diff.Lines[:0], 0
	d.before, d.now = before, now
	d.y, d.bottom = 0, 0
	if len(c.Spans) > 0 {
		d.y, d.bottom = d.collect(c)
	}
}

// bandEnd returns where the next band ends in which something changed; 0 if there is none, and the
// diff is whole. Bands end at multiples of bandLines in the picture.
func (d *differ) bandEnd() int {
	for d.y < d.bottom && d.first[d.y] >= d.end[d.y] {
		d.y++
	}
	if d.y >= d.bottom {
		return 0
	}
	return min(d.bottom, (d.y/bandLines+1)*bandLines)
}

// band compares the lines of the next band in which something changed, and returns them.
func (d *differ) band() []line {
	had := len(d.diff.Lines)
	for end := d.bandEnd(); d.y < end; d.y++ {
		if d.first[d.y] < d.end[d.y] {
			d.line(d.y)
		}
	}
	return d.diff.Lines[had:]
}

func (d *differ) line(y int) {
	w0, w1 := int(d.first[y]), int(d.end[y])
	d.first[y], d.end[y] = 0, 0
	line := line{Y: y, Word: w0, Bits: d.bits[y*d.area.words+w0 : y*d.area.words+w1]}
	d.pixel.Line(line.Bits, y, w0, w1, d.before, d.now)
	for i, counts := range d.area.line(y)[w0:w1] {
		line.Bits[i] &= counts
		d.diff.Pixels += bits.OnesCount64(line.Bits[i])
	}
	d.diff.Lines = append(d.diff.Lines, line)
}

// collect notes which words of which lines of the region a change touches, and returns the range of
// lines.
func (d *differ) collect(c *frame.Change) (top, bottom int) {
	top = d.area.Layout.Format.Height
	for _, s := range c.Spans {
		x0, y0, x1, y1 := d.area.Layout.Rect(int(s.Row), int(s.Start), int(s.End))
		for y := y0; y < y1; y++ {
			from, to, ok := d.area.clip(y, x0, x1)
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

// judge looks at a change. A span's first and last byte differ; of those between nothing is known.
func (a *Area) judge(c *frame.Change) certainly {
	verdict := equal
	for _, s := range c.Spans {
		x0, y0, x1, y1 := a.Layout.Rect(int(s.Row), int(s.Start), int(s.End))
		for y := y0; y < y1; y++ {
			from, to, ok := a.clip(y, x0, x1)
			if !ok {
				continue
			}
			if a.endsCount(s, y, x0, x1) {
				return different
			}
			if verdict == equal && a.any(y, from, to) {
				verdict = unsure
			}
		}
	}
	return verdict
}

// endsCount reports whether a pixel at either end of a span counts. The span's outer bytes belong
// to all pixels of the chroma block there, and to no others. Blocks are wholly in the area or not
// at all.
func (a *Area) endsCount(s frame.Span, y, x0, x1 int) bool {
	return a.Holds(x0, y) || a.Holds(x1-1, y)
}

func (a *Area) any(y, from, to int) bool {
	if !a.masked {
		return true
	}
	found := false
	line := a.line(y)
	eachWord(from, to, func(w int, mask uint64) { found = found || line[w]&mask != 0 })
	return found
}
