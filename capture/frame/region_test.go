package frame

import (
	"bytes"
	"errors"
	"net/url"
	"strings"
	"testing"
)

func TestParseRegion(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want Region
		ok   bool
	}{
		{"1280x720+0+16", Region{0, 16, 1280, 720}, true},
		{"1x1+32768+0", Region{32768, 0, 1, 1}, true},
		{"1280x720", Region{}, false},
		{"1280x720+0", Region{}, false},
		{"1280x720+0+0+0", Region{}, false},
		{"0x720+0+0", Region{}, false},
		{"1280x720-1+0", Region{}, false},
		{"1280x720+-1+0", Region{}, false},
		{"32769x1+0+0", Region{}, false},
		{"99999999999999999999x1+0+0", Region{}, false},
		{" 1x1+0+0", Region{}, false},
		{"", Region{}, false},
	} {
		got, err := ParseRegion(tc.in)
		if (err == nil) != tc.ok || got != tc.want || err != nil && !errors.Is(err, ErrRegion) {
			t.Errorf("%q: %v, %v", tc.in, got, err)
		}
		if tc.ok && got.String() != tc.in {
			t.Errorf("%q becomes %q", tc.in, got)
		}
	}
}

func TestRegionIn(t *testing.T) {
	for _, tc := range []struct {
		r    Region
		want bool
	}{
		{Region{0, 0, 10, 5}, true},
		{Region{9, 4, 1, 1}, true},
		{Region{9, 4, 2, 1}, false},
		{Region{0, 5, 1, 1}, false},
		{Region{-1, 0, 1, 1}, false},
		{Region{0, 0, 0, 1}, false},
		{Region{1 << 62, 0, 1 << 62, 1}, false},
	} {
		if got := tc.r.In(10, 5); got != tc.want {
			t.Errorf("%v: %v", tc.r, got)
		}
	}
}

// Every sample of a cropped pixel equals that of its original pixel. The cut region is the largest
// one of whole blocks.
func TestCrop(t *testing.T) {
	eachFormat(t, func(t *testing.T, l *Layout) {
		f := l.Format
		pix := random(3, l.Size)
		m := l.View(pix)
		for _, r := range []Region{
			{0, 0, f.Width, f.Height},
			{f.Width / 2, f.Height / 2, f.Width - f.Width/2, f.Height - f.Height/2},
			{f.Width / 3, f.Height / 3, (f.Width + 2) / 3, (f.Height + 2) / 3},
			{f.Width - 1, f.Height - 1, 1, 1},
			{0, 0, 1, 1},
			{min(1, f.Width-1), 0, max(1, f.Width-1), f.Height},
		} {
			want, ok := literalSnap(f, r)
			c, err := l.NewCrop(r)
			if !ok {
				if !errors.Is(err, ErrRegion) {
					t.Errorf("%v: %v, want no block", r, err)
				}
				continue
			}
			if err != nil || c.Region != want {
				t.Fatalf("%v: %v, want %v", r, err, want)
			}
			out := make([]byte, c.Layout.Size)
			c.Image(m).CopyTo(out)
			for y := range want.Height {
				for x := range want.Width {
					from := literalPixel(f, want.X+x, want.Y+y)
					for i, s := range literalPixel(c.Layout.Format, x, y) {
						if s.value(out) != from[i].value(pix) {
							t.Fatalf("%v: %c of (%d,%d) is not that of its origin", r, s.what, x, y)
						}
					}
				}
			}
		}
		if _, err := l.NewCrop(Region{0, 0, f.Width + 1, 1}); !errors.Is(err, ErrRegion) {
			t.Errorf("region outside: %v", err)
		}
	})
}

// literalSnap keeps the pixels of a region that share no byte with a pixel outside.
func literalSnap(f Format, r Region) (Region, bool) {
	inside := func(x, y int) bool { return x >= r.X && y >= r.Y && x < r.X+r.Width && y < r.Y+r.Height }
	outer := map[int]bool{}
	for y := range f.Height {
		for x := range f.Width {
			if !inside(x, y) {
				for _, s := range literalPixel(f, x, y) {
					outer[s.offset] = true
				}
			}
		}
	}
	x0, y0, x1, y1 := f.Width, f.Height, 0, 0
	for y := range f.Height {
	pixel:
		for x := range f.Width {
			if !inside(x, y) {
				continue
			}
			for _, s := range literalPixel(f, x, y) {
				if outer[s.offset] {
					continue pixel
				}
			}
			x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x+1), max(y1, y+1)
		}
	}
	return Region{x0, y0, x1 - x0, y1 - y0}, x0 < x1
}

func TestCropWholeIsIdentity(t *testing.T) {
	f, _ := NewFormat(YU12, 5, 3)
	l, _ := NewLayout(f)
	c, err := l.NewCrop(Region{0, 0, 5, 3})
	if err != nil {
		t.Fatal(err)
	}
	pix := random(4, l.Size)
	out := make([]byte, c.Layout.Size)
	c.Image(l.View(pix)).CopyTo(out)
	if !bytes.Equal(out, pix) {
		t.Error("the whole frame was changed")
	}
	m := l.View(pix)
	if n := testing.AllocsPerRun(10, func() { c.Image(m) }); n != 0 {
		t.Errorf("%g allocations per frame", n)
	}
}

func TestParseRate(t *testing.T) {
	for _, tc := range []struct {
		in       string
		num, den int64 // of the period; 0 for an error
	}{
		{"60", 1, 60},
		{"59.94", 1001, 60000},
		{"60000/1001", 1001, 60000},
		{"23.976", 1001, 24000},
		{"59.9", 10, 599},
		{"0.5", 2, 1},
		{"120/2", 1, 60},
		{"100000", 1, 100000},
		{"100001", 0, 0},
		{"0.0001", 0, 0},
		{"0", 0, 0},
		{"-1", 0, 0},
		{"60/0", 0, 0},
		{"1e3", 0, 0},
		{"", 0, 0},
		{"/", 0, 0},
		{".", 0, 0},
		{"60/1/1", 0, 0},
		{"33333.33333333333333333333333", 0, 0},
		{"1000000/33333", 0, 0},
		{strings.Repeat("9", 100000), 0, 0},
		{"NaN", 0, 0},
	} {
		num, den, err := ParseRate(tc.in)
		if num != tc.num || den != tc.den || (err == nil) != (tc.num != 0) {
			t.Errorf("%.40q: %d/%d, %v", tc.in, num, den, err)
		}
	}
}

func TestCheckParams(t *testing.T) {
	for _, tc := range []struct {
		query, want string
	}{
		{"size=1x1&fps=60", ""},
		{"", ""},
		{"sise=1x1", `raw:x: unknown parameter "sise": use one of size fps`},
		{"fps=1&fps=2", `raw:x: parameter "fps" is given 2 times`},
	} {
		q, err := url.ParseQuery(tc.query)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := CheckParams("raw:x", q, "size", "fps"); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%q: %q, want %q", tc.query, got, tc.want)
		}
	}
}
