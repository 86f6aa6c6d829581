package v4l2

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/eideticker/eideticker/capture"
)

// Timings are those of a signal, as a receiver detects them.
type Timings struct {
	Width, Height int // pixels that are seen; of an interlaced signal, of both fields
	Interlaced    bool
	PixelClock    uint64 // Hz, as the driver says
	// TotalWidth and TotalHeight count blanking too.
	TotalWidth, TotalHeight int
	// Period is the time of a frame. A clock within 200 millionths of a usual rate is rounded to
	// it, since receivers are not more exact. Usual rates are 24, 25, 30; 48, 50, 60; and further
	// ones, and these divided by 1.001.
	Period capture.Rational
	VIC    int // CTA-861 video identification code, or 0
}

// TimingsCap is the range of timings that a receiver can take.
type TimingsCap struct {
	MinWidth, MaxWidth           int
	MinHeight, MaxHeight         int
	MinPixelClock, MaxPixelClock uint64 // Hz
	Interlaced, Progressive      bool
	ReducedBlanking, Custom      bool
	// Modes are the timings that the driver lists, such as "1920x1080p60".
	Modes []Timings
}

// scanOut is the time from a frame's first row to its last; 0 where it is not known, and of an
// interlaced signal, whose fields follow each other.
func (t Timings) scanOut() time.Duration {
	if t.Interlaced || t.TotalHeight < t.Height || t.Height <= 0 || t.Period.Den <= 0 {
		return 0
	}
	return time.Duration(float64(t.Period.Duration(1)) * float64(t.Height) / float64(t.TotalHeight))
}

// String is "1920x1080p59.94", of an interlaced signal "1920x1080i60", which counts fields.
func (t Timings) String() string {
	if t.Interlaced {
		return fmt.Sprintf("%dx%di%s", t.Width, t.Height,
			rateString(capture.Rational{Num: t.Period.Num, Den: 2 * t.Period.Den}))
	}
	return fmt.Sprintf("%dx%dp%s", t.Width, t.Height, rateString(t.Period))
}

// rateString writes frames a second as people do: "60", "59.94", "23.976".
func rateString(period capture.Rational) string {
	if period.Num <= 0 || period.Den <= 0 {
		return "?"
	}
	if period.Den%period.Num == 0 {
		return fmt.Sprint(period.Den / period.Num)
	}
	milli := (period.Den*1000 + period.Num/2) / period.Num
	s := fmt.Sprintf("%d.%03d", milli/1000, milli%1000)
	for s[len(s)-1] == '0' && s[len(s)-2] != '.' {
		s = s[:len(s)-1]
	}
	return s
}

// Limits of accepted timings.
const (
	maxTotal      = 1 << 16 // pixels, lines
	maxPixelClock = 1 << 36 // Hz
)

// bounded returns an error unless a signal can have these timings: not zero, and small enough to
// compute with.
func (t Timings) bounded() error {
	switch {
	case t.Width <= 0 || t.Height <= 0 || t.PixelClock == 0:
		return fmt.Errorf("the driver reports timings of %dx%d at a pixel clock of %d Hz, which no signal has", t.Width,
			t.Height, t.PixelClock)
	case t.TotalWidth < t.Width || t.TotalHeight < t.Height || t.TotalWidth > maxTotal || t.TotalHeight > maxTotal ||
		t.PixelClock > maxPixelClock:
		return fmt.Errorf("the driver reports timings of %dx%d in %dx%d at a pixel clock of %d Hz, which no signal has",
			t.Width, t.Height, t.TotalWidth, t.TotalHeight, t.PixelClock)
	}
	return nil
}

// same reports whether two timings are of one mode. Clocks are compared to 1 in 2,000: receivers
// measure them, and not twice alike, while 60 and 59.94 differ by 1 in 1,000.
func (t Timings) same(u Timings) bool {
	d := max(t.PixelClock, u.PixelClock) - min(t.PixelClock, u.PixelClock)
	return t.Width == u.Width && t.Height == u.Height && t.Interlaced == u.Interlaced &&
		t.TotalWidth == u.TotalWidth && t.TotalHeight == u.TotalHeight &&
		d <= t.PixelClock/2000 && nearPeriod(t.Period, u.Period)
}

func nearPeriod(a, b capture.Rational) bool {
	x, y := a.Duration(1), b.Duration(1)
	return max(x, y)-min(x, y) <= max(x, y)/2000
}

// framePeriod returns pixels per frame ÷ pixel clock, simplified.
func framePeriod(pixels, clock uint64, reduced bool) capture.Rational {
	if pixels == 0 || clock == 0 {
		return capture.Rational{}
	}
	num, den := pixels, clock
	if reduced { // the clock is nominal, the signal's is slower by 1000/1001
		num, den = num*1001, den*1000
	}
	return simplify(num, den)
}

// usualRates are those of CTA-861 and of monitors; each also comes divided by 1.001. It is never
// written to.
var usualRates = [...]uint64{24, 25, 30, 48, 50, 60, 72, 75, 90, 96, 100, 120, 144, 165, 180, 200, 240}

// simplify returns num/den seconds as a fraction that capture.Rational can count with: that of a
// usual rate within 200 millionths, else as it is, or the nearest with small terms. num and den are
// below 2^48.
func simplify(num, den uint64) capture.Rational {
	for _, rate := range usualRates {
		for _, p := range [][2]uint64{{1, rate}, {1001, rate * 1000}} {
			// |num/den − p0/p1| ≤ 2e-4 · p0/p1, in whole numbers
			hi1, lo1 := bits.Mul64(num, p[1])
			hi2, lo2 := bits.Mul64(den, p[0])
			if hi1 != 0 || hi2 != 0 {
				continue
			}
			if d := max(lo1, lo2) - min(lo1, lo2); d <= lo2/5000 {
				return capture.Rational{Num: int64(p[0]), Den: int64(p[1])}
			}
		}
	}
	if g := gcd(num, den); num/g < 1<<32 && den/g < 1<<32 && (num/g)*(den/g) <= maxTerms {
		return capture.Rational{Num: int64(num / g), Den: int64(den / g)}
	}
	return nearest(num, den)
}

// maxTerms bounds numerator × denominator of what capture.Rational can count with.
const maxTerms = 18_000_000_000

// gcd is the greatest common divisor of two numbers that are not 0.
func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// nearest is the last convergent of the continued fraction of num/den whose terms are small enough.
func nearest(num, den uint64) capture.Rational {
	const most = 130_000
	var p0, q0, p1, q1 uint64 = 0, 1, 1, 0
	for den != 0 {
		a := num / den
		if a > most {
			break
		}
		p2, q2 := a*p1+p0, a*q1+q0
		if p2 > most || q2 > most {
			break
		}
		p0, q0, p1, q1 = p1, q1, p2, q2
		num, den = den, num%den
	}
	if p1 == 0 || q1 == 0 {
		return capture.Rational{}
	}
	return capture.Rational{Num: int64(p1), Den: int64(q1)}
}
