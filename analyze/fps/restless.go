package fps

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// # Restless regions
//
// A caret, a spinner, a video or an ad may change on a page that is still otherwise. It makes
// frames unique and delays the last visual change. fps counts these frames. It also reports the
// regions, so that the user may mask them.
//
//  1. R is cut into tiles of 32x32 pixels from its corner on. Tiles are larger if there would be
//     more than 2048.
//  2. A unique frame after s touches a tile if its change has a span there, over a pixel that
//     counts. With a tolerance, a pixel in it must differ.
//  3. A frame that touches more than half of the tiles is a large change. Examples are a scroll and
//     a new page.
//  4. A tile is restless if at least a quarter of the unique frames after s touch it. At least 8
//     must touch it. Large changes do not count here.
//  5. Restless tiles that touch each other, at a corner too, are a region.
//  6. A frame changes only there if it touches no other tile.
//  7. If at least half of the unique frames change only in restless regions, each region is
//     reported. It has the frames that change in no other place. Its rectangle is around everything
//     that these change.
//
// The analysis needs no pixels. It counts sets of tiles, not frames, and keeps 16384 different
// ones. With more, it reports no regions.
type restless struct {
	*measure.Case
	shift  int // a tile's side is 1 << shift pixels
	across int // tiles of a row
	tiles  *tileMap
	limit  int // a frame that touches more tiles is not looked at

	now    []uint64     // tiles of the frame at hand
	box    measure.Rect // around what it changes
	key    []byte
	sets   map[string]*tileSet
	order  []string // in which sets were seen first
	frames int
	over   bool // there are too many sets
}

// RestlessRegion is a region that changes while nothing else does.
type RestlessRegion struct {
	X      int `json:"x"` // pixels of the frame
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
	Frames int `json:"frames"` // unique frames that change only there
	First  int `json:"first"`  // the first of them
}

const (
	restlessMin = 8
	maxTiles    = 2048
	maxTileSets = 1 << 14
)

// tileSet is the frames that touch the same tiles.
type tileSet struct {
	tiles  []uint64
	frames int
	first  int // number of the first
	box    measure.Rect
}

func (t *restless) fork() *restless {
	f := &restless{Case: t.Case, shift: t.shift, across: t.across, tiles: t.tiles, limit: t.limit,
		sets: map[string]*tileSet{}}
	f.now, f.key = make([]uint64, len(t.now)), make([]byte, len(t.key))
	return f
}

func newRestless(c *measure.Case) *restless {
	t := &restless{Case: c, shift: 5, sets: map[string]*tileSet{}}
	r := c.Area.Region
	down := 0
	for ; ; t.shift++ {
		side := 1 << t.shift
		t.across, down = (r.Width+side-1)/side, (r.Height+side-1)/side
		if t.across*down <= maxTiles {
			break
		}
	}
	words := (t.across*down + 63) / 64
	t.now, t.key = make([]uint64, words), make([]byte, 8*words)
	t.limit = t.across * down / 2
	t.tiles = t.newTileMap()
	return t
}

// mark sets the tiles that a box of pixels of R touches.
func (t *restless) mark(tiles []uint64, b measure.Rect) {
	r := t.Area.Region
	x0, x1 := (b.X0-r.X)>>t.shift, (b.X1-1-r.X)>>t.shift
	for y := (b.Y0 - r.Y) >> t.shift; y <= (b.Y1-1-r.Y)>>t.shift; y++ {
		measure.SetBits(tiles, y*t.across+x0, y*t.across+x1+1)
	}
}

// add takes a unique frame.
func (t *restless) add(f *measure.Frame) {
	t.frames++
	clear(t.now)
	t.box = measure.Rect{}
	if f.Diff != nil && (t.Tolerance > 0 || t.Window.MinPixels > 0) {
		t.takeDiff(f.Diff)
	} else {
		t.takeSpans(f.Change)
	}
	n := 0
	for _, w := range t.now {
		n += bits.OnesCount64(w)
	}
	if n > t.limit || n == 0 {
		return
	}
	for i, w := range t.now {
		for k := range 8 {
			t.key[8*i+k] = byte(w >> (8 * k))
		}
	}
	set := t.sets[string(t.key)]
	if set == nil {
		set = t.insert(string(t.key), &tileSet{tiles: slices.Clone(t.now), first: f.Number})
	}
	if set != nil {
		set.frames++
		set.box.Add(t.box)
	}
}

