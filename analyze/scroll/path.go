package scroll

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// # Input path
//
// The sender of the input may describe the requested motion, in events of kind "scroll" or "pan".
// Their Data is one of:
//
//	{"dx": 0, "dy": -320}      position at the event's time, pixels from the first position;
//	                           content moves straight and evenly between two events
//	{"vx": 0, "vy": -1200}     speed from the event's time until the next event, pixels per second
//
// Units are pixels of the frame, x to the right and y down, as for displacements. A page that is
// scrolled down moves up, dy < 0. A path uses one of the two forms. A missing number is 0. Before
// the first event content rests.
type path []waypoint

// waypoint is where content should be.
type waypoint struct {
	at   timeline.Time
	x, y float64
}

const farthest = 1e9 // pixels or pixels per second of an event

// path reads the events of the window, and says what of them cannot be read.
func (p *part) path() (all path, warnings []string) {
	kinds := p.kinds
	if len(kinds) == 0 {
		kinds = []string{"scroll", "pan"}
	}
	type leg struct {
		at           timeline.Time
		DX, DY       *float64
		VX, VY       *float64
		moves, flows bool
	}
	var legs []leg
	for n, e := range p.Recording.Events() {
		if !slices.Contains(kinds, e.Kind) || e.At > p.Times.At(p.Window.End) {
			continue
		}
		l := leg{at: e.At}
		var data struct{ DX, DY, VX, VY *float64 }
		whole, err := p.Recording.Event(n)
		if err == nil {
			err = json.Unmarshal(whole.Data, &data)
		}
		l.DX, l.DY, l.VX, l.VY = data.DX, data.DY, data.VX, data.VY
		l.moves, l.flows = l.DX != nil || l.DY != nil, l.VX != nil || l.VY != nil
		far := func(v *float64) bool { return v != nil && math.Abs(*v) > farthest }
		if err != nil || l.moves == l.flows || len(legs) > 0 && legs[0].moves != l.moves || far(l.DX) || far(l.DY) ||
			far(l.VX) || far(l.VY) {
			return nil, []string{fmt.Sprintf(
				`the event %q at %.3f s does not say where content should go: its data must be {"dx", "dy"} in pixels `+
					`or {"vx", "vy"} in pixels per second, the same in all; constant velocity is looked for instead`,
				e.Kind, time.Duration(e.At).Seconds())}
		}
		legs = append(legs, l)
	}
	slices.SortStableFunc(legs, func(a, b leg) int { return int(min(max(a.at-b.at, -1), 1)) })
	value := func(v *float64) float64 {
		if v == nil {
			return 0
		}
		return *v
	}
	if len(legs) > 0 && legs[0].moves {
		for _, l := range legs {
			all = append(all, waypoint{l.at, value(l.DX), value(l.DY)})
		}
		return all, nil
	}
	var x, y float64
	for i, l := range legs {
		all = append(all, waypoint{l.at, x, y})
		end := p.Times.At(p.Window.End)
		if i+1 < len(legs) {
			end = legs[i+1].at
		}
		took := max(0, end.Sub(l.at).Seconds())
		x, y = x+value(l.VX)*took, y+value(l.VY)*took
		if i+1 == len(legs) {
			all = append(all, waypoint{end, x, y})
		}
	}
	return all, nil
}

// where returns where content should be.
func (p path) where(at timeline.Time) (x, y float64) {
	i := sort.Search(len(p), func(i int) bool { return p[i].at > at })
	switch {
	case i == 0:
		return p[0].x, p[0].y
	case i == len(p):
		return p[i-1].x, p[i-1].y
	}
	a, b := p[i-1], p[i]
	part := float64(at-a.at) / float64(b.at-a.at)
	return a.x + part*(b.x-a.x), a.y + part*(b.y-a.y)
}

// off returns the distance of content from the path. Content follows the path with a lag, from its
// position at the start.
func (p path) off(lag time.Duration, start timeline.Time) func(at timeline.Time, x, y float64) float64 {
	x0, y0 := p.where(start.Add(-lag))
	return func(at timeline.Time, x, y float64) float64 {
		px, py := p.where(at.Add(-lag))
		return math.Hypot(x-(px-x0), y-(py-y0))
	}
}

// lag returns the one with the least squares. Of very many frames it looks at some.
func (p path) lag(all [][]place, start timeline.Time) time.Duration {
	const most = 4000
	count := 0
	for _, places := range all {
		count += len(places)
	}
	stride := max(1, count/most)
	best, least := time.Duration(0), math.Inf(1)
	for k := range longestMS + 1 {
		lag := time.Duration(k) * time.Millisecond
		off := p.off(lag, start)
		sum := 0.0
		for _, places := range all {
			for i := 0; i < len(places); i += stride {
				d := off(places[i].at, places[i].x, places[i].y)
				sum += d * d
			}
		}
		if sum < least {
			best, least = lag, sum
		}
	}
	return best
}

// reach is at least the distance between any two places of the path.
func (p path) reach() (most float64) {
	for _, w := range p {
		most = max(most, 2*math.Hypot(w.x-p[0].x, w.y-p[0].y))
	}
	return most
}
