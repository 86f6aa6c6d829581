package synth

import "slices"

// # strip
//
// A page that draws the code strip of package analyze/strip and whose frames have scripted faults.
// A frame may be drawn and never shown, shown twice, shown out of order, or shown in some rows
// only. The strip is drawn here from its definition, without the code that reads it. So each checks
// the other.
//
// Ids continue from cycle to cycle, modulo 2²⁴; every third seed begins a little below that. A
// column at the right changes with the id too, so frames do not differ in the strip alone. A strip
// that does not fit into the frame, or would cut chroma blocks, is not drawn. The truth omits it.

const (
	stripFrames = 96 // of a cycle
	stripColumn = 32 // pixels
	stripIDs    = 1 << 24
)

// Strip says what the code strip of each frame says. Numbers are of the first cycle; in the c-th
// cycle behind it, ids are higher by c·Drawn, modulo 2²⁴.
type Strip struct {
	Page       uint8        `json:"page"`
	First      uint32       `json:"first_id"`
	Drawn      uint32       `json:"drawn"`        // how many ids the page draws
	Frames     []StripFrame `json:"frames"`       // what each frame shows
	Unseen     []uint32     `json:"unseen"`       // ids that no frame shows
	Runts      []uint32     `json:"runts"`        // ids that are nowhere to be seen in all rows
	Repeated   []uint64     `json:"repeated"`     // frames that show only what the one before showed
	OutOfOrder []uint64     `json:"out_of_order"` // frames that show an older id than the one before
}

// StripFrame is a frame by its ids from top to bottom: another one begins at each of Rows.
type StripFrame struct {
	Rows []int    `json:"rows"`
	IDs  []uint32 `json:"ids"`
}

// StripAt returns what frame n shows, and false if it shows no strip.
func (t *Truth) StripAt(n uint64) (StripFrame, bool) {
	if t.Strip == nil || !t.isContent(n) {
		return StripFrame{}, false
	}
	n -= t.Content.First
	f, cycle := t.Strip.Frames[n%stripFrames], uint32(n/stripFrames)
	ids := make([]uint32, len(f.IDs))
	for i, id := range f.IDs {
		ids[i] = (id + cycle*t.Strip.Drawn) % stripIDs
	}
	return StripFrame{f.Rows, ids}, true
}

func buildStrip(k *kit) (*script, error) {
	w, h := k.format.Width, k.format.Height
	base, _, err := k.pageSheet(0, w, h)
	if err != nil {
		return nil, err
	}
	x := max(0, w-stripColumn) &^ 1
	var columns [looks]*sheet
	for i := range columns {
		level := colour(32 + 3*(i*37%looks))
		if columns[i], err = k.solid(w-x, h, level<<16|level<<8|level); err != nil {
			return nil, err
		}
	}
	at := k.stripPlace()
	story := k.stripStory(at)
	s := &script{lead: 1, cycle: stripFrames}
	var black, bright *sheet
	if at != nil {
		s.truth.Strip = story
		if black, err = k.solid(stripCells*at.cell, at.cell, 0); err != nil {
			return nil, err
		}
		if bright, err = k.solid(stripCells*at.cell, at.cell, white); err != nil {
			return nil, err
		}
	}
	s.draw = func(n uint64, list []blit) []blit {
		f, later := &story.Frames[n%stripFrames], uint32(n/stripFrames)*story.Drawn
		list = append(list, whole(base, 0, 0))
		top := 0
		for i, id := range f.IDs {
			bottom := h
			if i < len(f.Rows) {
				bottom = f.Rows[i]
			}
			id = (id + later) % stripIDs
			list = append(list, blit{from: columns[id%looks], sy: top, dx: x, dy: top, w: w - x, h: bottom - top})
			if at != nil {
				cells := story.cells(k, id)
				for _, y := range at.tops {
					if y >= top && y < bottom {
						list = at.draw(list, black, bright, y, cells)
					}
				}
			}
			top = bottom
		}
		return list
	}
	return s, nil
}

// stripPlace is where the copies of a strip lie.
type stripPlace struct {
	cell int
	tops []int
}

// stripPlace returns nil where no strip fits.
func (k *kit) stripPlace() *stripPlace {
	w, h := k.format.Width, k.format.Height
	p := &stripPlace{cell: min(8, max(2, w/100))}
	for i := range 5 {
		p.tops = append(p.tops, i*(h-p.cell)/4)
	}
	if w < stripCells*p.cell || p.tops[1] < p.cell+4 { // a gap has an even row between two that are not of a copy
		return nil
	}
	for _, s := range k.geo.parts {
		if s.subX > 0 && p.cell%2 != 0 || s.subY > 0 &&
			slices.ContainsFunc(append(p.tops, p.cell), func(y int) bool { return y%2 != 0 }) {
			return nil
		}
	}
	return p
}

// draw appends one copy: black, and runs of white on it. Every code has the same number of blits,
// some of them empty. So the list never grows after the first frame.
func (p *stripPlace) draw(list []blit, black, bright *sheet, y int, cells [stripCells]bool) []blit {
	list = append(list, whole(black, 0, y))
	i := 0
	for range stripCells / 2 {
		for i < stripCells && !cells[i] {
			i++
		}
		from := i
		for i < stripCells && cells[i] {
			i++
		}
		list = append(list, blit{from: bright, dx: from * p.cell, dy: y, w: (i - from) * p.cell, h: p.cell})
	}
	return list
}

