package suite

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/internal/strict"
	"github.com/eideticker/eideticker/pattern"
)

// parser returns what reads one word into v, and what such a word is called; nil if v is written in
// another way.
func (r *reader) parser(v reflect.Value, what string) (parse func(string) error, want string) {
	switch p := v.Addr().Interface().(type) {
	case *string:
		return func(s string) error { *p = s; return nil }, "text"
	case *int:
		return func(s string) (err error) { *p, err = parseInt(s); return err }, "a whole number"
	case *bool:
		return func(s string) (err error) { *p, err = parseBool(s); return err }, "true or false"
	case *float64:
		return func(s string) (err error) { *p, err = parseFloat(s); return err }, "a number"
	case *time.Duration:
		return func(s string) (err error) { *p, err = parseDuration(s); return err }, "a duration such as 5s"
	case *frame.Region:
		return func(s string) (err error) { *p, err = parseRegion(s); return err }, "a region WxH+X+Y, or all"
	case *Limit:
		return func(s string) error { *p = Limit(s); return nil }, "a limit such as 100ms"
	case *Percent:
		return func(s string) (err error) { *p, err = ParsePercent(s); return err }, "a percentage such as 0.1%"
	case *Rate:
		return func(s string) (err error) { *p, err = ParseRate(s); return err }, "a rate such as 5Mbit"
	case *Bytes:
		return func(s string) (err error) { *p, err = parseBytes(s); return err }, "a size such as 256MiB"
	case *Size:
		return func(s string) (err error) { p.Width, p.Height, err = frame.ParseSize(s); return err },
			"a size such as 1280x720"
	case *Colour:
		return func(s string) (err error) { *p, err = parseColour(s); return err }, `a colour such as "#00ff00"`
	case *Chord:
		return func(s string) (err error) { *p, err = parseChord(s); return err }, "keys such as Control+F"
	case *input.Button:
		return func(s string) (err error) { *p, err = parseButton(s); return err },
			"a button: left, right, middle, back or forward"
	case *Coordinate:
		return func(s string) (err error) { *p, err = parseCoordinate(s); return err },
			"pixels, or a percentage in quotes"
	case *Places:
		return func(s string) (err error) { *p, err = parsePlaces(s); return err }, "content or screen"
	case *Protocol:
		return func(s string) (err error) { *p, err = parseProtocol(s); return err }, "http/1.1, h2 or h3"
	case *Tolerance:
		return func(s string) (err error) { *p, err = parseTolerance(s); return err }, "0 to 255, or auto"
	}
	return nil, ""
}

func parseInt(s string) (int, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("invalid whole number %q", strict.Clip(s))
	}
	return int(n), nil
}

func parseBool(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, fmt.Errorf("%q is neither true nor false", strict.Clip(s))
	}
	return s == "true", nil
}

func parseFloat(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("invalid number %q", strict.Clip(s))
	}
	return f, nil
}

// unitWords are what people write for units of time.
var unitWords = pattern.New(
	`(?i)(?:(milli|micro)?s(?:ec)?(?:ond)?s?|(m)in(?:ute)?s?|(h)(?:ou)?rs?|(m)sec(?:ond)?s?)$`)

// parseDuration reads "5s", "250ms", "1m30s": at most MaxDuration, and not less than none.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || s == "0" {
		return 0, fmt.Errorf("invalid duration %q%s", strict.Clip(s), meantDuration(s))
	}
	if d < 0 || d > MaxDuration {
		return 0, fmt.Errorf("%s: must be 0s to %s", s, "24h")
	}
	return d, nil
}

// meantDuration guesses what somebody meant who wrote no duration.
func meantDuration(s string) string {
	t := strings.ReplaceAll(strings.TrimSpace(s), " ", "")
	if len(t) > 40 {
		return ": must be a number and a unit, such as 5s or 250ms"
	}
	if m := unitWords.FindStringSubmatchIndex(t); m != nil {
		unit := "s"
		switch {
		case m[2] >= 0 && strings.EqualFold(t[m[2]:m[3]], "milli"), m[8] >= 0:
			unit = "ms"
		case m[2] >= 0:
			unit = "us"
		case m[4] >= 0:
			unit = "m"
		case m[6] >= 0:
			unit = "h"
		}
		t = t[:m[0]] + unit
	} else if _, err := strconv.ParseFloat(t, 64); err == nil {
		t += "s"
	} else {
		t = strings.ToLower(t)
	}
	if _, err := time.ParseDuration(t); err == nil {
		return fmt.Sprintf("; did you mean %s?", t)
	}
	return ": must be a number and a unit, such as 5s or 250ms"
}

