package render

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/capture/frame"
)

// Scale says how counts become colours.
type Scale int

const (
	scaleAuto   Scale = iota // Log where the largest count is at least 20 times the least, else scaleLinear
	scaleLinear              // by the count
	scaleLog                 // by the count's logarithm
)

// HeatOptions say how a heat map is drawn; the zero value is a map on black.
type HeatOptions struct {
	Title string
	Scale Scale
	// Under is a frame that is laid under the map, such as the last one; nil for none. It is the
	// whole frame, of which the map's region is taken. Where pixels never changed it is seen in
	// dark grey, and where they did only its edges are: colours are those of the legend.
	Under *frame.Image
}

// errHeat is wrapped where counts cannot be drawn.
var errHeat = errors.New("bad heat map")

func checkHeat(h *analyze.Heat) error {
	switch {
	case h == nil:
		return fmt.Errorf("%w: there is none", errHeat)
	case h.Width < 1 || h.Height < 1 || h.Width > frame.MaxSide || h.Height > frame.MaxSide:
		return fmt.Errorf("%w: %dx%d pixels, want sides of 1 to %d", errHeat, h.Width, h.Height, frame.MaxSide)
	case len(h.Counts) != h.Width*h.Height:
		return fmt.Errorf("%w: %d counts for %dx%d pixels", errHeat, len(h.Counts), h.Width, h.Height)
	}
	return nil
}

func checkPair(a, b *analyze.Heat) error {
	if err := errors.Join(checkHeat(a), checkHeat(b)); err != nil {
		return err
	}
	if a.Width != b.Width || a.Height != b.Height {
		return fmt.Errorf("%w: %dx%d and %dx%d pixels do not compare, choose regions of one size",
			errHeat, a.Width, a.Height, b.Width, b.Height)
	}
	return nil
}

// HeatPicture draws counts in colours that get lighter with them, a legend below. Pixels that never
// changed have no colour. The map is not scaled, but for narrow regions, which are drawn in larger
// pixels.
func HeatPicture(h *analyze.Heat, o HeatOptions) (*image.RGBA, error) {
	if err := checkHeat(h); err != nil {
		return nil, fmt.Errorf("draw heat map: %w", err)
	}
	ramp := newRamp(h.Counts, o.Scale)
	p, err := newHeatSheet(h, o)
	if err != nil {
		return nil, fmt.Errorf("draw heat map: %w", err)
	}
	p.paint(func(i int) (color.RGBA, bool) { return ramp.colour(h.Counts[i]), h.Counts[i] > 0 })
	p.header(o.Title, "Changes per pixel", fmt.Sprintf("%s changes, %.1f %% of pixels", number(float64(ramp.total), 0),
		100*float64(ramp.hot)/float64(len(h.Counts))))
	p.rampLegend(ramp)
	return p.img, nil
}

// HeatDifference draws b's counts less a's: blue where b has fewer changes, orange-red where it has
// more.
func HeatDifference(a, b *analyze.Heat, o HeatOptions) (*image.RGBA, error) {
	if err := checkPair(a, b); err != nil {
		return nil, fmt.Errorf("draw difference of heat maps: %w", err)
	}
	scale := newBalance(a.Counts, b.Counts, o.Scale)
	p, err := newHeatSheet(b, o)
	if err != nil {
		return nil, fmt.Errorf("draw difference of heat maps: %w", err)
	}
	p.paint(func(i int) (color.RGBA, bool) {
		d := int64(b.Counts[i]) - int64(a.Counts[i])
		return scale.colour(d), d != 0
	})
	p.header(o.Title, "Difference of changes per pixel", fmt.Sprintf("+%s and −%s changes",
		number(float64(scale.more), 0), number(float64(scale.fewer), 0)))
	p.balanceLegend(scale)
	return p.img, nil
}

// faintest is the place of a count of 1 on the colour map. Lower places are too close to black.
const faintest = 0.16

// ramp gives counts from 1 up their colours.
type ramp struct {
	colours *colourMap
	log     bool
	min     uint32 // the least that is not 0: where all changed much, that is where colours begin
	max     uint32
	total   uint64
	hot     int // pixels with at least one
}

func newRamp(counts []uint32, s Scale) *ramp {
	r := &ramp{colours: sequential()}
	for _, c := range counts {
		r.max = max(r.max, c)
		r.total += uint64(c)
		if c > 0 {
			if r.hot == 0 || c < r.min {
				r.min = c
			}
			r.hot++
		}
	}
	r.log = isLog(s, float64(r.max)/float64(max(r.min, 1)))
	return r
}

func isLog(s Scale, top float64) bool {
	const fromHere = 20
	return s == scaleLog || s == scaleAuto && top >= fromHere
}

// onlyCount is where on the colour map the only count is that there is.
const onlyCount = 0.6

// part returns where from 0 to 1 a count lies between the least and the largest.
func (r *ramp) part(c float64) float64 {
	low, high := float64(r.min), float64(r.max)
	switch {
	case low >= high:
		return onlyCount
	case r.log:
		return math.Log(c/low) / math.Log(high/low)
	}
	return (c - low) / (high - low)
}

func (r *ramp) colour(c uint32) color.RGBA {
	if c == 0 {
		return color.RGBA{}
	}
	return r.colours.at(faintest + (1-faintest)*r.part(float64(c)))
}

// balance gives differences their colours, as far from the middle for less as for more.
type balance struct {
	colours     *colourMap
	log         bool
	max         int64 // the largest difference, at least 1
	more, fewer int64 // sums
}

func newBalance(a, b []uint32, s Scale) *balance {
	m := &balance{colours: diverging(), max: 1}
	for i := range a {
		d := int64(b[i]) - int64(a[i])
		m.max = max(m.max, d, -d)
		m.more += max(d, 0)
		m.fewer += max(-d, 0)
	}
	m.log = isLog(s, float64(m.max))
	return m
}

// part returns where from -1 to 1 a difference lies. The logarithm is taken of one more than its
// size, so that none is 0.
func (m *balance) part(d float64) float64 {
	if !m.log {
		return d / float64(m.max)
	}
	return math.Copysign(math.Log1p(math.Abs(d))/math.Log1p(float64(m.max)), d)
}

func (m *balance) colour(d int64) color.RGBA { return m.colours.at(0.5 + m.part(float64(d))/2) }

// steps returns the counts to name on a legend, from 1 to top: those of 1, 2, 5 and their tens.
func steps(top float64, log bool) []float64 {
	var all []float64
	for ten := 1.0; ten <= top; ten *= 10 {
		for _, n := range []float64{ten, 2 * ten, 5 * ten} {
			if n <= top {
				all = append(all, n)
			}
		}
	}
	if log {
		return all
	}
	for i := len(all) - 1; i >= 0; i-- { // the coarsest that gives at least three
		step := all[i]
		if top/step < 3 && i > 0 {
			continue
		}
		var even []float64
		for n := step; n <= top; n += step {
			even = append(even, n)
		}
		return even
	}
	return all
}
