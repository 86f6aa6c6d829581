// Package scroll measures the motion of content that is scrolled, panned or zoomed. A displacement
// counts only if pixels confirm it. Even motion matters more than speed, so the errors of the
// motion are beside its framerate.
package scroll

import (
	"fmt"
	"math"

	"github.com/eideticker/eideticker/analyze/codestrip"
	"github.com/eideticker/eideticker/analyze/measure"
)

// # scroll: scroll, pan, zoom
//
// A unique frame moves by (dx, dy) pixels if it is the previous stored frame, displaced: content at
// (x − dx, y − dy) moved to (x, y). Content that goes up while a page is scrolled down has dy < 0.
// Over a gap the displacement is that of the stored pair. It is not divided among the lost frames.
// Speeds use times. The motion of frames around a gap is unknown, and all bounds cover that:
// lost.go. A frame that is not unique has not moved.
//
// A displacement is searched for in this order:
//
//  1. Rows that the codec found elsewhere in the previous frame give a vertical candidate, by the
//     most rows.
//  2. Short spans that the previous frame has nearby give candidates: spans.go. Then phase
//     correlation along rows, along columns and of tiles does: phase.go. Rows and columns that look
//     alike give further ones: far.go.
//  3. A candidate holds if it explains the change. Up to 32 lines are checked, in the pixels that
//     changed and differ from their left neighbour. At least 60 % of them, neighbour included, must
//     equal the displaced previous frame. The displacement is then an exact integer.
//     One that short spans alone gave holds at once from 95 % on.
//  4. Of several candidates, the one that explains most wins. If two explain the same, as for
//     repeated content, none does.
//  5. If no integer holds, a candidate may be refined to a fraction of a pixel, ± 0.5. It must
//     leave at most half of the difference. It must also leave at most 65 % of the difference of
//     steps between neighbouring pixels. Noise and smooth content have no such displacement.
//  6. Otherwise the frame may be scaled about the middle of R: zoom.go.
//  7. Otherwise it is undecided: content may have jumped so far that the two frames share nothing.
//
// The values are:
//
//	moving_frames          frames that move or are scaled;
//	runs                   see below;
//	framerate              moving frames − 1 of each run / time from its first to its last, frames/s;
//	distance_x, distance_y Σ dx, Σ dy, px; distance: Σ |(dx, dy)|;
//	displacement_max       of a frame, px; over a gap an equal share of it;
//	displacement_p50       median of moving frames, nearest rank;
//	speed                  distance of runs without their first frames / their time, px/s;
//	speed_max              of a single frame, by the time since the previous moving frame, px/s;
//	motion_error_rms, motion_error_max
//	                       px, of all stored frames of runs of at least 3 moving frames;
//	                       see runs.go;
//	animation_error_rms, animation_error_max
//	                       ms, with a code strip: content time step − display time step;
//	zoom                   Π scale;
//	undecided_frames       frames that changed where others moved, or next to a run, without a
//	                       displacement or scale. Content that appears before the first moving
//	                       frame, as a page that loads, does not count.
//
// A run is a stretch of moving frames, consecutive ones at most 200 ms apart, that never turns
// back. So the scalar product of a displacement and the previous one in the run is not negative.
// Scaled frames form no runs.
//
// The animation error of a moving frame is (its clock − that of the previous moving frame) − (their
// difference in time). Clocks are in whole milliseconds, so it is known to ± 1 ms.
//
// Some changes are not tried:
//
//   - A change of less than a sixteenth of R is not motion of content.
//   - A change of less than a quarter of that of a motion by one pixel is not. An example is a step
//     of a slow fade. It may still be a zoom: estimate.go.
//   - The others are classed by their place in R, in quarters of its sides. Only 3 or more of a
//     class that follow each other within 200 ms are tried.
//   - Of a class of 8 frames or more, 4 are tried first, from the middle of its longest stretches.
//     If none of them has moved, the class is skipped: a video costs nothing more.
//   - A class that covers the place of a moving one is tried, single frames too: a late browser
//     jumps.
//   - Frames in which the codec found moved rows are always tried, single ones too. So is every
//     frame within 200 ms of a tried one, unless its class does not move.
//
// Each series has values at its own frames: "dx", "dy", "speed"; "scale", "motion_error",
// "animation_error".
func Measure(o Options) measure.Measure {
	begin := func(c *measure.Case) (measure.Part, error) { return newPart(c, o.Kinds) }
	return measure.Measure{Name: "scroll", Version: 1, Begin: begin, Values: []string{
		"moving_frames", "runs", "framerate", "distance", "distance_x", "distance_y", "displacement_max",
		"displacement_p50", "speed", "speed_max",
		"motion_error_rms", "motion_error_max", "animation_error_rms", "animation_error_max", "input_lag", "zoom",
		"undecided_frames",
	}}
}

