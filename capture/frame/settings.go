package frame

import (
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"
)

// Limits of a frame rate.
const (
	MaxRate   = 100_000 // frames a second
	maxPeriod = 1_000   // seconds
	// maxTerms bounds numerator × denominator. A whole number of periods in nanoseconds then fits
	// 64 bits (capture.Rational).
	maxTerms = 18_000_000_000
)

// ParseRate reads frames a second, as "60", "59.94" or "60000/1001". It returns the frame period as
// num/den seconds in lowest terms. Decimals that round n×1000/1001 are read as that fraction (SMPTE
// ST 2036 and earlier): 23.976, 29.97, 47.952; 59.94, 119.88, 239.76.
func ParseRate(s string) (num, den int64, err error) {
	bad := fmt.Errorf("bad frame rate %q: want a rate such as 60, 59.94 or 60000/1001, more than 1/%d and at most %d",
		s, maxPeriod, MaxRate)
	if len(s) > 32 || strings.Trim(s, "0123456789./") != "" || strings.Count(s, "/") > 1 {
		return 0, 0, bad
	}
	for ntsc, n := range map[string]int64{"23.976": 24000, "29.97": 30000, "47.952": 48000, "59.94": 60000,
		"119.88": 120000, "239.76": 240000} {
		if s == ntsc {
			return 1001, n, nil
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || r.Sign() <= 0 || r.Cmp(big.NewRat(MaxRate, 1)) > 0 || r.Cmp(big.NewRat(1, maxPeriod)) < 0 ||
		new(big.Int).Mul(r.Num(), r.Denom()).Cmp(big.NewInt(maxTerms)) > 0 {
		return 0, 0, bad
	}
	return r.Denom().Int64(), r.Num().Int64(), nil
}

// ParamsError is a mistake in the parameters of a source: one that is unknown, cannot be read, or
// asks for what cannot be. Nothing but other parameters can mend it.
type ParamsError struct{ Err error }

func (e *ParamsError) Error() string { return e.Err.Error() }
func (e *ParamsError) Unwrap() error { return e.Err }

// CheckParams returns a [ParamsError] for a parameter that is not in known or is given twice.
// source is the source's name as the user writes it.
func CheckParams(source string, params url.Values, known ...string) error {
	names := make([]string, 0, len(params))
	for name := range params {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch {
		case !slices.Contains(known, name) && len(known) == 0:
			return &ParamsError{fmt.Errorf("%s: unknown parameter %q: this source has none", source, name)}
		case !slices.Contains(known, name):
			return &ParamsError{fmt.Errorf("%s: unknown parameter %q: use one of %s", source, name,
				strings.Join(known, " "))}
		case len(params[name]) != 1:
			return &ParamsError{fmt.Errorf("%s: parameter %q is given %d times", source, name, len(params[name]))}
		}
	}
	return nil
}

// Query formats parameters as in a source's URI, in the given order: "?size=8x8&fps=60". It returns
// "" if no parameter is given.
func Query(params url.Values, names ...string) string {
	var given []string
	for _, name := range names {
		if params.Has(name) {
			given = append(given, name+"="+params.Get(name))
		}
	}
	if len(given) == 0 {
		return ""
	}
	return "?" + strings.Join(given, "&")
}
