package checkerboard

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

const (
	minCell   = 4   // pixels a side, of a grid that is looked for
	maxCell   = 64  // of any grid
	minSpread = 16  // cells' worth of checkerboard that a frame must show for its grid to be taken
	gridLooks = 32  // frames that are decoded to find one, at most
	gridFresh = 256 // pixels that must be inside changes since the last one
	gridTries = 4   // grids that are tried on one
)

// pattern is the picture of undrawn areas. It is immutable and safe for several goroutines.
type pattern struct {
	image   frame.Image
	colours []uint32 // 0xRRGGBB: one, or those of a grid's cells by turns
	cell    int      // side of a cell in pixels; 0: one colour
	x, y    int      // corner of a cell of the first colour
	found   int      // frame in which it was found, or None
}

// newPattern draws a pattern in a layout's format.
func newPattern(l *frame.Layout, colours []uint32, cell, x, y int) *pattern {
	f := l.Format
	pix := make([]byte, 4*f.Width*f.Height)
	for row := range f.Height {
		for col := range f.Width {
			c := colours[0]
			if cell > 0 && (floorDiv(col-x, cell)+floorDiv(row-y, cell))&1 != 0 {
				c = colours[1]
			}
			p := pix[4*(row*f.Width+col):][:4]
			p[0], p[1], p[2], p[3] = byte(c), byte(c>>8), byte(c>>16), 255
		}
	}
	packed := make([]byte, l.Size)
	frame.NewPacker(l).BGRX(packed, pix)
	return &pattern{l.View(packed), colours, cell, x, y, measure.None}
}

func floorDiv(a, n int) int { return (a - mod(a, n)) / n }

// choosePattern returns the pattern that options name, or one that is found.
func choosePattern(c *measure.Case, o *Options) (*pattern, error) {
	for _, colour := range o.Colours {
		if colour > 0xffffff {
			return nil, fmt.Errorf("%#x is not a colour: 0xRRGGBB is wanted", colour)
		}
	}
	switch {
	case len(o.Colours) > 2:
		return nil, fmt.Errorf("%d colours: name one of undrawn areas, or two of a grid",
			len(o.Colours))
	case o.Cell < 0 || o.Cell > maxCell || o.Cell == 1:
		return nil, fmt.Errorf("a grid's cells have 2 to %d pixels a side, not %d", maxCell, o.Cell)
	case len(o.Colours) == 2 && o.Colours[0] == o.Colours[1]:
		return nil, errors.New("a grid has two different colours: name one if there is but one")
	case len(o.Colours) == 1:
		return newPattern(c.Layout, o.Colours, 0, 0, 0), nil
	case len(o.Colours) == 2 && o.Cell > 0:
		return newPattern(c.Layout, o.Colours, o.Cell, o.X%(2*o.Cell), o.Y%(2*o.Cell)), nil
	}
	return findGrid(c, o)
}

// findGrid looks for a grid in frames that lie evenly in the window, about two a second. One in
// which hardly anything is new since the last is left out.
func findGrid(c *measure.Case, o *Options) (*pattern, error) {
	frames := c.Window.End - c.Window.Start + 1
	looks := min(frames, max(gridLooks/2, min(gridLooks, frames/30)))
	g := newGridSearch(c, o)
	var memory []byte // of the frame that is looked at
	fresh, done, k := measure.NewCover(c.Area), 0, 0
	for step, err := range c.Changes(c.Window.Start, c.Window.End+1) {
		if err != nil {
			return nil, err
		}
		if step.Number > c.Window.Start {
			fresh.Take(step.Change)
		}
		if step.Number < c.Window.Start+k*(frames-1)/max(1, looks-1) {
			continue
		}
		k++
		if step.Number > c.Window.Start && c.Area.Pixels-fresh.Pixels < gridFresh {
			continue
		}
		m, err := c.ImageInto(step.Number, &memory)
		if err != nil {
			return nil, &measure.UnreadableError{Frame: step.Number, Err: err}
		}
		if p := g.find(m); p != nil {
			p.found = step.Number
			return p, nil
		}
		fresh.Restart()
		done++
	}
	return nil, fmt.Errorf("no checkerboard of two colours was found (frames looked at: %d): "+
		"name its colours and the side of its cells, or the one colour of undrawn areas", done)
}