// all is how a region is written that is none in particular.
const all = "all"

func parseRegion(s string) (frame.Region, error) {
	if s == all {
		return frame.Region{}, nil
	}
	return frame.ParseRegion(s)
}

func formatRegion(r frame.Region) string {
	if r == (frame.Region{}) {
		return all
	}
	return r.String()
}

// ParsePercent reads "0.1%".
func ParsePercent(s string) (Percent, error) {
	t, ok := strings.CutSuffix(s, "%")
	f, err := parseFloat(strings.TrimSpace(t))
	switch {
	case err != nil:
		return 0, fmt.Errorf("invalid percentage %q: must be one such as 0.1%%", strict.Clip(s))
	case !ok:
		return 0, fmt.Errorf("%q has no unit; did you mean %s%%?", strict.Clip(s), strict.Clip(s))
	case f < 0 || f > 1000:
		return 0, fmt.Errorf("%s: must be 0%% to 1000%%", strict.Clip(s))
	}
	return Percent(f), nil
}

// String formats as ParsePercent reads it.
func (p Percent) String() string { return strconv.FormatFloat(float64(p), 'g', -1, 64) + "%" }

// rateUnits are bits a second, the largest first.
var rateUnits = []struct {
	name string
	bits Rate
}{{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}

// ParseRate reads "5Mbit", "1.5Mbit" or "500kbit", also with "/s" after it. Units are decimal.
func ParseRate(s string) (Rate, error) {
	t := strings.TrimSuffix(s, "/s")
	for _, u := range rateUnits {
		digits, ok := strings.CutSuffix(t, u.name)
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			break
		}
		if f *= float64(u.bits); !(f >= 1 && f <= 1e12) {
			return 0, fmt.Errorf("%s: must be 1bit to 1000Gbit", strict.Clip(s))
		}
		return Rate(math.Round(f)), nil
	}
	return 0, fmt.Errorf("invalid rate %q%s", strict.Clip(s), meantRate(s))
}

// parseBytes reads "256MiB" or "2GiB".
func parseBytes(s string) (Bytes, error) {
	digits, gibi := strings.CutSuffix(s, "GiB")
	digits, mebi := strings.CutSuffix(digits, "MiB")
	n, err := strconv.ParseUint(digits, 10, 20)
	if err != nil || gibi == mebi || n == 0 {
		return 0, fmt.Errorf("invalid size %q: must be such as 256MiB or 2GiB", strict.Clip(s))
	}
	if gibi {
		n <<= 10
	}
	return Bytes(n << 20), nil
}

// String formats as a file has it.
func (b Bytes) String() string { return fmt.Sprintf("%dMiB", int64(b>>20)) }

// rateWords is what people write for rates: a number, a scale, and bits or bytes.
var rateWords = pattern.New(`(?i)^ *([0-9.]+) *([kmg]?)(i?)(bits?|bytes?|bps|b)?(?:/s|ps)? *$`)

func meantRate(s string) string {
	const want = ": must be a number and a unit, such as 5Mbit or 500kbit"
	m := rateWords.FindStringSubmatch(s)
	if m == nil {
		return want
	}
	f, err := strconv.ParseFloat(m[1], 64)
	scale, ok := map[string]Rate{"k": 1e3, "m": 1e6, "g": 1e9, "": 1}[strings.ToLower(m[2])]
	if err != nil || !ok || m[2]+m[4] == "" || !(f <= 1e6) {
		return want
	}
	if m[4] == "B" || strings.HasPrefix(strings.ToLower(m[4]), "byte") {
		f *= 8
	}
	r := Rate(f * float64(scale))
	if r < 1 {
		return want
	}
	return fmt.Sprintf("; did you mean %s?", r)
}

// String formats as ParseRate reads it, in the largest unit that leaves a whole number.
func (r Rate) String() string {
	for _, u := range rateUnits {
		if r%u.bits == 0 && r != 0 {
			return fmt.Sprintf("%d%s", r/u.bits, u.name)
		}
	}
	return "0bit"
}

// String formats as frame.ParseSize reads it.
func (s Size) String() string { return fmt.Sprintf("%dx%d", s.Width, s.Height) }