// insert returns nil if there are too many sets already.
func (t *restless) insert(key string, s *tileSet) *tileSet {
	if len(t.order) == maxTileSets {
		t.over = true
		return nil
	}
	t.sets[key], t.order = s, append(t.order, key)
	return s
}

// tileMap says in which tiles bytes of rows lie, so that a span costs two look-ups. It is shared
// and does not change.
type tileMap struct {
	rows  []int16 // of each row: its plane and its row of tiles; -1 outside R
	first [][]int16
	// of each plane and byte: the column of the first and the last tile in R that it touches; first
	// > last outside R
	last [][]int16
}

func (t *restless) newTileMap() *tileMap {
	m := new(tileMap)
	r := t.Area.Region
	for i, row := range t.Layout.Rows {
		_, y, _, _ := t.Layout.Rect(i, 0, 1)
		at := int16(-1)
		if y >= r.Y && y < r.Y+r.Height {
			at = int16(row.Plane)<<12 | int16((y-r.Y)>>t.shift)
		}
		m.rows = append(m.rows, at)
		if row.Y > 0 {
			continue
		}
		first, last := make([]int16, row.Seen), make([]int16, row.Seen)
		for b := range first {
			x0, _, x1, _ := t.Layout.Rect(i, b, b+1)
			first[b], last[b] = int16(max(x0-r.X, 0)>>t.shift), int16((min(x1, r.X+r.Width)-1-r.X)>>t.shift)
			if x0 >= r.X+r.Width {
				first[b] = int16(t.across)
			}
		}
		m.first, m.last = append(m.first, first), append(m.last, last)
	}
	return m
}

// takeSpans marks what the spans of a change touch. Those of a row of tiles that reach over the
// same ones are taken together.
func (t *restless) takeSpans(c *frame.Change) {
	if t.Area.Masked {
		for _, s := range c.Spans {
			x0, y0, x1, y1 := t.Layout.Rect(int(s.Row), int(s.Start), int(s.End))
			t.take(measure.Box(x0, y0, x1, y1))
		}
		return
	}
	at, first, last := int16(-1), int16(0), int16(0)
	var run frame.Span // of all that are taken together: the first row, the least start and the greatest end
	end := int32(0)    // the last row
	maxStart, minEnd := int32(0), int32(0)
	flush := func() {
		if at < 0 || first > last {
			return
		}
		x0, y0, x1, _ := t.Layout.Rect(int(run.Row), int(run.Start), int(run.End))
		_, _, _, y1 := t.Layout.Rect(int(end), int(run.Start), int(run.End))
		t.take(measure.Box(x0, y0, x1, y1))
	}
	for i := range c.Spans {
		s := &c.Spans[i]
		row := t.tiles.rows[s.Row]
		// As in most of a video's rows. In the same tiles, spans of the run begin on both sides of
		// its start. They end on both sides of its end.
		if row == at && s.Start >= run.Start && s.Start <= maxStart && s.End >= minEnd && s.End <= run.End {
			end = s.Row
			continue
		}
		if row >= 0 {
			a, b := t.tiles.first[row>>12][s.Start], t.tiles.last[row>>12][s.End-1]
			if row == at && a == first && b == last {
				run.Start, run.End, end = min(run.Start, s.Start), max(run.End, s.End), s.Row
				maxStart, minEnd = max(maxStart, s.Start), min(minEnd, s.End)
				continue
			}
			flush()
			at, first, last, run, end = row, a, b, *s, s.Row
			maxStart, minEnd = s.Start, s.End
		}
	}
	flush()
}

// take marks the part of a box that is in R and counts.
func (t *restless) take(b measure.Rect) {
	r := t.Area.Region
	b = measure.Box(max(b.X0, r.X), max(b.Y0, r.Y), min(b.X1, r.X+r.Width), min(b.Y1, r.Y+r.Height))
	if b.X0 >= b.X1 || b.Y0 >= b.Y1 {
		return
	}
	if !t.Area.Masked {
		t.mark(t.now, b)
		t.box.Add(b)
		return
	}
	for y := b.Y0; y < b.Y1; y++ {
		t.Area.Runs(y, b.X0, b.X1, func(from, to int) {
			t.mark(t.now, measure.Box(from, y, to, y+1))
			t.box.Add(measure.Box(from, y, to, y+1))
		})
	}
}

