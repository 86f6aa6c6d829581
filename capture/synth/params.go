package synth

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
)

// Limits of what may be asked for: they bound the memory that is rendered into.
const (
	maxFrameBytes = 256 << 20
	maxSide       = 1 << 14 // pixels
	maxFrames     = 1 << 40
	maxRepeats    = 64 // entries of repeats=
	maxRepeat     = 1000
)

// fraction is a rate in 1/s.
type fraction struct{ num, den uint64 }

func (f fraction) String() string {
	if f.den == 1 {
		return strconv.FormatUint(f.num, 10)
	}
	return fmt.Sprintf("%d/%d", f.num, f.den)
}

// period returns the time from one frame to the next.
func (f fraction) period() capture.Rational {
	return capture.Rational{Num: int64(f.den), Den: int64(f.num)}
}

// config is what the parameters ask for.
type config struct {
	format   frame.Format
	fps      fraction
	seed     uint64
	frames   uint64 // of the scene itself, without markers; 0 without end
	markers  bool
	realtime bool

	// Scene fps only. At most one is set.
	rate    fraction // unique frames a second
	repeats []int    // how long each unique frame stays, in frames, over and over
}

// Parameter is one that a scene may be given.
type Parameter struct {
	Name, About string
	Scene       string // the only scene that knows it, or "" for all
}

// Parameters lists the parameters there are.
func Parameters() []Parameter {
	return []Parameter{
		{Name: "size", About: "WIDTHxHEIGHT in pixels, default 1920x1080"},
		{Name: "format", About: "fourcc of the pixels, default BGR4"},
		{Name: "stride", About: "bytes from row to row, default without padding"},
		{Name: "fps", About: "frames a second, as 60, 59.94 or 60000/1001; default 60"},
		{Name: "seed", About: "a whole number that changes all content, default 1"},
		{Name: "frames", About: "how many frames the scene lasts, markers not counted; default 0: without end"},
		{Name: "markers", About: "1 for 30 green frames before the scene and, if it ends, 30 red ones after"},
		{Name: "pace", About: "fast (as fast as the reader, the default) or realtime (on the clock)"},
		{Name: "rate", About: "unique frames a second, default half of fps", Scene: "fps"},
		{Name: "repeats", About: "how many frames each unique frame stays, as 1,1,2; over and over", Scene: "fps"},
	}
}

// parse reads the parameters of a scene, strictly: what it does not know is an error that says what
// it does.
func parse(scene string, v url.Values) (config, error) {
	c := config{fps: fraction{60, 1}, seed: 1}
	if err := checkNames(scene, v); err != nil {
		return c, err
	}
	var err error
	if c.format, err = parseFormat(v); err != nil {
		return c, err
	}
	if s, ok := given(v, "fps"); ok {
		if c.fps, err = parseRate("fps", s); err != nil {
			return c, err
		}
	}
	if s, ok := given(v, "seed"); ok {
		if c.seed, err = parseNumber("seed", s, math.MaxUint64); err != nil {
			return c, err
		}
	}
	if s, ok := given(v, "frames"); ok {
		if c.frames, err = parseNumber("frames", s, maxFrames); err != nil {
			return c, err
		}
	}
	if c.markers, err = parseChoice(v, "markers", "0", "1"); err != nil {
		return c, err
	}
	if c.realtime, err = parseChoice(v, "pace", "fast", "realtime"); err != nil {
		return c, err
	}
	return c, parseCadence(&c, v)
}

func given(v url.Values, name string) (string, bool) { return v.Get(name), v.Has(name) }