var hexColour = pattern.New(`^#?[0-9a-fA-F]{6}$`)

// parseColour reads "#00ff00"; the # may be left out.
func parseColour(s string) (Colour, error) {
	if !hexColour.MatchString(s) {
		return Colour{}, fmt.Errorf(`invalid colour %q: must be one such as "#00ff00"`, strict.Clip(s))
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "#"), 16, 32)
	return Colour{uint8(n >> 16), uint8(n >> 8), uint8(n)}, err
}

// String formats as parseColour reads it.
func (c Colour) String() string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// usualKeys are names that are often misspelt.
var usualKeys = []string{
	"Control", "Shift", "Alt", "AltGr", "Meta", "Command", "Enter", "Escape", "Tab", "Space", "Backspace", "Delete",
	"Home", "End", "PageUp", "PageDown",
	"ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight",
}

func parseChord(s string) (Chord, error) {
	keys, err := input.ParseChord(s)
	if err == nil || strings.Contains(err.Error(), "did you mean ") {
		return keys, err
	}
	for name := range strings.SplitSeq(s, "+") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if _, bad := input.ParseKey(name); bad != nil {
			return nil, fmt.Errorf("%w%s", bad, near(name, usualKeys...))
		}
	}
	return nil, err
}

// String formats as input.ParseChord reads it.
func (c Chord) String() string {
	names := make([]string, len(c))
	for i, k := range c {
		if names[i] = string(k); k == "+" {
			names[i] = "Plus"
		}
	}
	return strings.Join(names, "+")
}

var buttons = []string{"left", "right", "middle", "back", "forward"}

func parseButton(s string) (input.Button, error) {
	for b := input.Left; b <= input.Forward; b++ {
		if s == b.String() {
			return b, nil
		}
	}
	return 0, fmt.Errorf("unknown button %q%s", strict.Clip(s), wording.Meant(s, buttons))
}

func parseCoordinate(s string) (Coordinate, error) {
	t, percent := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(t, 64)
	switch {
	case err != nil:
		return Coordinate{}, fmt.Errorf(`invalid place %q: must be pixels such as 300, or a percentage such as "50%%"`,
			strict.Clip(s))
	case percent && !(f >= 0 && f <= 100):
		return Coordinate{}, fmt.Errorf("%s: must be 0%% to 100%%", strict.Clip(s))
	case !(f >= 0 && f <= input.MaxPlace):
		return Coordinate{}, fmt.Errorf("%s: must be 0 to %d pixels", strict.Clip(s), input.MaxPlace)
	}
	return Coordinate{f, percent}, nil
}

// String formats as a file has it.
func (c Coordinate) String() string {
	s := strconv.FormatFloat(c.Value, 'f', -1, 64)
	if c.Percent {
		s += "%"
	}
	return s
}

func parsePlaces(s string) (Places, error) {
	if p := Places(s); p == content || p == Screen {
		return p, nil
	}
	return "", fmt.Errorf("%q is neither content nor screen%s", strict.Clip(s),
		near(s, string(content), string(Screen)))
}

func parseProtocol(s string) (Protocol, error) {
	switch p := Protocol(s); p {
	case HTTP1, HTTP2, HTTP3:
		return p, nil
	}
	meant := map[string]Protocol{"http": HTTP1, "http1": HTTP1, "http1.1": HTTP1, "h1": HTTP1, "http2": HTTP2,
		"h2c": HTTP2, "http3": HTTP3, "quic": HTTP3}
	if p, ok := meant[strings.ReplaceAll(strings.ToLower(strict.Clip(s)), "/", "")]; ok {
		return "", fmt.Errorf("%q is none of http/1.1, h2 and h3; did you mean %s?", strict.Clip(s), p)
	}
	return "", fmt.Errorf("%q is none of http/1.1, h2 and h3", strict.Clip(s))
}

// near is meant without a list.
func near(s string, there ...string) string {
	return wording.Near(s, there)
}

func parseTolerance(s string) (Tolerance, error) {
	if s == "auto" {
		return Tolerance{Auto: true}, nil
	}
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil {
		return Tolerance{}, fmt.Errorf("%q: must be 0 to 255, or auto", strict.Clip(s))
	}
	return Tolerance{N: int(n)}, nil
}

// String formats as a file has it.
func (t Tolerance) String() string {
	if t.Auto {
		return "auto"
	}
	return strconv.Itoa(t.N)
}
