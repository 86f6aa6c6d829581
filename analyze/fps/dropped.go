package fps

import (
	"math"

	"github.com/eideticker/eideticker/analyze/codestrip"
	"github.com/eideticker/eideticker/analyze/measure"
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
// previous one, a missing frame may have shown any ids. It may show one in each copy of the strip.
// The lower bound is then lower by as many.
//
// Without a strip, with a declared cadence of c frames a second:
//
//	dropped         1 − U / (c · (r − s)), and 0 where U is more.
//
// By hand: ids 7 8 8 9 12 12 13 are 7 drawn frames, of which 10 and 11 were dropped: 2/7. With 57
// unique frames in a second of content that draws 60, 5 % are dropped.
func (p *part) dropped(r *measure.Result, u, most int, took measure.Duration) {
	if p.ids != nil {
		if d, ok := p.ids.Count(); ok {
			report(d, r)
			return
		}
		r.Warnf("the code strip of the first frame was found in no other: dropped frames are left out")
	}
	c := p.cadence
	if c <= 0 || took.Low <= 0 {
		return
	}
	share := func(u int, d float64) float64 { return math.Max(0, 1-float64(u)/(c*d)) }
	r.Add(measure.Between("dropped", "fraction", share(u, took.Mid.Seconds()), share(most, took.Low.Seconds()),
		share(u, took.High.Seconds()), measure.Lower, 0.05))
}

func report(d codestrip.Drops, r *measure.Result) {
	n, low, all := float64(d.Dropped), float64(d.Dropped-d.Open), float64(d.Drawn)
	count := measure.Between("dropped_frames", "frames", n, low, n, measure.Lower, 0.05)
	count.Frames = d.Behind
	count.Note = "by the code strip: drawn by the page and never seen; the frames named are those behind"
	r.Add(measure.Exactly("drawn_frames", "frames", all, measure.Neither, 0), count, measure.Between("dropped",
		"fraction", n/all, low/all, n/all, measure.Lower, 0.05))
	if d.Open > 0 {
		r.Warnf("%d of %d dropped frames may have been seen: captured frames are missing there", d.Open, d.Dropped)
	}
}
