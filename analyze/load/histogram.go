package load

import (
	"github.com/eideticker/eideticker/analyze/measure"
)

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
func Histogram(o Options) measure.Measure {
	return measure.Measure{Name: "loadhist", Version: 1, Pixels: true, Begin: begin(o), Values: histogramValues()}
}

func histogramValues() []string { return []string{"equal_at_start", "region_pixels"} }

// begin begins with the part that load histogram and figures share.
func begin(o Options) func(*measure.Case) (measure.Part, error) {
	return func(c *measure.Case) (measure.Part, error) {
		return c.Once("load", func() (measure.Part, error) { return newPart(c, o.Variants) })
	}
}

// histogramOfLoad is the result of loadhist.
func (l *part) histogramOfLoad() measure.Result {
	size := float64(l.Area.Pixels)
	pixels := measure.Series{Name: "equal_pixels", Unit: "pixels", Holds: true, Frames: l.frames}
	progress := measure.Series{Name: "progress", Unit: "fraction", Holds: true, Frames: l.frames, Values: l.progress()}
	for _, n := range l.equal {
		pixels.Values = append(pixels.Values, float64(n))
	}
	start := measure.Exactly("equal_at_start", "fraction", progress.Values[0], measure.Neither, 0)
	r := measure.Result{Series: []measure.Series{progress, pixels}}
	lost := l.Lost()
	behind, _ := l.LostAtEnd()
	if lost > behind {
		r.State = measure.Bounded // though every value may be sure
		r.Warnf("%d frames of the window are lost: how many of their pixels were as in the end is not known",
			lost-behind)
	}
	if behind > 0 {
		start = measure.Between(start.Name, start.Unit, start.Value, 0, 1, measure.Neither, 0)
		r.Warnings = append(r.Warnings, lostFinal)
	}
	r.Values = []measure.Value{measure.Exactly("region_pixels", "pixels", size, measure.Neither, 0), start}
	return r
}

// progress returns p of the frames that were noted.
func (l *part) progress() []float64 {
	p := make([]float64, len(l.equal))
	for i, n := range l.equal {
		p[i] = float64(n) / float64(l.Area.Pixels)
	}
	return p
}
