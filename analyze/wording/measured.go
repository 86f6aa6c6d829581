package wording

import (
	"math"
	"strconv"
	"strings"
)

// Measured is a value with its bounds, in one unit. Bounds of a value that is not Bounded are not
// printed. A "fraction" is printed in percent.
type Measured struct {
	Value, Low, High float64
	Unit             string
	Bounded          bool
}

// WithinRounding replaces bounds that are closer to a value than its last digit.
const WithinRounding = "within rounding"

// Text returns the value with its unit, and with as many digits as its bounds allow.
func (m Measured) Text() string {
	number := m.number(m.Value)
	switch {
	case m.Unit == "":
		return number
	case m.Unit == "fraction":
		return number + " %"
	case number == "1" && len(m.Unit) > 2 && !strings.Contains(m.Unit, "/"):
		return number + " " + strings.TrimSuffix(m.Unit, "s")
	}
	return number + " " + m.Unit
}

// Bounds returns "low – high" without a unit. It is empty for a value that is not Bounded.
func (m Measured) Bounds() string {
	if !m.Bounded {
		return ""
	}
	low, high := m.number(m.Low), m.number(m.High)
	if low == high {
		return WithinRounding
	}
	return low + " – " + high
}

// number formats x, which is the value or one of its bounds.
func (m Measured) number(x float64) string {
	width := m.High - m.Low
	if m.Unit == "fraction" {
		x, width = 100*x, 100*width
	}
	digits := 3
	switch size := math.Abs(x); {
	case size >= 1000:
		digits = 1
	case size >= 10:
		digits = 2
	}
	if m.Bounded && width > 0 {
		digits = min(digits, max(0, int(math.Ceil(-math.Log10(width)))+1))
	}
	s := strconv.FormatFloat(x, 'f', digits, 64)
	if !m.Bounded || whole(m.Value) && whole(m.Low) && whole(m.High) {
		s = trimZeros(s)
	}
	return grouped(s)
}

func whole(x float64) bool { return x == math.Trunc(x) }

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// grouped separates thousands of a decimal number by commas. Its minus is U+2212; zero has none.
func grouped(s string) string {
	s, negative := strings.CutPrefix(s, "-")
	integer, rest, point := strings.Cut(s, ".")
	for i := len(integer) - 3; i > 0; i -= 3 {
		integer = integer[:i] + "," + integer[i:]
	}
	if point {
		integer += "." + rest
	}
	if negative && strings.Trim(integer, "0.,") != "" {
		integer = "−" + integer
	}
	return integer
}
