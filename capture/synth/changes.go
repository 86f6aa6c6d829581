package synth

// differ reports whether two lists of blits paint different frames. Rows that only equal blits
// touch are equal. It compares the other rows, up to the first difference.
func (g *geometry) differ(a, b []blit) bool {
	var touched []rect
	for i := range max(len(a), len(b)) {
		if i < len(a) && i < len(b) && a[i] == b[i] {
			continue
		}
		for _, list := range [][]blit{a, b} {
			if i < len(list) {
				if l := list[i]; g.clip(&l) {
					touched = append(touched, rect{l.dx, l.dy, l.w, l.h})
				}
			}
		}
	}
	if len(touched) == 0 {
		return false
	}
	rowA, rowB := make([]byte, g.widest()), make([]byte, g.widest())
	for y := range g.layout.Rows {
		r := &g.layout.Rows[y]
		if !g.touches(touched, y) {
			continue
		}
		g.paintRow(rowA[:r.Bytes], y, a)
		g.paintRow(rowB[:r.Bytes], y, b)
		if !g.layout.RowEqual(y, rowA[:r.Bytes], rowB[:r.Bytes]) {
			return true
		}
	}
	return false
}

func (g *geometry) touches(areas []rect, y int) bool {
	r := &g.layout.Rows[y]
	smp := g.parts[r.Plane]
	for _, a := range areas {
		if r.Y >= smp.rowAt(a.y) && r.Y < smp.rowsTo(a.y+a.h) {
			return true
		}
	}
	return false
}

func (g *geometry) widest() int {
	n := 0
	for i := range g.layout.Rows {
		n = max(n, g.layout.Rows[i].Bytes)
	}
	return n
}

// changes returns the frames of a scene that differ from the one before, from frame 1 up to end.
func (g *geometry) changes(draw drawFunc, end uint64) []Run {
	var runs []Run
	before, now := draw(0, nil), []blit(nil)
	for n := uint64(1); n < end; n++ {
		now = draw(n, now[:0])
		if g.differ(before, now) {
			runs = addToRuns(runs, n)
		}
		before, now = now, before
	}
	return runs
}

// addToRuns adds a frame behind all others.
func addToRuns(runs []Run, n uint64) []Run {
	if len(runs) > 0 && runs[len(runs)-1].End == n {
		runs[len(runs)-1].End++
		return runs
	}
	return append(runs, Run{n, n + 1})
}
