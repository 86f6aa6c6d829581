package analyze

import (
	"fmt"
	"image"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze/strip"
)

// # dropped
//
// Of the frames that the content drew, those that were never seen. A signal alone does not say what was drawn, so there is a figure in two cases only.
//
// Where frames bear a code strip, each drawn frame has a number, its id, and the ids of every frame that differs from the one before are read, those of both parts of a torn
// one too. With ids from a to b:
//
//	drawn_frames    b − a + 1
//	dropped_frames  ids in between that no frame shows
//	dropped         dropped_frames / drawn_frames
//
// Ids that are missing between two frames of which the later has lost ones before it, or one whose strip cannot be read, may have been seen: they are counted, and
// the lower bound is without them.
//
// Else, where the content's cadence was declared, c frames a second:
//
//	dropped         1 − U / (c · (r − s)), and 0 where U is more
//
// By hand: ids 7 8 8 9 12 12 13 are 7 drawn frames, of which 10 and 11 were dropped: 2/7. 57 unique frames in a second of content that draws 60 are
// 5 % dropped.
func (p *fps) dropped(r *Result, u, most int, took lasting) {
	if p.ids != nil {
		if d, ok := countIDs(p.ids.seen); ok {
			d.report(r)
			return
		}
		r.Warnings = append(r.Warnings, "the code strip of the first frame was found in no other: what was dropped is left out")
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
		if copy.OK && !isMarker(copy.Code) {
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

// isMarker reports whether a code stands on a sync marker, a part of which a torn frame may show.
func isMarker(c strip.Code) bool {
	m := strip.Marker(c.Free)
	return m == strip.Green || m == strip.Red
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
func (d *idReader) lost(f *Frame) { d.gap = d.gap || f.Lost > 0 && f.Number != d.Window.Start }

// note takes what the strip of a frame says.
func (d *idReader) note(f *Frame, reading strip.Reading) {
	found := false
	for i, copy := range reading.Copies {
		if !copy.OK || copy.Code.Page() != d.page || reading.State == strip.Torn && isMarker(copy.Code) ||
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
		d.seen = append(d.seen, sighting{copy.Code.ID, copy.Code.Clock, int32(f.Number), d.gap, copies, uint8(copy.Code.Free)})
	}
	d.gap = !found
}

func (d *idReader) merge(n *idReader) {
	if d == nil {
		return
	}
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
	behind               []int // frames just behind dropped ones
}

// countIDs counts ids that nobody has seen, if any was seen twice or more. Ids are counted modulo 2²⁴: each is taken for the one that is closest to the one before.
func countIDs(seen []sighting) (drops, bool) {
	type at struct {
		id int64
		sighting
	}
	var ids []at
	last := int64(0)
	for i, s := range seen {
		if i == 0 {
			last = int64(s.id)
		} else {
			last += closest(last, s.id)
		}
		ids = append(ids, at{last, s})
	}
	if len(ids) < 2 {
		return drops{}, false
	}
	slices.SortStableFunc(ids, func(a, b at) int { return int(a.id - b.id) })
	d := drops{drawn: int(ids[len(ids)-1].id-ids[0].id) + 1}
	for i := 1; i < len(ids); i++ {
		missing := int(ids[i].id-ids[i-1].id) - 1
		if missing <= 0 {
			continue
		}
		d.dropped += missing
		if ids[i].gap {
			d.open += missing
		}
		d.behind = name(d.behind, int(ids[i].frame))
	}
	slices.Sort(d.behind)
	return d, true
}

func (d drops) report(r *Result) {
	n, low, all := float64(d.dropped), float64(d.dropped-d.open), float64(d.drawn)
	count := between("dropped_frames", "frames", n, low, n, Lower, 0.05)
	count.Frames = d.behind
	count.Note = "by the code strip: drawn by the page and never seen; the frames named are those behind"
	r.Values = append(r.Values, exactly("drawn_frames", "frames", all, Neither, 0), count,
		between("dropped", "fraction", n/all, low/all, n/all, Lower, 0.05))
	if d.open > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %d dropped frames may have been seen: captured frames are missing there", d.open, d.dropped))
	}
}
