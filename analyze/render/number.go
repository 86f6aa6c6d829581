package render

import (
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/wording"
)

// decimals returns how many digits behind the point show a number of this size to three or four
// places.
func decimals(size float64) int {
	switch size = math.Abs(size); {
	case size >= 1000 || size == 0:
		return 0
	case size >= 100:
		return 1
	case size >= 1:
		return 2
	}
	return 3
}

// number formats x with a fixed number of digits behind the point, and commas between thousands.
func number(x float64, digits int) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "–"
	}
	s := strconv.FormatFloat(x, 'f', digits, 64)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "−", s[1:]
	}
	whole, rest, found := strings.Cut(s, ".")
	if found {
		rest = "." + rest
	}
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	return sign + whole + rest
}

// quantity is how the numbers of one unit are shown.
type quantity struct {
	unit   string
	factor float64
	digits int
}

// quantityOf chooses digits for numbers up to size.
func quantityOf(unit string, size float64, whole bool) quantity {
	q := quantity{unit: unit, factor: 1}
	if unit == "fraction" {
		q.unit, q.factor, whole = "%", 100, false
		size *= 100
	}
	switch {
	case whole:
	case q.unit == "%":
		q.digits = 1
	default:
		q.digits = decimals(size)
	}
	return q
}

func (q quantity) format(x float64) string {
	s := number(x*q.factor, q.digits)
	if q.unit != "" {
		s += " " + q.unit
	}
	return s
}

func isWhole(x float64) bool { return x == math.Trunc(x) && math.Abs(x) < 1<<53 }

// valueText is a value with its unit, and its bounds where it has some.
func valueText(v analyze.Value) string {
	if v.State == analyze.Refused {
		return "–"
	}
	m := wording.Measured{Value: v.Value, Low: v.Low, High: v.High, Unit: v.Unit, Bounded: v.State == analyze.Bounded}
	if bounds := m.Bounds(); bounds != "" && bounds != wording.WithinRounding {
		return m.Text() + " (" + bounds + ")"
	}
	return m.Text()
}

// holdsAt returns the value of a series at a frame.
func holdsAt(s *analyze.Series, n int) (float64, bool) {
	behind := sort.Search(min(len(s.Frames), len(s.Values)), func(i int) bool { return s.Frames[i] > n })
	if behind == 0 || !s.Holds && s.Frames[behind-1] != n {
		return 0, false
	}
	return s.Values[behind-1], true
}
