package frame

import (
	"errors"
	"strings"
	"testing"
)

func TestNewFormat(t *testing.T) {
	for _, tc := range []struct {
		name          string
		pixel         PixelFormat
		width, height int
		want          string // of the error, or of the format
	}{
		{"RGB", BGR4, 1366, 768, "1366x768 BGR4"},
		{"one pixel", BGR3, 1, 1, "1x1 BGR3"},
		{"odd 4:2:0", YU12, 3, 5, "3x5 YU12"},
		{"largest side", GREY, MaxSide, 1, "32768x1 GREY"},
		{"a gigabyte", BGR4, MaxSide, 1 << 13, "32768x8192 BGR4"},
		{"odd width of packed 4:2:2", YUYV, 3, 2, "no odd widths, got 3"},
		{"odd width of NV12", NV12, 3, 2, "no odd widths, got 3"},
		{"odd height of NV12", NV12, 2, 3, "no odd heights, got 3"},
		{"odd width of packed 4:2:2 in 10 bits", Y210, 3,
			2, "Y210 (4:2:2 packed Y U Y V, 10 bits in 16) has no odd widths, got 3"},
		{"odd width of VYUY", VYUY, 5, 1, "no odd widths, got 5"},
		{"odd width of NV16", NV16, 3, 2, "no odd widths, got 3"},
		{"odd height of NV16", NV16, 2, 3, "2x3 NV16"},
		{"odd NV24", NV24, 3, 5, "3x5 NV24"},
		{"odd width of P010", P010, 3, 2, "no odd widths, got 3"},
		{"odd height of P010", P010, 2, 3, "no odd heights, got 3"},
		{"more than a gigabyte in NV24", NV24, MaxSide, 1 << 14, "more than 1073741824 bytes"},
		{"no width", BGR4, 0, 1, "size 0x1"},
		{"negative height", BGR4, 1, -1, "size 1x-1"},
		{"too wide", BGR4, MaxSide + 1, 1, "size 32769x1"},
		{"more than a gigabyte", BGR4, MaxSide, 1<<13 + 1, "more than 1073741824 bytes"},
		{"more than a gigabyte in planes", P444, MaxSide, 1 << 14, "more than 1073741824 bytes"},
		{"unknown", fourcc("ABCD"), 1, 1, "unknown pixel format ABCD"},
		{"unprintable", 1, 1, 1, "unknown pixel format 0x00000001"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := NewFormat(tc.pixel, tc.width, tc.height)
			got := f.String()
			if err != nil {
				got = err.Error()
				if !errors.Is(err, ErrFormat) {
					t.Errorf("%v is not an ErrFormat", err)
				}
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestValidateStrideAndColour(t *testing.T) {
	good, _ := NewFormat(YUYV, 4, 4)
	for _, tc := range []struct {
		name   string
		change func(*Format)
		want   string
	}{
		{"padding", func(f *Format) { f.Stride = 9 }, ""},
		{"short stride", func(f *Format) { f.Stride = 7 }, "shorter than a row of 8"},
		{"negative stride", func(f *Format) { f.Stride = -1 }, "shorter than a row"},
		{"huge stride", func(f *Format) { f.Stride = 1 << 62 }, "more than"},
		{"range", func(f *Format) { f.Range = 2 }, "range(2)"},
		{"matrix", func(f *Format) { f.Matrix = 9 }, "matrix(9)"},
	} {
		f := good
		tc.change(&f)
		err := f.Validate()
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestUsualColours(t *testing.T) {
	for _, tc := range []struct {
		pixel  PixelFormat
		height int
		rng    Range
		matrix Matrix
	}{
		{BGR4, 1080, FullRange, NoMatrix},
		{YU12, 1080, LimitedRange, BT709},
		{YU12, 720, LimitedRange, BT709},
		{NV12, 576, LimitedRange, BT601},
		{P010, 2160, LimitedRange, BT709},
		{RX24, 2160, FullRange, NoMatrix},
	} {
		if f, err := NewFormat(tc.pixel, 720, tc.height); err != nil || f.Range != tc.rng || f.Matrix != tc.matrix {
			t.Errorf("%v: %v %v, %v", f, f.Range, f.Matrix, err)
		}
	}
}

func TestParsePixelFormat(t *testing.T) {
	for _, p := range PixelFormats() {
		for _, s := range []string{p.String(), strings.ToLower(p.String())} {
			if got, err := ParsePixelFormat(s); err != nil || got != p {
				t.Errorf("%q: %v, %v", s, got, err)
			}
		}
		if p.About() == "" || !p.Known() {
			t.Errorf("%v is not described", p)
		}
		if p.IsRGB() != strings.ContainsAny(p.About(), "RB") {
			t.Errorf("%v: IsRGB is %v", p, p.IsRGB())
		}
	}
	for _, p := range []PixelFormat{P010, Y210} {
		if p.Depth() != 10 || !strings.Contains(p.About(), "10 bits") {
			t.Errorf("%v has %d bits a sample and is %q", p, p.Depth(), p.About())
		}
	}
	if NV12.Depth() != 8 || BGR3.Depth() != 8 || PixelFormat(1).Depth() != 0 {
		t.Error("Depth of 8-bit formats or of an unknown one is wrong")
	}
	for _, s := range []string{"", "BGR", "BGR44", "yuv4", "äää"} {
		if _, err := ParsePixelFormat(s); err == nil || !strings.Contains(err.Error(), "YUYV") {
			t.Errorf("%q: %v, want the known ones", s, err)
		}
	}
}

func TestSubsampling(t *testing.T) {
	for p, want := range map[PixelFormat]string{
		BGR4: "4:4:4", RGB3: "4:4:4", NV24: "4:4:4", P444: "4:4:4", UYVY: "4:2:2", Y210: "4:2:2", P422: "4:2:2",
		NV12: "4:2:0", P010: "4:2:0", YU12: "4:2:0", GREY: "4:0:0",
	} {
		if got := p.Subsampling(); got != want {
			t.Errorf("%v: %s, want %s", p, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{Flags(0).String(), ""},
		{(FlagError | FlagSignalLost).String(), "error,signal-lost"},
		{(FlagGapBefore | 0x40).String(), "gap-before,0x40"},
		{RingFull.String(), "ring full"},
		{Stopped.String(), "recording stopped"},
		{Cause(200).String(), "cause(200)"},
		{LimitedRange.String(), "limited"},
		{Range(7).String(), "range(7)"},
		{BT2020.String(), "bt2020"},
		{Matrix(7).String(), "matrix(7)"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
	for c := range numCauses {
		if causeNames[c] == "" || !c.Known() {
			t.Errorf("cause %d has no name", c)
		}
	}
}