const stripCells = 96

// cells returns a copy's cells, white ones true. The page's clock is when it began to draw: frame
// by frame at a steady beat.
func (s *Strip) cells(k *kit, id uint32) [stripCells]bool {
	since := uint64((id - s.First) % stripIDs)
	clock := since * stripFrames * 1000 * k.fps.den / (uint64(s.Drawn) * k.fps.num)
	var cells [stripCells]bool
	at := 0
	put := func(value uint64, bits int) {
		for i := bits - 1; i >= 0; i-- {
			cells[at] = value>>i&1 != 0
			at++
		}
	}
	put(0b10110010, 8)
	put(uint64(id), 24)
	put(clock%stripIDs, 24)
	put(uint64(s.Page)<<8, 16)
	crc := uint32(0xffff) // CRC-16/CCITT-FALSE, cell by cell
	for _, one := range cells[8:72] {
		top := crc>>15&1 != 0
		if crc = crc << 1 & 0xffff; top != one {
			crc ^= 0x1021
		}
	}
	put(uint64(crc), 16)
	put(0b01001101, 8)
	return cells
}

// stripTale is a story in the making.
type stripTale struct {
	*Strip
	rnd   random
	place *stripPlace
	newer uint32   // the newest id on the screen
	whole []uint32 // ids that were seen whole
}

// stripStory scripts a cycle. Its first and its last frame show whole ids, the least and the
// greatest.
func (k *kit) stripStory(place *stripPlace) *Strip {
	t := &stripTale{Strip: &Strip{Unseen: []uint32{}, Runts: []uint32{}, Repeated: []uint64{}, OutOfOrder: []uint64{}},
		rnd: newRandom(k.seed, "strip"), place: place}
	t.Page = uint8(1 + t.rnd.below(200))
	t.First = uint32(t.rnd.below(1000))
	if k.seed%3 == 0 {
		t.First = stripIDs - 1 - uint32(t.rnd.below(60))
	}
	t.newer = t.First
	t.show(t.First)
	for len(t.Frames) < stripFrames-4 {
		t.next()
	}
	for len(t.Frames) < stripFrames {
		t.show(t.drawn(1))
	}
	t.Drawn = (t.newer-t.First)%stripIDs + 1
	return t.Strip
}

// drawn moves on to another id.
func (t *stripTale) drawn(ahead uint32) uint32 {
	t.newer = (t.newer + ahead) % stripIDs
	return t.newer
}

// show adds a frame that shows one id in all rows.
func (t *stripTale) show(id uint32) {
	t.Frames = append(t.Frames, StripFrame{Rows: []int{}, IDs: []uint32{id}})
	if !slices.Contains(t.whole, id) {
		t.whole = append(t.whole, id)
	}
}

// tear adds a frame that shows ids from top to bottom. Each id is in at least one copy of the strip
// and not in all.
func (t *stripTale) tear(ids ...uint32) {
	f := StripFrame{Rows: []int{}, IDs: ids}
	gap, copies := 0, 5
	for left := len(ids) - 1; left > 0; left-- {
		gap = t.rnd.between(gap+1, copies-left) // behind so many copies
		row := 2 * gap
		if t.place != nil {
			row = (t.place.tops[gap-1] + t.place.cell +
				1 + t.rnd.below(t.place.tops[gap]-t.place.tops[gap-1]-t.place.cell-1)) &^ 1
		}
		f.Rows = append(f.Rows, row)
	}
	t.Frames = append(t.Frames, f)
}

func (t *stripTale) again() { t.Repeated = append(t.Repeated, uint64(len(t.Frames))) }

// next adds one to three frames.
func (t *stripTale) next() {
	last := t.newer
	id := func(ahead uint32) uint32 { return (last + ahead) % stripIDs }
	switch t.rnd.below(14) {
	case 0: // seen twice
		t.again()
		t.show(last)
	case 1: // drawn and never seen
		missing := uint32(t.rnd.between(1, 3))
		for k := range missing {
			t.Unseen = append(t.Unseen, id(1+k))
		}
		t.show(t.drawn(1 + missing))
	case 2: // behind a later one
		if len(t.whole) < 4 {
			t.show(t.drawn(1))
			return
		}
		t.OutOfOrder = append(t.OutOfOrder, uint64(len(t.Frames)))
		t.show(t.whole[len(t.whole)-2-t.rnd.below(3)])
		t.show(t.drawn(1))
	case 3: // torn, and then whole, which is nothing new
		t.tear(t.drawn(1), last)
		t.again()
		t.show(id(1))
	case 4: // in the upper rows only
		t.tear(t.drawn(1), last)
		t.Runts = append(t.Runts, id(1))
		t.show(t.drawn(1))
	case 5: // between two others
		t.tear(t.drawn(2), id(1), last)
		t.Runts = append(t.Runts, id(1))
		t.again()
		t.show(id(2))
	default:
		t.show(t.drawn(1))
	}
}
