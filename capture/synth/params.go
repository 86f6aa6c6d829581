package synth

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
)

// Limits of the parameters. They bound the memory for rendering.
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
	steady   bool // realtime, but a late machine delays the rest

	// Scene fps only. At most one is set.
	rate    fraction // unique frames a second
	repeats []int    // how long each unique frame stays, in frames, over and over
}

// parameter is one that a scene may be given.
type parameter struct {
	Name, About string
	Scene       string // the only scene that knows it, or "" for all
}

// parameters lists the parameters there are.
func parameters() []parameter {
	return []parameter{
		{Name: "size", About: "WIDTHxHEIGHT in pixels, default 1920x1080"},
		{Name: "format", About: "fourcc of the pixels, default BGR4"},
		{Name: "stride", About: "bytes from row to row, default without padding"},
		{Name: "fps", About: "frames a second, as 60, 59.94 or 60000/1001; default 60"},
		{Name: "seed", About: "a whole number that changes all content, default 1"},
		{Name: "frames", About: "how many frames the scene lasts, markers not counted; default 0: without end"},
		{Name: "markers", About: "1 for 30 green frames before the scene and, if it ends, 30 red ones after"},
		{Name: "pace", About: "fast (as fast as the reader, the default), realtime (on the clock), steady (none lost)"},
		{Name: "rate", About: "unique frames a second, default half of fps", Scene: "fps"},
		{Name: "repeats", About: "how many frames each unique frame stays, as 1,1,2; over and over", Scene: "fps"},
	}
}

// parse reads the parameters of a scene, whose names are known to be right.
func parse(v url.Values) (config, error) {
	c := config{fps: fraction{60, 1}, seed: 1}
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
	markers, err := parseChoice(v, "markers", "0", "1")
	if err != nil {
		return c, err
	}
	pace, err := parseChoice(v, "pace", "fast", "realtime", "steady")
	if err != nil {
		return c, err
	}
	c.markers, c.realtime, c.steady = markers == 1, pace > 0, pace == 2
	return c, parseCadence(&c, v)
}

func given(v url.Values, name string) (string, bool) { return v.Get(name), v.Has(name) }

// parameterNames lists what a scene may be given.
func parameterNames(scene string) []string {
	var known []string
	for _, p := range parameters() {
		if p.Scene == "" || p.Scene == scene {
			known = append(known, p.Name)
		}
	}
	return known
}

func parseFormat(v url.Values) (frame.Format, error) {
	pixel, w, h := frame.BGR4, 1920, 1080
	var err error
	if s, ok := given(v, "format"); ok {
		if pixel, err = frame.ParsePixelFormat(s); err != nil {
			return frame.Format{}, err
		}
	}
	if s, ok := given(v, "size"); ok {
		if w, h, err = frame.ParseSize(s); err != nil {
			return frame.Format{}, err
		}
	}
	f, err := frame.NewFormat(pixel, w, h)
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
		return f, fmt.Errorf("a frame of %v has %d MiB: scenes go up to %d MiB and %d pixels a side", f, f.Size()>>20,
			maxFrameBytes>>20, maxSide)
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

// parseChoice returns the index of the given value; the first value is the default.
func parseChoice(v url.Values, name string, values ...string) (int, error) {
	s, ok := given(v, name)
	i := slices.Index(values, s)
	if ok && i < 0 {
		return 0, fmt.Errorf("bad %s %q: use %s", name, s, strings.Join(values, " or "))
	}
	return max(i, 0), nil
}

// parseRate reads a rate as [frame.ParseRate] does, within the limits of what a scene can show.
func parseRate(name, s string) (fraction, error) {
	den, num, err := frame.ParseRate(s)
	if err != nil || num > 1000*den || num*100 < den {
		return fraction{}, fmt.Errorf("bad %s %q: want a rate from 0.01 to 1000, as 60, 59.94 or 60000/1001", name, s)
	}
	return fraction{uint64(num), uint64(den)}, nil
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
				return fmt.Errorf("bad repeats %q: want up to %d numbers from 1 to %d, as 1,1,2", list, maxRepeats,
					maxRepeat)
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
