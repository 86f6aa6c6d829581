package stats

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze"
)

// Sentence says it in words: "slower by 12 % (8–17 %), 10 runs each".
func (d *Difference) Sentence() string {
	switch {
	case d.oneValue() && (!d.single() || d.Verdict == Unchanged):
		return "the same, " + d.runs()
	case d.Verdict == Inconclusive && d.Direction != "":
		return fmt.Sprintf("%s by %s, %s, which may be chance%s", d.word(), d.size(), d.runs(), d.advice())
	case d.Verdict == Inconclusive:
		return "not decided: " + d.Size() + ", " + d.runs() + d.advice()
	case d.Verdict == Untested:
		return d.Size() + ", " + d.runs()
	case d.Verdict == Unchanged:
		return "unchanged: " + d.Size() + ", " + d.runs()
	}
	return fmt.Sprintf("%s by %s, %s", d.word(), d.size(), d.runs())
}

func (d *Difference) runs() string {
	switch a, b := len(d.A), len(d.B); {
	case d.single():
		return "single runs"
	case d.Test == SignedRank:
		return fmt.Sprintf("%d blocks", a)
	case a == b:
		return fmt.Sprintf("%d runs each", a)
	default:
		return fmt.Sprintf("%d and %d runs", a, b)
	}
}

// advice says what to do where nothing can be told.
func (d *Difference) advice() string {
	switch {
	case d.MoreA == 0 && d.MoreB == 0:
		return fmt.Sprintf("; no number of runs up to %d would do", MaxRuns)
	case d.Test == SignedRank:
		return fmt.Sprintf("; %s would do", more(d.MoreA, "block"))
	case d.MoreA == d.MoreB:
		return fmt.Sprintf("; %s each would do", more(d.MoreA, "run"))
	case d.MoreB == 0:
		return fmt.Sprintf("; %s of A would do", more(d.MoreA, "run"))
	case d.MoreA == 0:
		return fmt.Sprintf("; %s of B would do", more(d.MoreB, "run"))
	}
	return fmt.Sprintf("; %s of A and %d of B would do", more(d.MoreA, "run"), d.MoreB)
}

func more(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("about %d more %s", n, what)
}

// word says how B differs: in time and rates by speed, in everything else by amount.
func (d *Difference) word() string {
	time := slices.Contains([]string{"ns", "µs", "us", "ms", "s"}, d.Measure.Unit) && d.Measure.Better != analyze.Higher
	rate := strings.HasSuffix(d.Measure.Unit, "/s") && d.Measure.Better == analyze.Higher
	up := d.estimate() > 0
	switch {
	case time && d.Measure.Better == analyze.Lower && up, rate && !up:
		return "slower"
	case time && d.Measure.Better == analyze.Lower, rate:
		return "faster"
	case up:
		return "higher"
	}
	return "lower"
}

// size is how much B differs, the sign left to the word before it.
func (d *Difference) size() string {
	i, format := d.scale()
	if i.Estimate < 0 {
		i.Estimate, i.Low, i.High = -i.Estimate, -i.High, -i.Low
	}
	size := format(i.Estimate, true)
	if !i.Exists {
		return size
	}
	if i.Low < 0 {
		return fmt.Sprintf("%s (%s to %s)", size, format(i.Low, false), format(i.High, true))
	}
	return fmt.Sprintf("%s (%s–%s)", size, format(i.Low, false), format(i.High, true))
}

// Size is how much B differs, with its sign and its interval: "+12 % (8 to 17 %)".
func (d *Difference) Size() string {
	i, format := d.scale()
	signed := func(v float64, unit bool) string {
		if v > 0 {
			return "+" + format(v, unit)
		}
		return format(v, unit)
	}
	if !i.Exists {
		return signed(i.Estimate, true)
	}
	return fmt.Sprintf("%s (%s to %s)", signed(i.Estimate, true), signed(i.Low, false), signed(i.High, true))
}

// scale returns the interval that is printed, and the formatter of its numbers.
func (d *Difference) scale() (Interval, func(v float64, unit bool) string) {
	i := d.interval()
	unit := " " + d.Measure.Unit
	if d.HasChange {
		percent := func(fraction float64) float64 { return math.Round(fraction*1e11) / 1e9 } // 103 ÷ 100 − 1 is 3 %
		i.Estimate, i.Low, i.High = percent(i.Estimate), percent(i.Low), percent(i.High)
		unit = " %"
	}
	digits, apart := digitsFor(i)
	i.Exists = i.Exists && apart
	return i, func(v float64, withUnit bool) string {
		s := strconv.FormatFloat(v, 'f', digits, 64)
		if v < 0 && strings.Trim(s, "-0.") == "" {
			s = s[1:] // no minus before a zero
		}
		s = strings.Replace(s, "-", "−", 1)
		if withUnit {
			s = strings.TrimRight(s+unit, " ")
		}
		return s
	}
}

// digitsFor returns how many digits after the point an interval is printed with: two figures of its
// largest number. It returns none if all numbers are whole, and more if its parts would look the
// same. apart is false if its ends look the same even so. The interval is then left out.
func digitsFor(i Interval) (digits int, apart bool) {
	shown := []float64{i.Estimate}
	if i.Exists {
		shown = append(shown, i.Low, i.High)
	}
	largest, whole := 0.0, true
	for _, v := range shown {
		largest = max(largest, math.Abs(v))
		whole = whole && v == math.Round(v)
	}
	for ; !whole && digits < maxDigits && largest*math.Pow10(digits) < 9.95; digits++ {
	}
	same := func(a, b float64, digits int) bool {
		format := func(v float64) string { return strconv.FormatFloat(v, 'f', digits, 64) }
		isZero := func(s string) bool { return strings.Trim(s, "-0.") == "" }
		return format(a) == format(b) || isZero(format(a)) && isZero(format(b))
	}
	alike := func(a, b float64) bool { return a != b && same(a, b, digits) }
	if !i.Exists || same(i.Low, i.High, maxDigits) {
		return digits, false
	}
	for ; digits < maxDigits && (alike(i.Low, i.Estimate) || alike(i.Estimate, i.High) ||
		alike(i.Low, i.High)); digits++ {
	}
	return digits, true
}

const maxDigits = 3
