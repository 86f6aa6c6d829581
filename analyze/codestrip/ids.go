package codestrip

import (
	"cmp"
	"image"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/strip"
)

// sighting is an id that a unique frame shows, in the order in which they were seen.
type sighting struct {
	Id    uint32
	Clock uint32 // of the content, ms
	Frame int32
	gap   bool // ids before it may have been shown by frames that were lost or cannot be read
	// Of how many copies say it, and the lower 8 free bits.
	copies, data uint8
}

// Reader reads the code strip of a window's frames. A nil one reads nothing.
type Reader struct {
	*measure.Case
	decoder *strip.Decoder
	page    uint8
	Seen    []sighting
	gap     bool // behind the last sighting
	missing int  // frames that may have shown any ids: lost, or not to be read
}

// NewReader returns nil where s shows no code strip at the place where pages draw it.
func NewReader(c *measure.Case) *Reader { return newReaderAt(c, c.Window.Start) }

// newReaderAt looks at another frame than s.
func newReaderAt(c *measure.Case, n int) *Reader {
	const least = 192 // pixels; a strip does not fit into less
	if c.Area.Region.Width < least {
		return nil
	}
	d := NewDecoder(c)
	if d == nil {
		return nil
	}
	some, err := measure.Rows(c.Recording, n, d.Rows())
	if err != nil {
		return nil
	}
	reading := d.Read(some)
	for _, copy := range reading.Copies {
		if copy.OK && !copy.Code.OnMarker() {
			return &Reader{Case: c, decoder: d, page: copy.Code.Page()}
		}
	}
	return nil
}

// NewDecoder returns a decoder of the strip in R, or nil if R is too small.
func NewDecoder(c *measure.Case) *strip.Decoder {
	r := c.Area.Region
	d, err := strip.NewDecoder(c.Layout, image.Rect(r.X, r.Y, r.X+r.Width, r.Y+r.Height))
	if err != nil {
		return nil
	}
	return d
}

// Fork returns a reader for frames that follow.
func (d *Reader) Fork() *Reader {
	if d == nil {
		return nil
	}
	return &Reader{Case: d.Case, decoder: NewDecoder(d.Case), page: d.page}
}

// Add reads every frame that differs at all: what the strip changes need not count.
func (d *Reader) Add(f *measure.Frame) {
	if d == nil {
		return
	}
	d.lost(f)
	if f.Number == d.Window.Start || len(f.Change.Spans) > 0 {
		d.note(f, d.decoder.Read(f.Image))
	}
}

// lost notes that frames are missing just before one.
func (d *Reader) lost(f *measure.Frame) {
	if f.Lost > 0 && f.Number != d.Window.Start {
		d.gap = true
		d.missing += f.Lost
	}
}

// note takes what the strip of a frame says.
func (d *Reader) note(f *measure.Frame, reading strip.Reading) {
	found := false
	for i, copy := range reading.Copies {
		if !copy.OK || copy.Code.Page() != d.page || reading.State == strip.Torn && copy.Code.OnMarker() ||
			slices.ContainsFunc(reading.Copies[:i], func(o strip.Copy) bool { return o.OK && o.Code == copy.Code }) {
			continue
		}
		found = true
		copies := uint8(0)
		for _, o := range reading.Copies[i:] {
			if o.OK && o.Code == copy.Code {
				copies++
			}
		}
		d.Seen = append(d.Seen, sighting{copy.Code.ID, copy.Code.Clock, int32(f.Number), d.gap, copies,
			uint8(copy.Code.Free)})
	}
	if d.gap = !found; d.gap {
		d.missing++
	}
}

// Merge takes the ids that the next reader has read.
func (d *Reader) Merge(n *Reader) {
	if d == nil {
		return
	}
	d.missing += n.missing
	if len(n.Seen) == 0 {
		d.gap = d.gap || n.gap
		return
	}
	for i := range n.Seen {
		if n.Seen[i].Frame != n.Seen[0].Frame {
			break
		}
		n.Seen[i].gap = n.Seen[i].gap || d.gap
	}
	d.Seen, d.gap = append(d.Seen, n.Seen...), n.gap
}

