package controller

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/suite"
)

// often is how far apart the reports of a pointer or finger are that moves: touch screens and mice
// tell their place 125 times a second or so.
const often = 8 * time.Millisecond

// gesture makes the actions of an input step, at their times.
func (r *run) gesture(s suite.Step) ([]input.Timed, error) {
	switch a := s.Action.(type) {
	case suite.Key:
		return key(a), nil
	case suite.Text:
		return text(a), nil
	case suite.Click:
		return r.click(a), nil
	case suite.Tap:
		return r.tap(a), nil
	case suite.Move:
		from := r.pointer
		if a.From != nil {
			from = r.at(*a.From)
		}
		return r.move(from, r.at(a.To), a.Duration), nil
	case suite.Hover:
		return r.hover(a), nil
	case suite.Drag:
		return r.drag(a), nil
	case suite.Wheel:
		return r.wheel(a), nil
	case suite.Swipe:
		return strokes([]stroke{{path: r.way(a.From, a.Via, a.To), duration: a.Duration}}), nil
	case suite.Pinch:
		return r.pinch(a), nil
	case suite.Touch:
		return r.fingers(a.Fingers), nil
	case suite.Replay:
		return r.replay(a)
	case suite.Script:
		if r.Gestures == nil {
			return nil, fmt.Errorf("scripts: %w", errors.ErrUnsupported)
		}
		return r.Gestures.Script(a.Text, r.area())
	}
	return nil, fmt.Errorf("%s is not an input", s.Verb())
}

// at is where a point lies on the screen.
func (r *run) at(p suite.Point) [2]float64 {
	x, y := p.In(r.area())
	return [2]float64{x, y}
}

func key(k suite.Key) (all []input.Timed) {
	var down, up []input.Action
	for i := range k.Chord {
		down = append(down, input.KeyDown{Key: k.Chord[i]})
		up = append(up, input.KeyUp{Key: k.Chord[len(k.Chord)-1-i]})
	}
	for i := range max(k.Times, 1) {
		begin := time.Duration(i) * max(k.Every, k.Hold)
		all = append(all, input.Timed{After: begin, Actions: down}, input.Timed{After: begin + k.Hold, Actions: up})
	}
	return all
}

func text(t suite.Text) (all []input.Timed) {
	if t.Every == 0 {
		return []input.Timed{{Actions: []input.Action{input.Text{Text: t.Text}}}}
	}
	for _, c := range t.Text {
		all = append(all, input.Timed{After: time.Duration(len(all)) * t.Every,
			Actions: []input.Action{input.Text{Text: string(c)}}})
	}
	return all
}

func (r *run) click(c suite.Click) []input.Timed {
	all := r.move([2]float64{}, r.at(c.At), 0)
	for i := range max(c.Times, 1) {
		begin := time.Duration(i) * max(suite.DoubleClick, c.Hold)
		all = append(all,
			input.Timed{After: begin, Actions: []input.Action{input.ButtonDown{Button: c.Button}}},
			input.Timed{After: begin + c.Hold, Actions: []input.Action{input.ButtonUp{Button: c.Button}}})
	}
	return all
}

func (r *run) tap(t suite.Tap) (all []input.Timed) {
	p := r.at(t.At)
	for i := range max(t.Times, 1) {
		begin := time.Duration(i) * max(suite.DoubleClick, t.Hold)
		all = append(all,
			input.Timed{After: begin, Actions: []input.Action{input.TouchDown{X: p[0], Y: p[1]}}},
			input.Timed{After: begin + t.Hold, Actions: []input.Action{input.TouchUp{}}})
	}
	return all
}

// move brings the pointer from one place to another.
func (r *run) move(from, to [2]float64, d time.Duration) (all []input.Timed) {
	way := along([][2]float64{from, to}, d)
	if d <= 0 {
		way = way[1:]
	}
	for _, s := range way {
		all = append(all, input.Timed{After: s.after, Actions: []input.Action{input.Move{X: s.x, Y: s.y}}})
	}
	r.pointer = to
	return all
}

// hover brings the pointer to a place and leaves it there: a move to where it is already is the end
// of that time.
func (r *run) hover(h suite.Hover) []input.Timed {
	all := r.move(r.pointer, r.at(h.At), 0)
	if h.For > 0 {
		all = append(all, input.Timed{After: h.For,
			Actions: []input.Action{input.Move{X: r.pointer[0], Y: r.pointer[1]}}})
	}
	return all
}

func (r *run) drag(d suite.Drag) []input.Timed {
	path := r.way(d.From, d.Via, d.To)
	all := r.move(r.pointer, path[0], 0)
	all = append(all, input.Timed{Actions: []input.Action{input.ButtonDown{Button: d.Button}}})
	for _, s := range along(path, d.Duration)[1:] {
		all = append(all, input.Timed{After: s.after, Actions: []input.Action{input.Move{X: s.x, Y: s.y}}})
	}
	r.pointer = path[len(path)-1]
	return append(all, input.Timed{After: d.Duration, Actions: []input.Action{input.ButtonUp{Button: d.Button}}})
}

func (r *run) wheel(w suite.Wheel) (all []input.Timed) {
	if w.At != nil {
		all = r.move(r.pointer, r.at(*w.At), 0)
	}
	for i := range max(w.Times, 1) {
		all = append(all, input.Timed{After: time.Duration(i) * w.Every,
			Actions: []input.Action{input.Wheel{X: w.X, Y: w.Y}}})
	}
	return all
}

func (r *run) way(from suite.Point, via []suite.Point, to suite.Point) [][2]float64 {
	return r.path(slices.Concat([]suite.Point{from}, via, []suite.Point{to}))
}

func (r *run) path(points []suite.Point) (path [][2]float64) {
	for _, p := range points {
		path = append(path, r.at(p))
	}
	return path
}

// pinch is two fingers on opposite sides of a point.
func (r *run) pinch(p suite.Pinch) []input.Timed {
	middle := r.at(p.At)
	sin, cos := math.Sincos(p.Angle * math.Pi / 180)
	side := func(sign float64) [][2]float64 {
		at := func(distance float64) [2]float64 {
			return [2]float64{middle[0] + sign*cos*distance/2, middle[1] + sign*sin*distance/2}
		}
		return [][2]float64{at(p.From), at(p.To)}
	}
	return strokes([]stroke{{path: side(-1), duration: p.Duration}, {path: side(1), duration: p.Duration}})
}

func (r *run) fingers(fingers []suite.Finger) []input.Timed {
	var all []stroke
	for _, f := range fingers {
		all = append(all, stroke{r.path(f.Path), f.After, f.Duration})
	}
	return strokes(all)
}

// replay does what a hand did; of several recordings one is chosen by weight.
func (r *run) replay(p suite.Replay) ([]input.Timed, error) {
	if r.Gestures == nil {
		return nil, fmt.Errorf("replay: %w", errors.ErrUnsupported)
	}
	sum := 0.0
	for _, f := range p.Files {
		sum += f.Weight
	}
	at := r.Random.Float64() * sum
	chosen := p.Files[len(p.Files)-1]
	for _, f := range p.Files {
		if at < f.Weight {
			chosen = f
			break
		}
		at -= f.Weight
	}
	r.Log.Info("replay", "file", chosen.File)
	return r.Gestures.Recorded(chosen.File, r.Size) // a hand moves on all of the glass
}
