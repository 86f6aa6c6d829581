package synth

import (
	"net/url"
	"strings"
	"testing"
)

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct{ scene, query, want string }{
		{"pge", "", "use one of static, caret, page"},
		{"", "", "unknown scene"},
		{"page", "sise=1x1", `unknown parameter "sise": use one of size format`},
		{"page", "rate=24", `unknown parameter "rate"`},
		{"page", "size=1920", "want WxH"},
		{"page", "size=0x5", "want WxH"},
		{"page", "size=-1x5", "want WxH"},
		{"page", "size=70000x5", "want WxH"},
		{"page", "size=32768x32768", "stride"},
		{"page", "size=16384x8192", "MiB"},
		{"page", "size=1x20000", "pixels a side"},
		{"page", "size=5x5&format=NV12", "no odd widths"},
		{"page", "format=ABCD", "unknown pixel format"},
		{"page", "size=10x10&stride=39", "shorter than a row"},
		{"page", "stride=x", "bad stride"},
		{"page", "fps=0", "bad fps"},
		{"page", "fps=1001", "bad fps"},
		{"page", "fps=60/0", "bad fps"},
		{"page", "fps=1e3", "bad fps"},
		{"page", "fps=", "bad fps"},
		{"page", "seed=-1", "bad seed"},
		{"page", "frames=many", "bad frames"},
		{"page", "frames=1&frames=2", "given 2 times"},
		{"page", "markers=yes", "use 0 or 1"},
		{"page", "pace=slow", "use fast or realtime"},
		{"fps", "rate=61", "only 60 frames"},
		{"fps", "rate=24&repeats=1", "one of them"},
		{"fps", "repeats=1,0", "bad repeats"},
		{"fps", "repeats=" + strings.Repeat("1,", 64) + "1", "bad repeats"},
		{"fps", "fps=99.991&rate=7.003", "recurs only"},
	} {
		v, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(c.scene, v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s?%s: error %v, want one with %q", c.scene, c.query, err, c.want)
		}
	}
}

func TestRates(t *testing.T) {
	for s, want := range map[string]fraction{
		"60":         {60, 1},
		"59.94":      {60000, 1001},
		"29.97":      {30000, 1001},
		"23.976":     {24000, 1001},
		"119.88":     {120000, 1001},
		"60000/1001": {60000, 1001},
		"120/2":      {60, 1},
		"12.5":       {25, 2},
		"50.0":       {50, 1},
		"0.5":        {1, 2},
	} {
		if got, err := parseRate("fps", s); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", s, got, err, want)
		}
	}
}

func TestDefaults(t *testing.T) {
	s := open(t, "static", "")
	info := s.Info()
	if info.URI != "synth:static" || info.Format.String() != "1920x1080 BGR4" || info.Clocked || !info.OwnClock ||
		info.Frames != 0 || info.Period.Num != 1 || info.Period.Den != 60 {
		t.Errorf("info %+v", info)
	}
	s = open(t, "noise", "fps=60000/1001&pace=realtime&size=16x16&frames=7")
	info = s.Info()
	if info.URI != "synth:noise?fps=60000/1001&frames=7&pace=realtime&size=16x16" || !info.Clocked || info.OwnClock ||
		info.Frames != 7 || info.Period.Num != 1001 {
		t.Errorf("info %+v", info)
	}
}

// FuzzParse: a URI is either refused or a configuration that can be opened.
func FuzzParse(f *testing.F) {
	seeds := []string{"", "size=1x1", "size=8x8&format=NV12&stride=9", "fps=59.94&rate=24", "fps=60/7", "repeats=1,2,3",
		"size=16384x16384", "frames=9&markers=1&pace=realtime", "a=%zz", "fps=.5", "fps=00/0", "format=ıV1"}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		v, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		c, err := parse(v)
		if err != nil {
			return
		}
		if err := c.format.Validate(); err != nil {
			t.Errorf("%q: %v", query, err)
		}
		if c.fps.num == 0 || c.fps.den == 0 || c.rate.num == 0 && c.repeats == nil || c.format.Size() > maxFrameBytes {
			t.Errorf("%q: config %+v", query, c)
		}
		// What Duration multiplies must fit: a day of frames takes a day.
		day := c.fps.num * 86400 / c.fps.den
		if d := c.fps.period().Duration(day).Hours(); day > 0 && (d > 24 || d < 23) && c.fps.num > c.fps.den {
			t.Errorf("%q: a day of frames takes %v hours", query, d)
		}
	})
}
