package analyze

import (
	"cmp"
	"fmt"
	"image"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze/strip"
)

// # dropped
//
// The share of drawn frames that were never seen. A signal alone does not contain the drawn frames,
// so the figure exists in two cases only.
//
// With a code strip, each drawn frame has a number, its id. The ids of every frame that differs
// from the previous one are read, including both parts of a torn one. With ids from a to b:
//
//	drawn_frames    b − a + 1;
//	dropped_frames  ids in between that no frame shows;
//	dropped         dropped_frames / drawn_frames.
//
// Lost frames, and frames with an unreadable strip, may have shown ids: those between the newest
// one before and the next newer one after. Older ids in between or later do not matter. Such ids
// are counted, and the lower bound is without them. If any frame shows only older ids than the
// previous one, a missing frame may have shown any ids, one in each copy of the strip. The lower
// bound is then lower by as many.
//
// Without a strip, with a declared cadence of c frames a second:
//
//	dropped         1 − U / (c · (r − s)), and 0 where U is more.
//
// By hand: ids 7 8 8 9 12 12 13 are 7 drawn frames, of which 10 and 11 were dropped: 2/7. With 57
// unique frames in a second of content that draws 60, 5 % are dropped.
func (p *fps) dropped(r *Result, u, most int, took lasting) {
	if p.ids != nil {
		if d, ok := p.ids.count(); ok {
			d.report(r)
			return
		}
		r.Warnings = append(r.Warnings,
			"the code strip of the first frame was found in no other: dropped frames are left out")
	}
	c := p.Options.FPS.Cadence
	if c <= 0 || took.low <= 0 {
		return
	}
	share := func(u int, d float64) float64 { return math.Max(0, 1-float64(u)/(c*d)) }
	r.Values = append(r.Values, between("dropped", "fraction",
		share(u, took.mid.Seconds()), share(most, took.low.Seconds()), share(u, took.high.Seconds()), Lower, 0.05))
}

// sighting is an id that a unique frame shows, in the order in which they were seen.
type sighting struct {
	id    uint32
	clock uint32 // of the content, ms
	frame int32
	gap   bool // ids before it may have been shown by frames that were lost or cannot be read
	// Of how many copies say it, and the lower 8 free bits.
	copies, data uint8
}

// idReader reads the code strip of a window's frames. A nil one reads nothing.
type idReader struct {
	*Case
	decoder *strip.Decoder
	page    uint8
	seen    []sighting
	gap     bool // behind the last sighting
	missing int  // frames that may have shown any ids: lost, or not to be read
}

// newIDReader returns nil where s shows no code strip at the place where pages draw it.
func newIDReader(c *Case) *idReader { return newIDReaderAt(c, c.Window.Start) }

// newIDReaderAt looks at another frame than s.
func newIDReaderAt(c *Case, n int) *idReader {
	const least = 192 // pixels; a strip does not fit into less
	if c.Area.Region.Width < least {
		return nil
	}
	d := stripDecoder(c)
	if d == nil {
		return nil
	}
	some, err := someRows(c.Recording, n, d.Rows())
	if err != nil {
		return nil
	}
	reading := d.Read(some)
	for _, copy := range reading.Copies {
		if copy.OK && !copy.Code.OnMarker() {
			return &idReader{Case: c, decoder: d, page: copy.Code.Page()}
		}
	}
	return nil
}

func stripDecoder(c *Case) *strip.Decoder {
	r := c.Area.Region
	d, err := strip.NewDecoder(c.Layout, image.Rect(r.X, r.Y, r.X+r.Width, r.Y+r.Height))
	if err != nil {
		return nil
	}
	return d
}

func (d *idReader) fork() *idReader {
	if d == nil {
		return nil
	}
	return &idReader{Case: d.Case, decoder: stripDecoder(d.Case), page: d.page}
}

// add reads every frame that differs at all: what the strip changes need not count.
func (d *idReader) add(f *Frame) {
	if d == nil {
		return
	}
	d.lost(f)
	if f.Number == d.Window.Start || len(f.Change.Spans) > 0 {
		d.note(f, d.decoder.Read(f.Image))
	}
}

// lost notes that frames are missing just before one.
func (d *idReader) lost(f *Frame) {
	if f.Lost > 0 && f.Number != d.Window.Start {
		d.gap = true
		d.missing += f.Lost
	}
}

// note takes what the strip of a frame says.
func (d *idReader) note(f *Frame, reading strip.Reading) {
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
		d.seen = append(d.seen, sighting{copy.Code.ID, copy.Code.Clock, int32(f.Number), d.gap, copies,
			uint8(copy.Code.Free)})
	}
	if d.gap = !found; d.gap {
		d.missing++
	}
}

func (d *idReader) merge(n *idReader) {
	if d == nil {
		return
	}
	d.missing += n.missing
	if len(n.seen) == 0 {
		d.gap = d.gap || n.gap
		return
	}
	for i := range n.seen {
		if n.seen[i].frame != n.seen[0].frame {
			break
		}
		n.seen[i].gap = n.seen[i].gap || d.gap
	}
	d.seen, d.gap = append(d.seen, n.seen...), n.gap
}

// drops is what became of the frames that were drawn.
type drops struct {
	drawn, dropped, open int   // open: of the dropped, those that may have been seen
	backward             bool  // there are frames that show only ids older than the one before
	behind               []int // frames just behind dropped ones
}

// count counts ids that nobody has seen, if any was seen twice or more. Ids are counted modulo 2²⁴:
// each is taken for the one that is closest to the one before.
func (d *idReader) count() (drops, bool) {
	found, ok := countIDs(d.seen)
	if found.backward {
		found.open = min(found.dropped, max(found.open, strip.Copies*d.missing))
	}
	return found, ok
}

func countIDs(seen []sighting) (drops, bool) {
	ids, holes, backward := unwrapped(seen)
	if len(ids) < 2 {
		return drops{}, false
	}
	slices.SortStableFunc(ids, func(a, b numbered) int { return cmp.Compare(a.id, b.id) })
	d := drops{drawn: int(ids[len(ids)-1].id-ids[0].id) + 1, backward: backward}
	for i := 1; i < len(ids); i++ {
		between := idRange{ids[i-1].id + 1, ids[i].id}
		missing := between.count(between)
		if missing == 0 {
			continue
		}
		d.dropped += missing
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
		d.open += open
		d.behind = name(d.behind, int(ids[i].frame))
	}
	slices.Sort(d.behind)
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
		for ; i < len(seen) && seen[i].frame == seen[from].frame; i++ {
			s := seen[i]
			if i == 0 {
				last = int64(s.id)
				newest = last
			} else {
				last += closest(last, s.id)
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

func (d drops) report(r *Result) {
	n, low, all := float64(d.dropped), float64(d.dropped-d.open), float64(d.drawn)
	count := between("dropped_frames", "frames", n, low, n, Lower, 0.05)
	count.Frames = d.behind
	count.Note = "by the code strip: drawn by the page and never seen; the frames named are those behind"
	r.Values = append(r.Values, exactly("drawn_frames", "frames", all, Neither, 0), count,
		between("dropped", "fraction", n/all, low/all, n/all, Lower, 0.05))
	if d.open > 0 {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("%d of %d dropped frames may have been seen: captured frames are missing there", d.open,
				d.dropped))
	}
}
