package render

import (
	"image/color"
	"math"
	"slices"
	"testing"
)

// lightness returns OKLab's L of an sRGB colour.
func lightness(c color.RGBA) float64 {
	line := func(v byte) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	r, g, b := line(c.R), line(c.G), line(c.B)
	l := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*b)
	m := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*b)
	s := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*b)
	return 0.2104542553*l + 0.7936177850*m - 0.0040720468*s
}

// TestMapsAreOrdered wants more to be lighter, evenly: a step of lightness is at most twice as
// large as the mean one.
func TestMapsAreOrdered(t *testing.T) {
	check := func(name string, colours []color.RGBA) {
		mean := (lightness(colours[len(colours)-1]) - lightness(colours[0])) / float64(len(colours)-1)
		for i := 8; i < len(colours); i++ { // over eight steps, for colours have whole numbers
			if step := (lightness(colours[i]) - lightness(colours[i-8])) / 8; step < mean/2 || step > 2*mean {
				t.Errorf("%s: lightness goes up by %.5f at %d, on average by %.5f", name, step, i, mean)
			}
		}
	}
	m := sequential()
	check("sequential", m[:])
	d := diverging()
	left, right := slices.Clone(d[:mapSteps/2]), slices.Clone(d[mapSteps/2:])
	slices.Reverse(right)
	check("diverging, less", left)
	check("diverging, more", right)
	for i := range left { // as far from the middle, as dark
		if a, b := lightness(left[i]), lightness(right[i]); math.Abs(a-b) > 0.01 {
			t.Errorf("lightness %.3f for less and %.3f for more", a, b)
		}
	}
}

func TestRampsAreOrdered(t *testing.T) {
	for _, s := range []Scale{scaleLinear, scaleLog} {
		r := newRamp([]uint32{0, 1, 5, 1000}, s)
		last := -1.0
		for c := uint32(1); c <= 1000; c++ {
			part := r.part(float64(c))
			if part < last || part < 0 || part > 1 {
				t.Fatalf("scale %v: %d counts are at %v, one fewer at %v", s, c, part, last)
			}
			last = part
		}
		if r.part(1) != 0 || r.part(1000) != 1 || r.total != 1006 || r.hot != 3 {
			t.Errorf("scale %v: ends at %v and %v, total %d of %d", s, r.part(1), r.part(1000), r.total, r.hot)
		}
	}
}

func TestBalanceIsSymmetric(t *testing.T) {
	for _, s := range []Scale{scaleLinear, scaleLog} {
		m := newBalance([]uint32{9, 0, 4}, []uint32{0, 3, 4}, s)
		if m.max != 9 || m.more != 3 || m.fewer != 9 || m.part(0) != 0 || m.part(9) != 1 || m.part(-9) != -1 ||
			m.part(3) != -m.part(-3) {
			t.Errorf("scale %v: %+v", s, m)
		}
	}
}

func TestSteps(t *testing.T) {
	for _, tc := range []struct {
		top  float64
		log  bool
		want []float64
	}{
		{1, false, []float64{1}},
		{12, false, []float64{2, 4, 6, 8, 10, 12}},
		{7, false, []float64{2, 4, 6}},
		{70, true, []float64{1, 2, 5, 10, 20, 50}},
		{0, true, nil},
	} {
		if got := steps(tc.top, tc.log); !slices.Equal(got, tc.want) {
			t.Errorf("up to %v (log %v): %v, want %v", tc.top, tc.log, got, tc.want)
		}
	}
}
