// Package heatmap counts how often each pixel changed. It finds repeated drawing, so a pixel that
// is drawn once is not excess. Counts are bit planes, since most pixels change rarely and a frame
// of changes must cost little.
package heatmap

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/eideticker/eideticker/analyze/measure"
)

// # heatmap: heat map
//
// M[x][y] is the number of i, s < i ≤ e, in which pixel (x, y) of R changed. Masked pixels have
// none.
//
//	total_heat     Σ M;
//	excess_heat    Σ max(0, M − 1). A pixel that is drawn once adds nothing to it;
//	max_heat       max M;
//	changed        pixels with M > 0, of all that count.
//
// Evidence are the hottest tiles. R is cut into tiles of 64x64 pixels from its corner on. The five
// with the most heat are named. Of equal ones, the upper and then the left one comes first.
// Result.Heat is M.
//
// Let L frames be lost between two stored ones. A pixel that is equal in both changed 0 to L + 1
// times. A pixel that differs changed 1 to L + 1 times. Frames lost before s, or between e and r,
// add up to L changes of each pixel.
func Measure() measure.Measure {
	return measure.Measure{Name: "heatmap", Version: 1, Pixels: true, Begin: func(c *measure.Case) (measure.Part,
		error) {
		return newPart(c),
			nil
	},
		Values: []string{"total_heat", "excess_heat", "max_heat", "changed"}}
}

const (
	tileSide     = 64 // pixels
	hottestTiles = 5  // tiles that are named
)

type part struct {
	*measure.Case
	lines []tally // of the region, from its top
	gaps  int     // changes of each pixel that may have been, in the gaps
	seen  int     // pixels that are known to have changed over a gap
}

func newPart(c *measure.Case) *part {
	return &part{Case: c, lines: make([]tally, c.Area.Region.Height)}
}

func (p *part) Fork() measure.Part { return newPart(p.Case) }

func (p *part) Add(f *measure.Frame) {
	if f.Number == p.Window.Start {
		p.gaps += f.Lost
		return
	}
	if f.Lost > 0 {
		p.gaps += f.Lost + 1
		p.seen += f.Diff.Pixels
	}
	for i := range f.Diff.Lines {
		l := &f.Diff.Lines[i]
		p.lines[l.Y-p.Area.Region.Y].add(l.Bits, l.Word, p.Area.Words)
	}
}

func (p *part) Merge(next measure.Part) {
	n := next.(*part)
	for y := range p.lines {
		p.lines[y].merge(n.lines[y])
	}
	p.gaps += n.gaps
	p.seen += n.seen
}

// tally counts the changes of each pixel of a line, 64 pixels at once. Word w of level k holds bit
// k of the counts of pixels 64·w on. A line without changes takes no memory. A line that changes
// everywhere n times takes log2(n) bits a pixel. Counting such a change takes two steps a word on
// average.
type tally [][]uint64

// add counts one change of each pixel that is set in bits, which begin at word first of a line.
func (t *tally) add(bits []uint64, first, words int) {
	for i, carry := range bits {
		for k := 0; carry != 0; k++ {
			if k == len(*t) {
				*t = append(*t, make([]uint64, words))
			}
			level := &(*t)[k][first+i]
			carry, *level = carry&*level, carry^*level
		}
	}
}

// merge adds what another line has counted.
func (t *tally) merge(n tally) {
	if len(*t) < len(n) {
		*t, n = n, *t
	}
	if len(n) == 0 {
		return
	}
	for w := range n[0] {
		carry := uint64(0)
		for k := 0; k < len(n) || carry != 0; k++ {
			if k == len(*t) {
				*t = append(*t, make([]uint64, len(n[0])))
			}
			a, b := (*t)[k][w], uint64(0)
			if k < len(n) {
				b = n[k][w]
			}
			(*t)[k][w] = a ^ b ^ carry
			carry = a&b | carry&(a|b)
		}
	}
}

// counts writes the counts of pixels x0 on, as many as dst holds.
func (t tally) counts(dst []uint32, x0 int) {
	for k, level := range t {
		measure.EachWord(x0, x0+len(dst), func(w int, mask uint64) {
			for left := level[w] & mask; left != 0; left &= left - 1 {
				dst[64*w+bits.TrailingZeros64(left)-x0] |= 1 << k
			}
		})
	}
}

func (p *part) Result() measure.Result {
	behind, _ := p.LostAtEnd()
	p.gaps += behind
	r := p.Area.Region
	heat := &measure.Heat{X: r.X, Y: r.Y, Width: r.Width, Height: r.Height, Counts: make([]uint32, r.Width*r.Height)}
	total, changed, most := p.counts(heat)
	size, gaps := float64(p.Area.Pixels), float64(p.gaps)
	totalHigh, excessHigh, changedHigh := total, total-changed, changed
	if p.gaps > 0 { // then every pixel may have changed, and as often as there were chances
		changedHigh = size
		totalHigh = total - float64(p.seen) + size*gaps
		excessHigh = totalHigh - size
	}
	return measure.Result{
		Heat: heat,
		Values: []measure.Value{
			measure.Between("total_heat", "changes", total, total, totalHigh, measure.Lower, 0.05),
			measure.Between("excess_heat", "changes", total-changed, total-changed, excessHigh, measure.Lower, 0.05),
			measure.Between("max_heat", "changes", most, most, most+gaps, measure.Lower, 0.05),
			measure.Between("changed", "fraction", changed/size, changed/size, changedHigh/size, measure.Neither, 0.05),
		},
		Evidence: p.hottest(heat),
	}
}

// counts fills in M. It returns Σ M, the pixels with M > 0 and max M.
func (p *part) counts(heat *measure.Heat) (total, changed, most float64) {
	var sum, some uint64
	var highest uint32
	for y := range p.lines {
		if len(p.lines[y]) == 0 {
			continue
		}
		row := heat.Counts[y*heat.Width : (y+1)*heat.Width]
		p.lines[y].counts(row, heat.X)
		for _, n := range row {
			sum += uint64(n)
			highest = max(highest, n)
			some += (uint64(n) + 1<<32 - 1) >> 32
		}
	}
	return float64(sum), float64(some), float64(highest)
}

// hottest names the tiles with the most heat.
func (p *part) hottest(h *measure.Heat) []measure.Evidence {
	type tile struct {
		x, y int // of its corner, within the region
		heat uint64
	}
	across := (h.Width + tileSide - 1) / tileSide
	var tiles []tile
	for y := 0; y < h.Height; y++ {
		if y%tileSide == 0 {
			for i := range across {
				tiles = append(tiles, tile{x: i * tileSide, y: y})
			}
		}
		row := tiles[len(tiles)-across:]
		if len(p.lines[y]) == 0 {
			continue
		}
		for x, n := range h.Counts[y*h.Width : (y+1)*h.Width] {
			row[x/tileSide].heat += uint64(n)
		}
	}
	slices.SortStableFunc(tiles, func(a, b tile) int { return cmp.Compare(b.heat, a.heat) })
	var found []measure.Evidence
	for _, t := range tiles[:min(hottestTiles, len(tiles))] {
		if t.heat == 0 {
			break
		}
		w, height := min(tileSide, h.Width-t.x), min(tileSide, h.Height-t.y)
		found = append(found, measure.Evidence{
			Kind: "hot", Frame: p.Window.End, Region: []int{h.X + t.x, h.Y + t.y, w, height},
			Text: fmt.Sprintf("%d changes in a tile of %dx%d pixels: %.1f a pixel", t.heat, w, height,
				float64(t.heat)/float64(w*height)),
		})
	}
	return found
}
