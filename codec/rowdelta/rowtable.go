package rowdelta

// rowTable finds a row of a frame by its hash. The first row of a new frame that needs it builds
// it. It is valid for that frame. A generation marks stale entries, so the table need not be
// cleared per frame.
type rowTable struct {
	slots []rowSlot
	mask  uint64
	gen   uint32
	built bool
}

type rowSlot struct {
	gen uint32
	row int32
}

func newRowTable(rows int) rowTable {
	size := 8
	for size < 4*rows {
		size *= 2
	}
	return rowTable{slots: make([]rowSlot, size), mask: uint64(size - 1)}
}

func (t *rowTable) reset() { t.built = false }

func (t *rowTable) build(hashes []uint64) {
	t.built = true
	t.gen++
	if t.gen == 0 { // wrapped: slots of the first generations would look fresh
		clear(t.slots)
		t.gen = 1
	}
	for y, h := range hashes {
		i := h & t.mask
		for t.slots[i].gen == t.gen && hashes[t.slots[i].row] != h {
			i = (i + 1) & t.mask
		}
		if t.slots[i].gen != t.gen { // the first of several equal rows stays
			t.slots[i] = rowSlot{t.gen, int32(y)}
		}
	}
}

// find returns the first row whose hash is h, or -1.
func (t *rowTable) find(h uint64, hashes []uint64) int32 {
	if !t.built {
		t.build(hashes)
	}
	for i := h & t.mask; t.slots[i].gen == t.gen; i = (i + 1) & t.mask {
		if row := t.slots[i].row; hashes[row] == h {
			return row
		}
	}
	return -1
}
