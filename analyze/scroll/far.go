package scroll

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/eideticker/eideticker/analyze/measure"
)

// # Equal rows and columns
//
// Phase correlation finds displacements up to half of its length, and fewer if little of the
// content stays visible. A page turned by a key, or a late browser, moves further. Such content is
// found by its rows. Rows of a strip in the middle vote for the distance to their new place. A row
// that equals another one of the previous frame has no vote. Columns do likewise. This finds up to
// 7/8 of the height or width, if 8 or more agree. It finds exact displacements only.
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

// mark is what a row or column looks like. It is made of words of eight pixels.
type mark struct {
	hash  uint64
	first uint64
	plain bool // of one colour
}

const (
	everyByte = 0x0101010101010101   // of the bytes of a word
	markPrime = 0x9e3779b97f4a7c15   // 2⁶⁴ / golden ratio
	markStart = 14695981039346656037 // not zero, since that would last
)

func (k *mark) add(word uint64, first bool) {
	if first {
		*k = mark{hash: markStart, first: word, plain: word == word&0xff*everyByte}
	}
	k.plain = k.plain && word == k.first
	high, low := bits.Mul64(k.hash^word, markPrime)
	k.hash = high ^ low
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
	columns(e.before, &m.before, b.X0, y, h)
	columns(e.now, &m.now, b.X0, y, h)
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

// row marks a line. Its last word may overlap the one before.
func (k *mark) row(luma []byte) {
	if len(luma) < 8 {
		for x, v := range luma {
			k.add(uint64(v)*everyByte, x == 0)
		}
		return
	}
	for x := 0; x < len(luma); x += 8 {
		k.add(binary.LittleEndian.Uint64(luma[min(x, len(luma)-8):]), x == 0)
	}
}

// columns marks the columns from pixel x of the frame on, by h lines from line y on. The last words
// may overlap those before.
func columns(all []mark, l *lumas, x, y, h int) {
	if h < 8 {
		for i := range h {
			for c, v := range l.part(y+i, x, len(all)) {
				all[c].add(uint64(v)*everyByte, i == 0)
			}
		}
		return
	}
	for i := 0; i < h; i += 8 {
		var lines [8][]byte
		for k := range lines {
			lines[k] = l.part(y+min(i, h-8)+k, x, len(all))
		}
		c := 0
		for ; c+8 <= len(all); c += 8 {
			var words [8]uint64
			for k := range words {
				words[k] = binary.LittleEndian.Uint64(lines[k][c:])
			}
			transpose(&words)
			for k, word := range words {
				all[c+k].add(word, i == 0)
			}
		}
		for ; c < len(all); c++ {
			word := uint64(0)
			for k, line := range lines {
				word |= uint64(line[c]) << (8 * k)
			}
			all[c].add(word, i == 0)
		}
	}
}

// transpose makes columns of eight bytes of rows.
func transpose(w *[8]uint64) {
	for i := range 4 {
		t := (w[i]>>32 ^ w[i+4]) & 0x00000000ffffffff
		w[i], w[i+4] = w[i]^t<<32, w[i+4]^t
	}
	for _, i := range [...]int{0, 1, 4, 5} {
		t := (w[i]>>16 ^ w[i+2]) & 0x0000ffff0000ffff
		w[i], w[i+2] = w[i]^t<<16, w[i+2]^t
	}
	for i := 0; i < 8; i += 2 {
		t := (w[i]>>8 ^ w[i+1]) & 0x00ff00ff00ff00ff
		w[i], w[i+1] = w[i]^t<<8, w[i+1]^t
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