// gridSearch looks for a grid in images.
type gridSearch struct {
	*measure.Case
	cell  int // 0: any
	conv  *frame.Converter
	line  []byte // where colours have to be converted
	only  []uint32
	votes map[gridVote]*gridSight
}

// gridVote is a side and a phase of cells in x, and gridSight where they were seen.
type gridVote struct{ cell, phase int }
type gridSight struct{ count, x, y int }

func newGridSearch(c *measure.Case, o *Options) *gridSearch {
	g := &gridSearch{Case: c, cell: o.Cell, conv: frame.NewConverter(c.Layout), line: make([]byte,
		4*c.Area.Region.Width),
		votes: map[gridVote]*gridSight{}}
	for _, colour := range o.Colours { // as they look in this format
		g.only = append(g.only, colourAt(g.conv, newPattern(c.Layout, []uint32{colour}, 0, 0, 0).image, 0, 0))
	}
	return g
}

// colourAt returns a pixel as 0xRRGGBB.
func colourAt(conv *frame.Converter, m frame.Image, x, y int) uint32 {
	var p [4]byte
	conv.RGBARow(p[:], m, y, x, x+1)
	return uint32(p[0])<<16 | uint32(p[1])<<8 | uint32(p[2])
}

// alike reports whether two colours are the same within the tolerance.
func (g *gridSearch) alike(a, b uint32) bool {
	tau := g.Tolerance
	for shift := 0; shift < 24; shift += 8 {
		if d := int(a>>shift&0xff) - int(b>>shift&0xff); d > tau || -d > tau {
			return false
		}
	}
	return true
}

// find returns the grid of an image, or nil. In every fourth line it finds runs of three equal
// lengths with two alternating colours. The colours must be swapped above or below. It tries the
// most frequent sides and phases first. One is right if enough of the image is then checkerboard.
func (g *gridSearch) find(m frame.Image) *pattern {
	clear(g.votes)
	r := g.Area.Region
	for y := r.Y + minCell/2; y < r.Y+r.Height; y += minCell {
		g.scan(m, y)
	}
	for range gridTries {
		var best gridVote
		for v, s := range g.votes {
			if b := g.votes[best]; b == nil || s.count > b.count || s.count == b.count &&
				(s.y < b.y || s.y == b.y && s.x < b.x) {
				best = v
			}
		}
		s := g.votes[best]
		if s == nil {
			return nil
		}
		delete(g.votes, best)
		if p := g.grid(m, best.cell, s.x, s.y); p != nil {
			mask := newMask(g.Case, p)
			mask.begin(m)
			if mask.pixels >= minSpread*p.cell*p.cell {
				return p
			}
		}
	}
	return nil
}

// scan votes for what a line shows. Most lines have no grid, and video has a stretch for each of
// its pixels: so little is done with one before its length is known to be that of its neighbours.
func (g *gridSearch) scan(m frame.Image, y int) {
	r := g.Area.Region
	line := g.conv.Colours(g.line, m, y, r.X, r.X+r.Width)
	var a, b, c stretch // the three before the newest: these have both their ends in the line, but for the first
	for x := 0; x < r.Width; {
		newest := g.stretch(line, x)
		x = newest.to
		cell := b.to - b.from
		if cell >= minCell && cell <= maxCell && a.from > 0 && a.to-a.from == cell && c.to-c.from == cell {
			g.vote(m, y, &a, &b, &c)
		}
		a, b, c = b, c, newest
	}
}

// stretch is pixels [from, to) of a line of the region, which have one colour.
type stretch struct{ from, to int }

