package export

import (
	"math/bits"

	"github.com/eideticker/eideticker/capture/frame"
)

// pixelCounter counts the pixels in the spans of a change, each once. Samples inside a span may be
// equal, so the count is an upper bound of the changed pixels.
type pixelCounter struct {
	layout *frame.Layout
	words  int      // of a line
	set    []uint64 // a bit per pixel, line by line
	lines  []int    // that have bits
	marked []bool   // for each line: it is among lines
}

// start prepares for frames of a layout.
func (c *pixelCounter) start(l *frame.Layout) {
	f := l.Format
	*c = pixelCounter{layout: l, words: (f.Width + 63) / 64, marked: make([]bool, f.Height)}
	c.set = make([]uint64, c.words*f.Height)
}

func (c *pixelCounter) count(change *frame.Change) int {
	for _, s := range change.Spans {
		x0, y0, x1, y1 := c.layout.Rect(int(s.Row), int(s.Start), int(s.End))
		for y := y0; y < y1; y++ {
			c.mark(y, x0, x1)
		}
	}
	n := 0
	for _, y := range c.lines {
		line := c.line(y)
		for i, w := range line {
			n += bits.OnesCount64(w)
			line[i] = 0
		}
		c.marked[y] = false
	}
	c.lines = c.lines[:0]
	return n
}

func (c *pixelCounter) line(y int) []uint64 { return c.set[y*c.words : (y+1)*c.words] }

// mark sets the bits of pixels x0 ≤ x < x1 of a line.
func (c *pixelCounter) mark(y, x0, x1 int) {
	if !c.marked[y] {
		c.marked[y] = true
		c.lines = append(c.lines, y)
	}
	line := c.line(y)
	for x := x0; x < x1; {
		n := min(64-x%64, x1-x)
		line[x/64] |= (1<<n - 1) << (x % 64)
		x += n
	}
}
