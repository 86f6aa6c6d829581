package analyze

import "fmt"

// # loadhist: load histogram
//
// H[i] = size(R) − pixelDiff(fe, fi), from g to e. It is the number of pixels of frame i that equal
// the last content frame. Series "equal_pixels" has H[i], and series "progress" has the fraction
// p(i) = H[i] / size(R). Masked pixels are in neither.
//
//	region_pixels    size(R);
//	equal_at_start   p of the first frame: the part that was right from the start.
//
// Both series hold from one changed frame to the next. The content of frames lost in between is
// unknown. If frames are lost between e and r, the last content may be among them. p may then have
// been anything.
func loadhistMeasure() measure {
	return measure{name: "loadhist", version: 1, pixels: true, begin: beginLoad, values: histogramValues()}
}

func histogramValues() []string { return []string{"equal_at_start", "region_pixels"} }

func beginLoad(c *Case) (part, error) {
	l, err := c.load()
	if err != nil {
		return nil, err // and no part that is not nil and holds nothing
	}
	return l, nil
}

// histogramOfLoad is the result of loadhist.
func (l *load) histogramOfLoad() Result {
	size := float64(l.Area.Pixels)
	pixels := Series{Name: "equal_pixels", Unit: "pixels", Holds: true, Frames: l.frames}
	progress := Series{Name: "progress", Unit: "fraction", Holds: true, Frames: l.frames, Values: l.progress()}
	for _, n := range l.equal {
		pixels.Values = append(pixels.Values, float64(n))
	}
	start := exactly("equal_at_start", "fraction", progress.Values[0], Neither, 0)
	r := Result{Series: []Series{progress, pixels}}
	lost := l.lost()
	behind, _ := l.lostBehind()
	if lost > behind {
		r.State = Bounded // though every value may be sure
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("%d frames of the window are lost: how many of their pixels were as in the end is not known",
				lost-behind))
	}
	if behind > 0 {
		start = between(start.Name, start.Unit, start.Value, 0, 1, Neither, 0)
		r.Warnings = append(r.Warnings, lostFinal)
	}
	r.Values = []Value{exactly("region_pixels", "pixels", size, Neither, 0), start}
	return r
}

// progress returns p of the frames that were noted.
func (l *load) progress() []float64 {
	p := make([]float64, len(l.equal))
	for i, n := range l.equal {
		p[i] = float64(n) / float64(l.Area.Pixels)
	}
	return p
}