// stretch returns the one that begins at a pixel.
func (g *gridSearch) stretch(line []byte, from int) stretch {
	const samples = 0xffffff
	colour, to := binary.LittleEndian.Uint32(line[4*from:])&samples, from+1
	for ; 4*to < len(line); to++ {
		next := binary.LittleEndian.Uint32(line[4*to:]) & samples
		if next != colour && (g.Tolerance == 0 || !g.alike(colour, next)) {
			break
		}
	}
	return stretch{from, to}
}

// vote takes three stretches of one length for a grid's cells, if their colours are those of one.
func (g *gridSearch) vote(m frame.Image, y int, a, b, c *stretch) {
	x, cell := g.Area.Region.X, b.to-b.from
	own, left, right := colourAt(g.conv, m, x+b.from, y), colourAt(g.conv, m, x+a.from, y),
		colourAt(g.conv, m, x+c.from, y)
	if !g.alike(left, right) || g.alike(left, own) || !g.wanted(left, own, cell) ||
		!g.turns(m, x+b.from+cell/2, y, cell, left, own) {
		return
	}
	v := gridVote{cell, (x + b.from) % cell}
	if g.votes[v] == nil {
		g.votes[v] = &gridSight{x: x + b.from, y: y}
	}
	g.votes[v].count++
}

// wanted reports whether options allow for a grid.
func (g *gridSearch) wanted(a, b uint32, cell int) bool {
	if g.cell != 0 && g.cell != cell {
		return false
	}
	switch len(g.only) {
	case 0:
		return true
	case 1:
		return g.alike(a, g.only[0]) || g.alike(b, g.only[0])
	}
	return g.alike(a, g.only[0]) && g.alike(b, g.only[1]) || g.alike(a, g.only[1]) && g.alike(b, g.only[0])
}

// turns reports whether a cell above or below three cells has the colours the other way round. The
// middle one holds x, y and is of colour b.
func (g *gridSearch) turns(m frame.Image, x, y, cell int, a, b uint32) bool {
	r := g.Area.Region
	for _, k := range [2]int{y - cell, y + cell} {
		if k >= r.Y && k < r.Y+r.Height &&
			g.alike(colourAt(g.conv, m, x, k), a) && g.alike(colourAt(g.conv, m, x-cell, k), b) &&
			g.alike(colourAt(g.conv, m, x+cell, k), b) {
			return true
		}
	}
	return false
}

// grid returns the grid with a cell that begins at column x and contains line y.
func (g *gridSearch) grid(m frame.Image, cell, x, y int) *pattern {
	r := g.Area.Region
	middle := x + cell/2
	own, other := colourAt(g.conv, m, middle, y), colourAt(g.conv, m, middle-cell, y)
	top, bottom := y, y+1
	for top > r.Y && y-top < cell && g.alike(own, colourAt(g.conv, m, middle, top-1)) {
		top--
	}
	for bottom < r.Y+r.Height && bottom-y < cell && g.alike(own, colourAt(g.conv, m, middle, bottom)) {
		bottom++
	}
	switch {
	case top > r.Y && g.alike(other, colourAt(g.conv, m, middle, top-1)):
	case bottom < r.Y+r.Height && g.alike(other, colourAt(g.conv, m, middle, bottom)):
		top = bottom - cell
	default:
		return nil
	}
	colours := []uint32{own, other}
	if g.Tolerance > 0 {
		colours = []uint32{g.mean(m, x, y, cell), g.mean(m, x-cell, y, cell)}
	}
	return newPattern(g.Layout, colours, cell, x, top)
}

// mean returns the mean colour of some pixels of a line.
func (g *gridSearch) mean(m frame.Image, x, y, n int) (colour uint32) {
	var sum [3]int
	for i := range n {
		c := colourAt(g.conv, m, x+i, y)
		for k := range sum {
			sum[k] += int(c >> (8 * k) & 0xff)
		}
	}
	for k, s := range sum {
		colour |= uint32((s+n/2)/n) << (8 * k)
	}
	return colour
}