func checkNames(scene string, v url.Values) error {
	var known []string
	for _, p := range Parameters() {
		if p.Scene == "" || p.Scene == scene {
			known = append(known, p.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("scene %s has no parameter %q: use %s", scene, name, strings.Join(known, ", "))
		}
		if len(v[name]) != 1 {
			return fmt.Errorf("parameter %s is given %d times, want once", name, len(v[name]))
		}
	}
	return nil
}

func parseFormat(v url.Values) (frame.Format, error) {
	pixel, w, h := frame.BGR4, uint64(1920), uint64(1080)
	var err error
	if s, ok := given(v, "format"); ok {
		if pixel, err = frame.ParsePixelFormat(s); err != nil {
			return frame.Format{}, err
		}
	}
	if s, ok := given(v, "size"); ok {
		a, b, cut := strings.Cut(s, "x")
		var errW, errH error
		w, errW = strconv.ParseUint(a, 10, 16)
		h, errH = strconv.ParseUint(b, 10, 16)
		if !cut || errW != nil || errH != nil {
			return frame.Format{}, fmt.Errorf("bad size %q: want WIDTHxHEIGHT, as 1920x1080", s)
		}
	}
	f, err := frame.NewFormat(pixel, int(w), int(h))
	if err != nil {
		return f, err
	}
	if s, ok := given(v, "stride"); ok {
		n, err := parseNumber("stride", s, frame.MaxBytes)
		if err != nil {
			return f, err
		}
		f.Stride = int(n)
		if err := f.Validate(); err != nil {
			return f, err
		}
	}
	if f.Size() > maxFrameBytes || w > maxSide || h > maxSide {
		return f, fmt.Errorf("a frame of %v has %d MiB: scenes go up to %d MiB and %d pixels a side", f, f.Size()>>20, maxFrameBytes>>20, maxSide)
	}
	return f, nil
}

func parseNumber(name, s string, limit uint64) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > limit {
		return 0, fmt.Errorf("bad %s %q: want a whole number from 0 to %d", name, s, limit)
	}
	return n, nil
}

// parseChoice reports whether the second of two values is given; the first is the default.
func parseChoice(v url.Values, name, no, yes string) (bool, error) {
	s, ok := given(v, name)
	if ok && s != no && s != yes {
		return false, fmt.Errorf("bad %s %q: use %s or %s", name, s, no, yes)
	}
	return s == yes, nil
}

// parseRate reads a rate as 60, 60000/1001, or a decimal. Decimals that stand for a rate of the
// NTSC family, as 59.94 does for 60000/1001, are taken for that.
func parseRate(name, s string) (fraction, error) {
	bad := fmt.Errorf("bad %s %q: want a rate from 0.01 to 1000, as 60, 59.94 or 60000/1001", name, s)
	num, den := s, "1"
	if a, b, ok := strings.Cut(s, "/"); ok {
		num, den = a, b
	} else if whole, decimals, ok := strings.Cut(s, "."); ok {
		if len(decimals) == 0 || len(decimals) > 3 {
			return fraction{}, bad
		}
		num, den = whole+decimals, "1"+strings.Repeat("0", len(decimals))
	}
	n, errN := strconv.ParseUint(num, 10, 32)
	d, errD := strconv.ParseUint(den, 10, 32)
	// The product's limit keeps capture.Rational.Duration from overflowing.
	if errN != nil || errD != nil || n == 0 || d == 0 || n*d > 1e10 || n > 1000*d || n*100 < d {
		return fraction{}, bad
	}
	if strings.Contains(s, ".") {
		nominal := (n + d - 1) / d
		if exact := nominal * 1000 * d; n%d != 0 && diff(exact, n*1001)*2 <= 1001 {
			return fraction{nominal * 1000, 1001}, nil
		}
	}
	g := gcd(n, d)
	return fraction{n / g, d / g}, nil
}

func diff(a, b uint64) uint64 { return max(a, b) - min(a, b) }

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// parseCadence reads what only the scene fps has.
func parseCadence(c *config, v url.Values) error {
	s, hasRate := given(v, "rate")
	list, hasRepeats := given(v, "repeats")
	if hasRate && hasRepeats {
		return fmt.Errorf("rate and repeats both say when frames are new: use one of them")
	}
	if hasRepeats {
		for part := range strings.SplitSeq(list, ",") {
			n, err := strconv.Atoi(part)
			if err != nil || n < 1 || n > maxRepeat || len(c.repeats) == maxRepeats {
				return fmt.Errorf("bad repeats %q: want up to %d numbers from 1 to %d, as 1,1,2", list, maxRepeats, maxRepeat)
			}
			c.repeats = append(c.repeats, n)
		}
		return nil
	}
	c.rate = fraction{c.fps.num, c.fps.den * 2}
	if !hasRate {
		return nil
	}
	var err error
	if c.rate, err = parseRate("rate", s); err != nil {
		return err
	}
	if c.rate.num*c.fps.den > c.fps.num*c.rate.den {
		return fmt.Errorf("bad rate %s: there are only %v frames a second", s, c.fps)
	}
	return nil
}
