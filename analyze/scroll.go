package analyze

import (
	"fmt"
	"math"
)

// # scroll: scroll, pan, zoom
//
// A unique frame moves by (dx, dy) pixels if it is the stored frame before it, displaced: what
// stood at (x − dx, y − dy) stands at (x, y). Content that goes up while a page is scrolled down
// has dy < 0. Over a gap the displacement is that of the stored pair, it is not divided among the
// frames that were lost; speeds go by times. How the frames around a gap moved is not known, and
// all bounds say so: scroll_lost.go. A frame that is not unique has not moved.
//
// How a displacement is found: rows that the codec found elsewhere in the frame before give a
// vertical one, by the most rows. Else phase correlation along rows, along columns and of tiles
// gives candidates: scroll_phase.go; and so do rows and columns that look alike, which are further
// away: scroll_far.go. A candidate holds if it explains the change: of the pixels that changed and
// differ from their left neighbour, which are looked at in up to 32 lines, at least 60 % are,
// neighbour included, what the displaced frame before has there. The displacement is then an exact
// integer; of several the one that explains most, and none if two explain the same, as content does
// that repeats. Where no integer holds, one that leaves at most half of the difference, and 65 % of
// that of the steps from each pixel to the next, is refined to a fraction of a pixel, ± 0.5: noise
// and smooth content have no such displacement. A frame in which not even that is so may be scaled
// about the middle of R: scroll_zoom.go. Else it is undecided if it lies between frames that move.
//
//	moving_frames          frames that move or are scaled
//	runs                   see below
//	framerate              moving frames − 1 of each run / time from its first to its last, frames/s
//	distance_x, distance_y Σ dx, Σ dy, px; distance: Σ |(dx, dy)|
//	displacement_max       of a frame, px, over a gap an equal share of it; displacement_p50: median of moving frames, nearest rank
//	speed, speed_max       distance of runs but for their first frames / their time; of a single frame, by the time since the moving frame before it; px/s
//	motion_error_rms, motion_error_max         px, of all stored frames of runs of at least 3 moving frames: see scroll_runs.go
//	animation_error_rms, animation_error_max   ms, where pages draw a code strip: content time step − display time step
//	zoom                   Π scale
//	undecided_frames       changed as much as those that move, within or next to a run, and neither displacement nor scale was found
//
// A run is a stretch of moving frames no two of which are more than 200 ms apart, and that never
// turns back: the scalar product of a displacement and the one before it in the run is not
// negative. Frames that are scaled form no runs.
//
// The animation error of a moving frame is (its clock − the clock of the moving frame before it) −
// (their times' difference); clocks are in whole milliseconds, so it is known to ± 1 ms.
//
// Not every change is tried. Changes of less than a sixteenth of R are not motion of content. The
// others are classed by where in R they lie, in quarters of its sides, and only 3 or more of a
// class that follow each other within 200 ms are taken for motion. Of a class of 8 frames or more,
// 4 are tried first, from the middle of its longest stretches; where none of them has moved, none
// of the class is tried: a video costs nothing more. Frames in which the codec found rows moved are
// always tried, single ones too, and so is every frame within 200 ms of one that is tried, unless
// it is of a class that does not move.
//
// Series: "dx", "dy", "speed", "scale", "motion_error", "animation_error", each at frames that have
// one.
func scrollMeasure() measure {
	return measure{name: "scroll", version: 1, begin: beginScroll, values: []string{
		"moving_frames", "runs", "framerate", "distance", "distance_x", "distance_y", "displacement_max",
		"displacement_p50", "speed", "speed_max",
		"motion_error_rms", "motion_error_max", "animation_error_rms", "animation_error_max", "input_lag", "zoom",
		"undecided_frames",
	}}
}

// ScrollOptions say what is known of the input.
type ScrollOptions struct {
	// Kinds of the events that say how far or how fast content was asked to move; empty: "scroll",
	// "pan".
	Kinds []string
}

// scroll estimates the motion of each frame.
type scroll struct {
	*Case
	scout *scout
	motor *motor
	ids   *idReader
	moves []motion // of unique frames that moved, or of which it is not known
	lost  []int    // frames that have lost ones before them
	few   []int    // frames that were not tried, since too few follow each other
	tried int
}

// motion is what became of the frame before.
type motion struct {
	frame  int
	dx, dy float64 // px
	scale  float64 // 1: not scaled
	within float64 // dx and dy are known to ±; 0: exact
	bound  float64 // scale is known to ±
	failed bool    // it is not known
}

func (m *motion) length() float64 { return math.Hypot(m.dx, m.dy) }

func beginScroll(c *Case) (part, error) {
	s, err := newScout(c)
	if err != nil {
		return nil, err
	}
	if !s.any() {
		return nil, fmt.Errorf("nothing in the window moves as a whole: of %d frames that differ, %d change a sixteenth of the region or more, and of those %d were tried, "+
			"none of which is the frame before it, displaced or scaled", s.unique, s.candidates, s.tried)
	}
	return &scroll{Case: c, scout: s, motor: newMotor(c), ids: newIDReader(c)}, nil
}

// needsPixels: displacements are held against pixels.
func (p *scroll) needsPixels() bool { return true }

func (p *scroll) fork() part {
	return &scroll{Case: p.Case, scout: p.scout, motor: newMotor(p.Case), ids: p.ids.fork()}
}

func (p *scroll) add(f *Frame) {
	p.ids.add(f)
	if f.Number == p.Window.Start {
		return
	}
	if f.Lost > 0 {
		p.lost = append(p.lost, f.Number)
	}
	if !f.Unique || f.Diff == nil {
		return
	}
	if !p.scout.worth(f.Number, f.Change) {
		if p.scout.few(f.Change) {
			p.few = append(p.few, f.Number)
		}
		return
	}
	p.tried++
	if m, ok := p.motor.estimate(f.Change, f.Diff, f.Previous, f.Image); ok {
		m.frame = f.Number
		p.moves = append(p.moves, m)
	} else {
		p.moves = append(p.moves, motion{frame: f.Number, scale: 1, failed: true})
	}
}

func (p *scroll) merge(next part) {
	n := next.(*scroll)
	p.moves, p.lost, p.tried = append(p.moves, n.moves...), append(p.lost, n.lost...), p.tried+n.tried
	p.few = append(p.few, n.few...)
	p.ids.merge(n.ids)
}
