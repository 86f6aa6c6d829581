package vitals

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"time"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// Screen is how a page was recorded.
type Screen struct {
	Recording measure.Recording
	Area      frame.Region      // of the page's window
	Last      int               // frame of the content
	Origin    timeline.Interval // time 0 of the page's claims
}

// coarse is by how much a browser rounds the times of paints.
const coarse = 4 * time.Millisecond

// settles is the time after a claim for its pixels to appear.
const settles = time.Second

// See compares the claimed largest contentful paint with the pixels and completes the claims.
//
// The element's area is its rectangle at the claim, clipped to the window. Its look is that of 1 s
// after the claim, or that of the last frame of the content. It was seen with the first frame from
// which the area kept this look. Changes with less than 1 % of the pixels of the largest one do
// not count. So a spinner over a picture does not delay it. The largest one is looked for from 1 s
// before the claim on. The bounds reach from the frame before to this one. They include the error
// of the page's clock, and that of the claim by rounding.
//
// An area that changes in more than half of the frames after the claim moves, and is refused.
func (c *Claims) See(p *Page, s Screen) {
	defer c.Fill()
	c.OriginNS, c.OriginWithinNS = int64(s.Origin.Mid()), int64(s.Origin.Width()/2)
	seen, err := p.see(s, &c.Region)
	if err != nil {
		c.refuse(err.Error())
		return
	}
	c.Result.Add(seen.at, seen.late)
	text := func(v measure.Value) string {
		return wording.Measured{Value: v.Value, Low: v.Low, High: v.High, Unit: ms, Bounded: true}.Text()
	}
	late, verdict := seen.late, ", which agrees"
	switch {
	case late.Low > 0:
		verdict = ", " + text(late) + " later"
	case late.High < 0:
		late.Value, late.Low, late.High = -late.Value, -late.High, -late.Low
		verdict = ", " + text(late) + " earlier"
	}
	c.Sentence = fmt.Sprintf("The page claims its largest paint after %s; its pixels were seen after %s%s.",
		wording.Measured{Value: p.lcp.Time, Unit: ms}.Text(), text(seen.at), verdict)
}

// Unseen completes claims that cannot be compared with pixels.
func (c *Claims) Unseen(why string) {
	c.refuse(why)
	c.Fill()
}

func (c *Claims) refuse(why string) {
	c.Result.Add(none("lcp_seen", ms, why), none("lcp_difference", ms, why))
	if v, ok := c.Result.Find("lcp"); ok && v.State != measure.Refused {
		c.Sentence = fmt.Sprintf("The page claims its largest paint after %s. Its pixels are unknown: %s.",
			wording.Measured{Value: v.Value, Unit: ms}.Text(), why)
	}
}

// sight is the frame in which a claim was seen.
type sight struct{ at, late measure.Value }

func (p *Page) see(s Screen, region *[]int) (found sight, err error) {
	if p.lcp == nil {
		return found, errors.New("the page claims no largest contentful paint")
	}
	r, err := p.lcpRegion(s.Area)
	if err != nil {
		return found, err
	}
	*region = []int{r.X, r.Y, r.Width, r.Height}
	claim := after(s.Origin, p.lcp.Time)
	claim.Earliest = claim.Earliest.Add(-coarse)
	claim.Latest = claim.Latest.Add(coarse)
	segment, first, err := s.frames()
	if err != nil {
		return found, err
	}
	times := measure.NewTimes(s.Recording, segment, first, s.Last+1, false)
	if claim.Latest > times.Bounds(s.Last).Latest {
		return found, errors.New("it was claimed after the content ended")
	}
	area, err := measure.NewArea(segment.Layout, r, nil)
	if err != nil {
		return found, err
	}
	look, err := s.changes(first, area, claim)
	if err != nil {
		return found, err
	}
	switch {
	case look.seen < 0:
		return found, errors.New("its area did not change from the navigation to a second after the claim")
	case look.after > fewChanges && look.after > look.frames/2:
		return found, fmt.Errorf("its area moves: it changed in %d of %s after the claim", look.after,
			wording.Plural(look.frames, "frame"))
	}
	n := look.seen
	on := timeline.Interval{Earliest: times.Bounds(times.Before(n)).Earliest, Latest: times.Bounds(n).Latest}
	between := func(name string, from timeline.Interval, better measure.Better) measure.Value {
		v := measure.Between(name, ms, measure.MS(times.At(n).Sub(from.Mid())),
			measure.MS(on.Earliest.Sub(from.Latest)), measure.MS(on.Latest.Sub(from.Earliest)), better, threshold)
		v.Frames = []int{n}
		return v
	}
	found.at = between("lcp_seen", s.Origin, measure.Lower)
	found.late = between("lcp_difference", claim, measure.Neither)
	if look.later >= 0 {
		found.at.Note = fmt.Sprintf("the area changes again, first in frame %s", wording.Count(look.later))
	}
	return found, nil
}

// frames returns the first frame after the navigation, and the segment up to the last frame.
func (s *Screen) frames() (segment frame.Segment, first int, err error) {
	first = sort.Search(s.Last, func(n int) bool {
		m, err := s.Recording.Meta(n)
		return err == nil && m.Sampled.Latest >= s.Origin.Earliest
	})
	for _, one := range s.Recording.Segments() {
		if one.First <= s.Last && s.Last < one.First+one.Frames {
			return one, max(first, one.First), nil
		}
	}
	return segment, 0, fmt.Errorf("frame %d is not in the recording", s.Last)
}

// fewChanges is the number of changes that moving pixels have at least.
const fewChanges = 10

// looks is the course of an area's look.
type looks struct {
	seen          int // frame with the look of a second after the claim; -1: no change
	after, frames int // changes and frames in this second
	later         int // frame of the first change after it; -1: none
}

// changes returns how an area changed from frame first on.
func (s *Screen) changes(first int, area *measure.Area, claim timeline.Interval) (looks, error) {
	l := looks{seen: -1, later: -1}
	from, until := claim.Earliest.Add(-settles), claim.Latest.Add(settles)
	differ := measure.NewDiffer(area, 0)
	type change struct{ frame, pixels int }
	var all []change
	largest, late := 0, 0 // pixels; number of changes from the claim on
	for step, err := range s.Recording.Steps(first, s.Last+1) {
		if err != nil {
			return l, err
		}
		at := step.Meta.Sampled.Earliest
		if at >= claim.Earliest && at <= until {
			l.frames++
		}
		if step.Number == first || area.Unchanged(step.Change) {
			continue
		}
		pixels := differ.Of(step.Change, step.Previous, step.Image).Pixels
		switch {
		case pixels == 0:
			continue
		case at > until:
			if pixels*smallest > largest {
				l.later = step.Number
			}
		case at < from:
			l.seen = step.Number
		default:
			all, largest = append(all, change{step.Number, pixels}), max(largest, pixels)
			if at >= claim.Earliest {
				late++
			}
		}
		if l.later >= 0 {
			break
		}
	}
	for i, c := range all {
		if c.pixels*smallest > largest {
			l.seen = c.frame
			if i >= len(all)-late {
				l.after++
			}
		}
	}
	return l, nil
}

// smallest is the fraction of the largest change from which on a change counts, as 1 / smallest.
const smallest = 100

// after returns the time of a claim.
func after(origin timeline.Interval, ms float64) timeline.Interval {
	d := time.Duration(math.Round(ms * 1e6))
	return timeline.Interval{Earliest: origin.Earliest.Add(d), Latest: origin.Latest.Add(d)}
}
