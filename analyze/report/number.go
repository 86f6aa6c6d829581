package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze"
)

// Numbers are shown with as many digits as their bounds leave them; all of them stand in
// results.json.

// valueText is a value with its unit.
func valueText(v analyze.Value) string {
	text := number(v.Value, v)
	return text + unitText(unitOf(text, v.Unit))
}

// unitOf is the unit behind a number: one frame is not frames.
func unitOf(number, unit string) string {
	if number == "1" && !strings.Contains(unit, "/") && len(unit) > 2 {
		return strings.TrimSuffix(unit, "s")
	}
	return unit
}

// boundsText is between what the value lies, in its unit, or nothing where that is said by its
// state.
func boundsText(v analyze.Value) string {
	if v.State != analyze.Bounded {
		return ""
	}
	low, high := number(v.Low, v), number(v.High, v)
	if low == high { // narrower than the digits that are shown; all of them stand in the value's title
		return withinRounding
	}
	return low + " – " + high
}

// withinRounding stands where bounds are closer to a value than its last digit.
const withinRounding = "within rounding"

// newSpan is a number with its unit, and between what it lies where that shows.
func newSpan(s Span, unit string) spanView {
	v := analyze.Value{Value: s.Value, Low: s.Low, High: s.High, Unit: unit, State: analyze.Bounded}
	if s.Low == s.High {
		v.State = analyze.Exact
	}
	view := spanView{Text: valueText(v)}
	if low, high := number(s.Low, v), number(s.High, v); low != high {
		view.Bounds = low + " – " + high
	}
	return view
}

// shortNumber is a value for where there is little room.
func shortNumber(v analyze.Value) string {
	if math.Abs(v.Value) < 1e7 || v.Unit == "fraction" {
		return number(v.Value, v)
	}
	return grouped(strconv.FormatFloat(v.Value/1e6, 'f', 1, 64)) + " M"
}

// number formats x with the digits that are right for v.
func number(x float64, v analyze.Value) string {
	width := v.High - v.Low
	if v.Unit == "fraction" {
		x, width = 100*x, 100*width
	}
	digits := 3
	switch size := math.Abs(x); {
	case size >= 1000:
		digits = 1
	case size >= 10:
		digits = 2
	}
	if v.State == analyze.Bounded && width > 0 {
		digits = min(digits, max(0, int(math.Ceil(-math.Log10(width)))+1))
	}
	s := strconv.FormatFloat(x, 'f', digits, 64)
	if v.State != analyze.Bounded || whole(v) {
		s = trimZeros(s)
	}
	return grouped(s)
}

// whole reports whether value and bounds are integers: those of a count.
func whole(v analyze.Value) bool {
	return v.Value == math.Trunc(v.Value) && v.Low == math.Trunc(v.Low) && v.High == math.Trunc(v.High)
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// grouped puts commas between thousands, and a real minus before.
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

// unitText stands behind a number.
func unitText(unit string) string {
	switch unit {
	case "":
		return ""
	case "fraction":
		return " %"
	}
	return " " + unit
}

// seconds formats nanoseconds.
func seconds(ns int64) string {
	return trimZeros(strconv.FormatFloat(float64(ns)/1e9, 'f', 3, 64)) + " s"
}

func count(n int) string { return grouped(strconv.Itoa(n)) }

// words turns a name of the schema into words.
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// valueTitle is what people call a value.
func valueTitle(name string) string {
	if percent, ok := strings.CutPrefix(name, "complete_"); ok {
		return percent + " % complete"
	}
	if percent, ok := strings.CutPrefix(name, "crossed_"); ok {
		return percent + " % first reached"
	}
	return titled(words(strings.ReplaceAll(name, "_1pct", "_1_%")))
}

// titled begins with a capital letter, if it begins with a letter of ASCII.
func titled(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

// measureTitle is what people call a measure.
func measureTitle(name string) string {
	switch name {
	case "fps":
		return "Framerate"
	case "loadhist":
		return "Load histogram"
	case "speedindex":
		return "Load figures"
	case "heatmap":
		return "Heat map"
	case "windowopen":
		return "Window opening"
	case "response":
		return "Responsiveness"
	case "strip":
		return "Code strip"
	case "scroll":
		return "Scrolling"
	case "quality":
		return "Capture quality"
	}
	return titled(words(name))
}
