package rowdelta

// Widen fills d with delta src and widens stored spans. Rows one below the other then store the
// same bytes where that costs little. Predictions need such rows. Only stored bytes differ, not
// what looks different. The places are those of the frame before.
func (p *Places) Widen(src, d *Delta) {
	d.reset()
	g := &p.wide
	*g = group{places: p, src: src, d: d, runs: g.runs[:0]}
	for i := range src.Runs {
		r := &src.Runs[i]
		if r.Kind != New || r.Moved.n > 0 {
			g.flush()
		}
		switch {
		case r.Kind == Same:
			d.addSame(r.Row, r.Rows)
		case r.Kind == Copied:
			c := *r
			c.Seen = d.push(src.spans(r.Seen)...)
			d.Runs = append(d.Runs, c)
		case r.Moved.n > 0:
			for y := r.Row; y < r.Row+r.Rows; y++ {
				p.addFitting(d, y, src.MovedSpans(r), src.spans(r.Stored), src.spans(r.Seen))
			}
		default:
			for y := r.Row; y < r.Row+r.Rows; y++ {
				g.add(y, r)
			}
		}
	}
	g.flush()
}

// addFitting extends d by a row that must not fall into too many pieces.
func (p *Places) addFitting(d *Delta, y int32, moved []Moved, stored, seen []Span) {
	rows := p.layout.Rows
	d.cut = y > 0 && rows[y].Bytes != rows[y-1].Bytes
	var spans [MaxSpans]Span
	n := p.fit(int(y), moved, &spans, copy(spans[:], stored))
	if n > 0 && int(spans[0].End-spans[0].Start) == rows[y].Bytes {
		moved = nil
	}
	d.addNew(y, moved, spans[:n], seen)
}

// group is rows that follow each other and might store the same span.
type group struct {
	places *Places
	src, d *Delta
	first  int32
	runs   []*Run // of each row
	all    Span   // with the stored bytes of all rows
	bytes  int    // that are stored
}

// add takes in row y of run r. It ends the group before if one span for all would cost too much.
func (g *group) add(y int32, r *Run) {
	rows := g.places.layout.Rows
	stored := g.src.spans(r.Stored)
	if len(stored) == 0 { // only a hostile recording has such a row
		g.flush()
		g.places.addFitting(g.d, y, nil, nil, g.src.spans(r.Seen))
		return
	}
	mine := Span{stored[0].Start, stored[len(stored)-1].End}
	bytes := 0
	for _, s := range stored {
		bytes += int(s.End - s.Start)
	}
	if n := len(g.runs); n > 0 {
		all := Span{min(g.all.Start, mine.Start), max(g.all.End, mine.End)}
		const slack = 32 // bytes a row
		if int(all.End-all.Start)*(n+1) <= (g.bytes+bytes)*3/2+slack*(n+1) &&
			rows[y].Bytes == rows[y-1].Bytes && rows[y].Plane == rows[y-1].Plane {
			g.all, g.bytes, g.runs = all, g.bytes+bytes, append(g.runs, r)
			return
		}
		g.flush()
	}
	g.first, g.all, g.bytes, g.runs = y, mine, bytes, append(g.runs, r)
}

// flush adds the group's rows to the delta.
func (g *group) flush() {
	l := g.places.layout
	if len(g.runs) > 1 { // whole samples
		step := int32(sampleStep(l, int(g.first)))
		g.all.Start -= g.all.Start % step
		g.all.End = min((g.all.End+step-1)/step*step, int32(l.Rows[g.first].Bytes))
	}
	for i, r := range g.runs {
		stored := g.src.spans(r.Stored)
		if len(g.runs) > 1 {
			stored = []Span{g.all}
		}
		g.places.addFitting(g.d, g.first+int32(i), nil, stored, g.src.spans(r.Seen))
	}
	g.runs = g.runs[:0]
}

// Unchain fills d with the bytes of all blocks for which chained is true. Nothing of them
// looks different. It reports whether there are any.
func (p *Places) Unchain(d *Delta, chained func(block int64) bool) bool {
	var src Delta
	for y := range p.rows {
		var s Span
		row := p.rows[y].pieces()
		for i, q := range row {
			if !chained(q.Block) {
				continue
			}
			if s.End == 0 {
				s.Start = q.Start
			}
			s.End = int32(p.layout.Rows[y].Bytes)
			if i+1 < len(row) {
				s.End = row[i+1].Start
			}
		}
		if src.cut = true; s.End > 0 {
			src.addNew(int32(y), nil, []Span{s}, nil)
		} else {
			src.addSame(int32(y), 1)
		}
	}
	p.Widen(&src, d)
	return d.Raw > 0
}