// Options describe the input.
type Options struct {
	// Kinds of the events that say how far or how fast content was asked to move; empty: "scroll",
	// "pan".
	Kinds []string
}

// part estimates the motion of each frame.
type part struct {
	*measure.Case
	kinds     []string // of events that say how content is asked to move
	selector  *selector
	estimator *estimator
	ids       *codestrip.Reader
	moves     []motion // of unique frames that moved, or of which it is not known
	lost      []int    // frames that have lost ones before them
	few       []int    // frames that were not tried, since too few follow each other
	tried     int
}

// motion is what became of the frame before.
type motion struct {
	frame  int
	dx, dy float64 // px
	scale  float64 // 1: not scaled
	within float64 // dx and dy are known to ±; 0: exact
	bound  float64 // scale is known to ±
	failed bool    // it is not known
	covers bool    // of failed ones: they changed where others moved
	loads  bool    // of failed ones: content appeared
}

func (m *motion) length() float64 { return math.Hypot(m.dx, m.dy) }

func newPart(c *measure.Case, kinds []string) (measure.Part, error) {
	s, err := newSelector(c)
	if err != nil {
		return nil, err
	}
	if !s.any() {
		return nil, fmt.Errorf("nothing in the window moves as a whole: of %d frames that differ, %d change a "+
			"sixteenth of the region or more, and of those %d were tried, "+
			"none of which is the frame before it, displaced or scaled", s.unique, s.candidates, s.tried)
	}
	return &part{Case: c, kinds: kinds, selector: s, estimator: newEstimator(c), ids: codestrip.NewReader(c)}, nil
}

// NeedsPixels: displacements are held against pixels.
func (p *part) NeedsPixels() bool { return true }

func (p *part) Fork() measure.Part {
	return &part{Case: p.Case, selector: p.selector, estimator: newEstimator(p.Case), ids: p.ids.Fork()}
}

func (p *part) Add(f *measure.Frame) {
	p.ids.Add(f)
	if f.Number == p.Window.Start {
		return
	}
	if f.Lost > 0 {
		p.lost = append(p.lost, f.Number)
	}
	if !f.Unique || f.Diff == nil {
		return
	}
	if !p.selector.worth(f.Number, f.Change) {
		switch {
		case p.selector.replaces(f.Change):
			p.moves = append(p.moves, motion{frame: f.Number, scale: 1, failed: true, covers: true})
		case p.selector.few(f.Change):
			p.few = append(p.few, f.Number)
		}
		return
	}
	p.tried++
	if m, ok := p.estimator.estimate(f.Change, f.Diff, f.Previous, f.Image); ok {
		m.frame = f.Number
		p.moves = append(p.moves, m)
	} else {
		p.moves = append(p.moves, motion{frame: f.Number, scale: 1, failed: true,
			covers: p.selector.coversMotion(f.Change), loads: p.estimator.appears()})
	}
}

func (p *part) Merge(next measure.Part) {
	n := next.(*part)
	p.moves, p.lost, p.tried = append(p.moves, n.moves...), append(p.lost, n.lost...), p.tried+n.tried
	p.few = append(p.few, n.few...)
	p.ids.Merge(n.ids)
}
