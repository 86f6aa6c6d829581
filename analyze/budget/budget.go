// Package budget compares values with limits. A limit is broken only if the bounds of a value allow
// no other conclusion: a build must not fail by chance.
package budget

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/glossary"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/pattern"
)

// Budget is a limit for a value.
type Budget struct {
	Name string // MEASURE.VALUE
	// Operator is that of the condition which breaks the budget: >, >=, < or <=.
	Operator string
	Limit    float64
	Unit     string // of the value
}

// String returns the condition that breaks the budget, such as "fps.longest_freeze > 100 ms".
func (b Budget) String() string {
	return fmt.Sprintf("%s %s %s", b.Name, b.Operator, wording.Measured{Value: b.Limit, Unit: b.Unit}.Text())
}

var condition = pattern.New(`^\s*([\w.-]+)\s*(<=|>=|<|>)\s*(\S.*?)\s*$`)

// Parse parses the condition that breaks a budget, such as "fps.longest_freeze > 100ms".
func Parse(text string) (Budget, error) {
	m := condition.FindStringSubmatch(text)
	if m == nil {
		return Budget{}, fmt.Errorf("%q must be VALUE > LIMIT or VALUE < LIMIT, such as fps.longest_freeze > 100ms",
			text)
	}
	b, _, err := limited(m[1], m[3])
	b.Operator = m[2]
	return b, err
}

// Of returns the budget of a value with a limit, such as "100ms". Higher values break it, or lower
// ones if higher is better.
func Of(name, limit string) (Budget, error) {
	b, better, err := limited(name, limit)
	b.Operator = map[bool]string{true: "<", false: ">"}[better == string(analyze.Higher)]
	return b, err
}

func limited(name, limit string) (b Budget, better string, err error) {
	measure, value, _ := strings.Cut(name, ".")
	e, ok := glossary.Explain(measure, value)
	if !ok {
		return b, "", fmt.Errorf("unknown value %s%s", name, wording.Meant(name, glossary.Names()))
	}
	b = Budget{Name: name, Unit: e.Unit}
	b.Limit, err = number(limit, e.Unit)
	if err != nil {
		return b, "", fmt.Errorf("limit of %s: %w", name, err)
	}
	return b, e.Better, nil
}

// durations are units of time in ns.
var durations = map[string]float64{"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}

var amount = pattern.New(`^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(\S*)$`)

// number parses a number, with or without the unit of a value. Other units of time are converted.
// A fraction may be a percentage.
func number(text, unit string) (float64, error) {
	m := amount.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return 0, fmt.Errorf("%q is not a number with a unit", text)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number with a unit", text)
	}
	given, other := durations[m[2]], durations[unit]
	switch {
	case m[2] == "" || m[2] == unit:
		return v, nil
	case m[2] == "%" && (unit == "fraction" || unit == ""):
		return v / 100, nil
	case given > 0 && other > 0:
		return v * given / other, nil
	}
	return 0, fmt.Errorf("%q has another unit than the value, %s", text, unit)
}

// State is the result of a check.
type State string

// States.
const (
	Kept   State = "kept"
	Broken State = "broken"
	// unsure: the value breaks the budget, and its bounds allow one that does not.
	unsure State = "unsure"
	// Unmeasured: less than half of the runs have the value.
	Unmeasured State = "unmeasured"
)

// Check holds a value with its bounds against the limit.
func (b Budget) Check(value, low, high float64) State {
	nearest := low
	if strings.HasPrefix(b.Operator, "<") {
		nearest = high
	}
	switch {
	case !b.breaks(value):
		return Kept
	case b.breaks(nearest):
		return Broken
	}
	return unsure
}

func (b Budget) breaks(v float64) bool {
	switch b.Operator {
	case ">":
		return v > b.Limit
	case ">=":
		return v >= b.Limit
	case "<":
		return v < b.Limit
	}
	return v <= b.Limit
}
