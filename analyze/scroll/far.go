package scroll

import (
	"slices"

	"github.com/eideticker/eideticker/analyze/measure"
)

// # Equal rows and columns
//
// Phase correlation finds displacements up to half of its length, and fewer if little of the
// content stays visible. A page turned by a key, or a late browser, moves further. Such content is
// found by its rows. Rows of a strip in the middle that differ from all others of the previous
// frame vote for the distance to their new place. Columns do likewise. This finds up to 7/8 of the
// height or width, if 8 or more agree. It finds exact displacements only.
const (
	farStrip = 512 // pixels of a row, or of a column, that are looked at
	farParts = 8
)

// equals finds content at one place in one picture and at another in the other. Its memory is
// reused for each frame.
type equals struct {
	before, now []mark
	at          map[uint64]int // where in the frame before; negative: at several places
	votes       map[int]int
}

// mark is what a row or column looks like.
type mark struct {
	hash  uint64
	last  byte
	plain bool // of one colour
}

const (
	fnvOffset = 14695981039346656037 // Fowler, Noll and Vo: FNV-1a of 64 bits
	fnvPrime  = 1099511628211
)

func (k *mark) add(v byte, first bool) {
	if first {
		*k = mark{hash: fnvOffset, last: v, plain: true}
	}
	k.plain = k.plain && v == k.last
	k.hash = (k.hash ^ uint64(v)) * fnvPrime
}

// farRows finds vertical displacements.
func (m *estimator) farRows(b measure.Rect) (found []candidate) {
	w := min(b.X1-b.X0, farStrip)
	x := b.X0 + (b.X1-b.X0-w)/2
	e := m.equals.begin(b.Y1 - b.Y0)
	for y := b.Y0; y < b.Y1; y++ {
		e.before[y-b.Y0].row(m.before.part(y, x, w))
		e.now[y-b.Y0].row(m.now.part(y, x, w))
	}
	for _, dy := range e.found() {
		found = append(found, candidate{dy: dy})
	}
	return found
}

// farColumns finds horizontal ones.
func (m *estimator) farColumns(b measure.Rect) (found []candidate) {
	w, h := b.X1-b.X0, min(b.Y1-b.Y0, farStrip)
	y := b.Y0 + (b.Y1-b.Y0-h)/2
	e := m.equals.begin(w)
	for i := range h {
		columns(e.before, m.before.part(y+i, b.X0, w), i == 0)
		columns(e.now, m.now.part(y+i, b.X0, w), i == 0)
	}
	for _, dx := range e.found() {
		found = append(found, candidate{dx: dx})
	}
	return found
}

// begin makes room for n rows or columns.
func (e *equals) begin(n int) *equals {
	if e.at == nil {
		e.at, e.votes = map[uint64]int{}, map[int]int{}
	}
	clear(e.at)
	clear(e.votes)
	e.before, e.now = slices.Grow(e.before[:0], n)[:n], slices.Grow(e.now[:0], n)[:n]
	return e
}

func (k *mark) row(luma []byte) {
	for x, v := range luma {
		k.add(v, x == 0)
	}
}

// columns adds a line to the marks of its columns.
func columns(all []mark, luma []byte, first bool) {
	for x, v := range luma {
		all[x].add(v, first)
	}
}

// found returns the displacements with the most votes, those with the most first.
func (e *equals) found() (best []int) {
	for i := range e.before {
		k := &e.before[i]
		if _, twice := e.at[k.hash]; twice {
			e.at[k.hash] = -1
		} else if !k.plain {
			e.at[k.hash] = i
		}
	}
	for i := range e.now {
		k := &e.now[i]
		if from, ok := e.at[k.hash]; ok && from >= 0 && !k.plain &&
			farParts*max(i-from, from-i) <= (farParts-1)*len(e.now) {
			e.votes[i-from]++
		}
	}
	for d, n := range e.votes {
		if d != 0 && n >= minRows {
			best = append(best, d)
		}
	}
	slices.SortFunc(best, func(a, b int) int {
		if e.votes[a] != e.votes[b] {
			return e.votes[b] - e.votes[a]
		}
		return a - b
	})
	return best[:min(len(best), peaks)]
}
