package controller

import (
	"math"
	"slices"
	"time"

	"github.com/eideticker/eideticker/controller/input"
)

// stroke is the way of one finger.
type stroke struct {
	path     [][2]float64
	after    time.Duration
	duration time.Duration
}

// sample is where something is at a time.
type sample struct {
	after time.Duration
	x, y  float64
}

// along goes along a path at one speed: from its first point at 0 to its last at d. A path of one
// point is that point, at 0.
func along(path [][2]float64, d time.Duration) []sample {
	if len(path) == 1 {
		return []sample{{0, path[0][0], path[0][1]}}
	}
	lengths := make([]float64, len(path))
	for i := 1; i < len(path); i++ {
		lengths[i] = lengths[i-1] + math.Hypot(path[i][0]-path[i-1][0], path[i][1]-path[i-1][1])
	}
	n := max(1, int(d/often))
	all := make([]sample, 0, n+1)
	leg := 1
	for k := range n + 1 {
		way := lengths[len(path)-1] * float64(k) / float64(n)
		for leg < len(path)-1 && lengths[leg] < way {
			leg++
		}
		part := 0.0
		if l := lengths[leg] - lengths[leg-1]; l > 0 {
			part = min((way-lengths[leg-1])/l, 1)
		}
		a, b := path[leg-1], path[leg]
		all = append(all, sample{d * time.Duration(k) / time.Duration(n), a[0] + (b[0]-a[0])*part,
			a[1] + (b[1]-a[1])*part})
	}
	return all
}

// strokes moves several fingers; what falls on one moment is one report.
func strokes(all []stroke) (timed []input.Timed) {
	add := func(after time.Duration, a input.Action) {
		timed = append(timed, input.Timed{After: after, Actions: []input.Action{a}})
	}
	for finger, s := range all {
		for i, p := range along(s.path, s.duration) {
			if i == 0 {
				add(s.after, input.TouchDown{Finger: finger, X: p.x, Y: p.y})
				continue
			}
			add(s.after+p.after, input.TouchMove{Finger: finger, X: p.x, Y: p.y})
		}
		add(s.after+s.duration, input.TouchUp{Finger: finger})
	}
	slices.SortStableFunc(timed, func(a, b input.Timed) int { return int(min(max(a.After-b.After, -1), 1)) })
	return join(timed)
}

// join makes one report of what different fingers do at one moment. What one finger does there
// twice stays in order.
func join(timed []input.Timed) (joined []input.Timed) {
	for _, t := range timed {
		at, moment := len(joined), len(joined)
		for moment > 0 && joined[moment-1].After == t.After {
			moment--
		}
		for at > moment && !touches(joined[at-1].Actions, finger(t.Actions[0])) {
			at--
		}
		if at == len(joined) {
			joined = append(joined, t)
			continue
		}
		joined[at].Actions = append(joined[at].Actions, t.Actions...)
	}
	return joined
}

func touches(actions []input.Action, f int) bool {
	return slices.ContainsFunc(actions, func(a input.Action) bool { return finger(a) == f })
}

func finger(a input.Action) int {
	switch a := a.(type) {
	case input.TouchDown:
		return a.Finger
	case input.TouchMove:
		return a.Finger
	case input.TouchUp:
		return a.Finger
	}
	return -1
}