func (t *restless) takeDiff(d *measure.Diff) {
	for i := range d.Lines {
		l := &d.Lines[i]
		for k, w := range l.Bits {
			for half := range 2 {
				if part := uint32(w >> (32 * half)); part != 0 {
					x := 64*(l.Word+k) + 32*half
					t.take(measure.Box(x+bits.TrailingZeros32(part), l.Y, x+32-bits.LeadingZeros32(part), l.Y+1))
				}
			}
		}
	}
}

func (t *restless) merge(n *restless) {
	t.frames += n.frames
	t.over = t.over || n.over
	for _, key := range n.order {
		from := n.sets[key]
		if into := t.sets[key]; into != nil {
			into.frames += from.frames
			into.box.Add(from.box)
		} else {
			t.insert(key, from)
		}
	}
}

// find returns the restless regions and how many frames change in nothing else.
func (t *restless) find() ([]RestlessRegion, int) {
	touched := make([]int, 64*len(t.now))
	for _, key := range t.order {
		s := t.sets[key]
		eachBit(s.tiles, func(i int) { touched[i] += s.frames })
	}
	least := max(restlessMin, (t.frames+3)/4)
	quiet := make([]uint64, len(t.now))
	region := make([]int, len(touched)) // of each tile, from 1; 0 for none
	for i, n := range touched {
		if n >= least {
			quiet[i/64] |= 1 << (i & 63)
			region[i] = -1
		}
	}
	n := 0
	for i := range region {
		if region[i] < 0 {
			n++
			t.spread(region, i, n)
		}
	}
	found := make([]RestlessRegion, n)
	around := make([]measure.Rect, n)
	only := 0
	for _, key := range t.order {
		s := t.sets[key]
		if !within(s.tiles, quiet) {
			continue
		}
		only += s.frames
		at := 0
		eachBit(s.tiles, func(i int) {
			if at == 0 || at == region[i] {
				at = region[i]
			} else {
				at = -1 // in several
			}
		})
		if at > 0 {
			f := &found[at-1]
			if f.Frames == 0 || s.first < f.First {
				f.First = s.first
			}
			f.Frames += s.frames
			around[at-1].Add(s.box)
		}
	}
	for i, b := range around {
		found[i].X, found[i].Y, found[i].Width, found[i].Height = b.X0, b.Y0, b.X1-b.X0, b.Y1-b.Y0
	}
	found = slices.DeleteFunc(found, func(r RestlessRegion) bool { return r.Frames == 0 })
	slices.SortStableFunc(found, func(a, b RestlessRegion) int { return b.Frames - a.Frames })
	return found, only
}

// spread gives tile i and those that it touches a number.
func (t *restless) spread(region []int, i, n int) {
	todo := []int{i}
	region[i] = n
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		x, y := i%t.across, i/t.across
		for dy := -1; dy <= 1; dy++ {
			for dx := -1; dx <= 1; dx++ {
				k := (y+dy)*t.across + x + dx
				if x+dx >= 0 && x+dx < t.across && k >= 0 && k < len(region) && region[k] < 0 {
					region[k] = n
					todo = append(todo, k)
				}
			}
		}
	}
}

func eachBit(words []uint64, do func(i int)) {
	for w, left := range words {
		for ; left != 0; left &= left - 1 {
			do(64*w + bits.TrailingZeros64(left))
		}
	}
}

func within(a, b []uint64) bool {
	for i := range a {
		if a[i]&^b[i] != 0 {
			return false
		}
	}
	return true
}

// report names the regions in a result, u being U, and returns them.
func (t *restless) report(r *measure.Result, u int) []RestlessRegion {
	if t.over {
		r.Warnf("the unique frames change in too many different places to tell regions that never rest")
		return []RestlessRegion{}
	}
	found, only := t.find()
	if only < restlessMin || 2*only < t.frames {
		return []RestlessRegion{}
	}
	var places []string
	for _, f := range found {
		place := frame.Region{X: f.X, Y: f.Y, Width: f.Width, Height: f.Height}
		places = append(places, place.String())
		r.Evidence = append(r.Evidence,
			measure.Evidence{Kind: "restless", Frame: f.First, Region: []int{f.X, f.Y, f.Width, f.Height},
				Text: fmt.Sprintf("%d of %d unique frames change only here, first this one", f.Frames, u)})
	}
	if len(places) == 0 {
		return []RestlessRegion{}
	}
	r.Warnf("%d unique frames; %d of them change only in %s: a mask there leaves the rest", u, only,
		strings.Join(places, ", "))
	return found
}