// Drops is what became of the frames that were drawn.
type Drops struct {
	Drawn, Dropped, Open int   // open: of the dropped, those that may have been seen
	backward             bool  // there are frames that show only ids older than the one before
	Behind               []int // frames just behind dropped ones
}

// Count counts ids that nobody has seen, if any was seen twice or more. Ids are counted modulo 2²⁴:
// each is taken for the one that is closest to the one before.
func (d *Reader) Count() (Drops, bool) {
	found, ok := countIDs(d.Seen)
	if found.backward {
		found.Open = min(found.Dropped, max(found.Open, strip.Copies*d.missing))
	}
	return found, ok
}

func countIDs(seen []sighting) (Drops, bool) {
	ids, holes, backward := unwrapped(seen)
	if len(ids) < 2 {
		return Drops{}, false
	}
	slices.SortStableFunc(ids, func(a, b numbered) int { return cmp.Compare(a.id, b.id) })
	d := Drops{Drawn: int(ids[len(ids)-1].id-ids[0].id) + 1, backward: backward}
	for i := 1; i < len(ids); i++ {
		between := idRange{ids[i-1].id + 1, ids[i].id}
		missing := between.count(between)
		if missing == 0 {
			continue
		}
		d.Dropped += missing
		for len(holes) > 0 && holes[0].to <= between.from {
			holes = holes[1:]
		}
		open := 0
		for k := 0; k < len(holes) && holes[k].from < between.to; k++ {
			open += holes[k].count(between)
		}
		if ids[i].gap {
			open = missing
		}
		d.Open += open
		d.Behind = measure.AppendFrame(d.Behind, int(ids[i].Frame))
	}
	slices.Sort(d.Behind)
	return d, true
}

// numbered is a sighting whose id is counted on over the modulus.
type numbered struct {
	id int64
	sighting
}

// idRange is ids from one up to, and not including, another.
type idRange struct{ from, to int64 }

// count returns how many ids two ranges share.
func (r idRange) count(o idRange) int { return int(max(0, min(r.to, o.to)-max(r.from, o.from))) }

// unwrapped extends ids beyond 24 bits. It also returns the ranges of ids that missing frames may
// have shown, ascending. A range goes from after the newest id before them to the next newer one.
// backward reports that a frame shows only older ids than the newest until then.
func unwrapped(seen []sighting) (ids []numbered, holes []idRange, backward bool) {
	var last, newest int64 // newest: until the frame before
	pending := false       // something is missing since that was seen
	for i := 0; i < len(seen); {
		from, now := i, int64(math.MinInt64)
		for ; i < len(seen) && seen[i].Frame == seen[from].Frame; i++ {
			s := seen[i]
			if i == 0 {
				last = int64(s.Id)
				newest = last
			} else {
				last += closest(last, s.Id)
			}
			pending = pending || s.gap
			now = max(now, last)
			ids = append(ids, numbered{last, s})
		}
		if pending && now > newest {
			holes = append(holes, idRange{newest + 1, now})
		}
		backward = backward || now < newest
		pending, newest = pending && now <= newest, max(now, newest)
	}
	return ids, holes, backward
}

// firsts returns the first sighting of each id that is above all before it, one of a frame.
func (d *Reader) firsts() (all []sighting) {
	last := int64(0)
	for _, s := range d.Seen {
		at := last + closest(last, s.Id)
		if len(all) > 0 && (at <= last || s.Frame == all[len(all)-1].Frame) {
			continue
		}
		last, all = at, append(all, s)
	}
	return all
}

// closest returns how far it is from a number to the closest one that is the same modulo 2²⁴.
func closest(from int64, to uint32) int64 { return int64(int32((to-uint32(from))<<8) >> 8) }
