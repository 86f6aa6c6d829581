package certify

import (
	"image"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recorder"
)

// simulated records a simulated path and returns the report on it.
func simulated(t *testing.T, s simulation) *Report {
	t.Helper()
	return record(t, &s)
}

// record is simulated for those who want to know afterwards what the simulation did.
func record(t *testing.T, s *simulation) *Report {
	t.Helper()
	if s.Width == 0 {
		s.Width, s.Height = 640, 360
	}
	if s.Frames == 0 {
		s.Frames = 120
	}
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.eid")
	if _, err := recorder.Record(t.Context(), s, path, recorder.Options{}); err != nil {
		t.Fatal(err)
	}
	r, err := analyzeFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rgbTo(f func(v float64) float64) effect {
	return colours(func(c rgb) rgb {
		for i := range c {
			c[i] = uint8(clip(f(float64(c[i]))) + 0.5)
		}
		return c
	})
}

// TestEachFaultIsNamed takes the pattern through paths with one or two known faults. The report
// must name the fault and its frames, and no other fault.
//
// Fault: The path repeats, drops, scales or recolours
// Fault: The player of `certify` is late, or the machine is busy
func TestEachFaultIsNamed(t *testing.T) {
	full := frame.FullRange
	bt709, bt601 := frame.BT709, frame.BT601
	wide := simulation{Width: 1280, Height: 720, Frames: 16}
	small := simulation{Frames: 16}
	sized := func(s simulation, e ...effect) simulation { s.Picture = e; return s }
	compress := rgbTo(func(v float64) float64 { return 16 + v*219/255 })
	expand := rgbTo(func(v float64) float64 { return (v - 16) * 255 / 219 })
	for _, tc := range []struct {
		name string
		path simulation
		want map[string]Verdict // findings that are neither passed nor left out
		left []string           // properties that cannot be judged
		says map[string]string  // a part of the received text
	}{
		{name: "none"},
		{name: "none, 720p", path: wide},
		{name: "a delay", path: simulation{Delay: 50 * time.Millisecond}},
		{name: "freeze", path: simulation{Freeze: 10}, want: map[string]Verdict{propertyDuplicates: Fail,
			propertyDrops: Fail},
			says: map[string]string{propertyDuplicates: "12 duplicates", propertyDrops: "11 dropped"}},
		{name: "double", path: simulation{Double: 10}, want: map[string]Verdict{propertyDuplicates: Fail},
			says: map[string]string{propertyDuplicates: "11 duplicates"}},
		{name: "skip", path: simulation{Skip: 10}, want: map[string]Verdict{propertyDrops: Fail},
			says: map[string]string{propertyDrops: "11 dropped"}},
		{name: "losses of the driver", path: simulation{Lose: 10}, want: map[string]Verdict{propertyLosses: Fail},
			says: map[string]string{propertyDrops: "0 dropped, 11 in losses"}},
		{name: "a rare loss of the driver", path: simulation{Lose: 100, Frames: 160},
			want: map[string]Verdict{propertyLosses: Remark}},
		{name: "losses of this machine", path: simulation{Lose: 10, Missed: frame.SourceLate},
			want: map[string]Verdict{propertyLosses: Remark}, says: map[string]string{propertyLosses: "source late"}},
		{name: "swap", path: simulation{Swap: 10}, want: map[string]Verdict{propertyOrder: Fail},
			says: map[string]string{propertyOrder: "11 out of order"}},
		{name: "tear", path: simulation{Tear: 10}, want: map[string]Verdict{propertyTearing: Fail},
			says: map[string]string{propertyTearing: "12 torn"}},
		{name: "blend a little", path: simulation{Blend: 0.25}, want: map[string]Verdict{propertyBlending: Fail},
			says: map[string]string{propertyBlending: "25 %"}},
		{name: "tear all", path: simulation{Tear: 1}, want: map[string]Verdict{propertyTearing: Fail},
			left: []string{propertyDuplicates, propertyDrops, propertyOrder, propertyDelay},
			says: map[string]string{propertyDelay: "no frame shows one whole picture"}},
		{name: "tear all but the first", path: simulation{Tear: 1, Frames: 16, Whole: 4},
			want: map[string]Verdict{propertyTearing: Fail}},
		{name: "blend half and half", path: simulation{Blend: 0.5}, want: map[string]Verdict{propertyBlending: Fail},
			left: []string{propertyDuplicates, propertyDrops, propertyOrder, propertyDelay},
			says: map[string]string{propertyBlending: "50 %"}},
		{name: "a slower half", path: simulation{Later: 60}, want: map[string]Verdict{propertyDuplicates: Fail,
			propertyDelay: Fail},
			says: map[string]string{propertyDuplicates: "1 duplicate", propertyDrops: "0 dropped"}},
		{name: "a frame that is sampled late", path: simulation{Tardy: 60},
			says: map[string]string{propertyDuplicates: "0 duplicates"}},
		{name: "the first frame that is judged is sampled late", path: simulation{Tardy: 1},
			says: map[string]string{propertyDuplicates: "0 duplicates"}},
		{name: "an output with a clock of its own", path: simulation{Free: true, Frames: 180}},
		{name: "freeze, an output with a clock of its own", path: simulation{Free: true, Freeze: 10, Frames: 180},
			want: map[string]Verdict{propertyDuplicates: Fail, propertyDrops: Fail}},
		{name: "skip, an output with a clock of its own", path: simulation{Free: true, Skip: 10, Frames: 180},
			want: map[string]Verdict{propertyDrops: Fail}},
		{name: "a late player", path: simulation{Late: 10, Frames: 240},
			want: map[string]Verdict{propertyPlayer: Remark, propertyDrops: Remark},
			says: map[string]string{propertyDrops: "0 dropped"}},
		{name: "numbers never put", path: simulation{Unput: 10}, want: map[string]Verdict{propertyPlayer: Remark}},
		{name: "scaled down", path: sized(wide, scaled(960, 540)), want: map[string]Verdict{propertyScale: Fail},
			left: []string{propertyDetail, propertyChroma, propertyBits},
			says: map[string]string{propertyScale: "0.7500 x 0.7500"}},
		{name: "scaled up", path: sized(wide, scaled(1920, 1080)), want: map[string]Verdict{propertyScale: Fail},
			left: []string{propertyDetail, propertyChroma, propertyBits},
			says: map[string]string{propertyScale: "1.5000 x 1.5000"}},
		{name: "overscan", path: sized(wide, scaled(1344, 756), cutOut(image.Rect(32, 18, 1312, 738))),
			want: map[string]Verdict{propertyScale: Fail, propertyPosition: Fail},
			left: []string{propertyDetail, propertyChroma, propertyBits},
			says: map[string]string{propertyScale: "1.0500 x 1.0500",
				propertyPosition: "30 px cut off at the left, 17 px cut off at the top"}},
		{name: "letterbox", path: sized(wide, cutOut(image.Rect(0, -40, 1280, 760))),
			want: map[string]Verdict{propertyPosition: Remark},
			says: map[string]string{propertyPosition: "40 px not covered at the top, 40 px not covered at the bottom"}},
		{name: "shift", path: sized(wide, cutOut(image.Rect(-3, 2, 1277, 722))),
			want: map[string]Verdict{propertyPosition: Fail},
			says: map[string]string{
				propertyPosition: "3 px not covered at the left, 2 px cut off at the top, 3 px cut off at the right, " +
					"2 px not covered"}},
		{name: "4:2:2", path: sized(small, through(frame.P422, full, bt709, bt709)),
			want: map[string]Verdict{propertyChroma: Fail},
			left: []string{propertyBits}, says: map[string]string{propertyChroma: "4:2:2"}},
		{name: "4:2:0", path: sized(small, through(frame.YU12, full, bt709, bt709)),
			want: map[string]Verdict{propertyChroma: Fail},
			left: []string{propertyBits}, says: map[string]string{propertyChroma: "4:2:0"}},
		{name: "filtered 4:2:2", path: sized(small, filtered422()), want: map[string]Verdict{propertyChroma: Fail},
			left: []string{propertyBits},
			says: map[string]string{propertyChroma: "4:2:2"}},
		{name: "4:2:0 hidden in 4:2:2",
			path: simulation{Frames: 16, Format: frame.UYVY,
				Picture: []effect{through(frame.YU12, full, bt709, bt709)}},
			want: map[string]Verdict{propertyChroma: Fail}, left: []string{propertyBits},
			says: map[string]string{propertyChroma: "4:2:0"}},
		{name: "4:2:2 hidden in 4:4:4",
			path: simulation{Frames: 16, Format: frame.NV24,
				Picture: []effect{through(frame.P422, full, bt709, bt709)}},
			want: map[string]Verdict{propertyChroma: Fail}, left: []string{propertyBits},
			says: map[string]string{propertyChroma: "4:2:2"}},
		{name: "recorded as NV24", path: simulation{Frames: 16, Format: frame.NV24}},
		{name: "recorded as GREY", path: simulation{Frames: 16, Format: frame.GREY},
			want: map[string]Verdict{propertyChroma: Remark},
			says: map[string]string{propertyColour: "no colour"}},
		{name: "cropped at the right", path: sized(wide, cutOut(image.Rect(0, 0, 1000, 720))),
			want: map[string]Verdict{propertyPosition: Fail},
			says: map[string]string{propertyLevels: "246 steps"}},
		{name: "cropped at both sides", path: sized(wide, cutOut(image.Rect(188, 0, 1100, 720))),
			want: map[string]Verdict{propertyPosition: Fail},
			left: []string{propertyDetail, propertyChroma}, says: map[string]string{propertyDetail: "cut off",
				propertyChroma: "cut off"}},
		{name: "limited range and back", path: sized(small, compress, expand),
			want: map[string]Verdict{propertyLevels: Remark, propertyBits: Remark},
			says: map[string]string{propertyLevels: "220 steps"}},
		{name: "a little gain", path: sized(small, rgbTo(func(v float64) float64 { return v * 0.98 })),
			want: map[string]Verdict{propertyLevels: Remark, propertyBits: Fail},
			says: map[string]string{propertyLevels: "251 steps"}},
		{name: "a little clipping", path: sized(small, rgbTo(func(v float64) float64 { return v + 6 })),
			want: map[string]Verdict{propertyLevels: Remark, propertyBits: Fail},
			says: map[string]string{propertyLevels: "250 steps"}},
		{name: "7 bits", path: sized(small, colours(func(c rgb) rgb {
			for i, v := range c {
				c[i] = v&^1 | v>>7
			}
			return c
		})), want: map[string]Verdict{propertyLevels: Fail, propertyBits: Remark},
			says: map[string]string{propertyLevels: "128 steps"}},
		{name: "grey", path: sized(small,
			colours(func(c rgb) rgb { return grey(uint8((int(c[0])*54 + int(c[1])*183 + int(c[2])*19) / 256)) })),
			want: map[string]Verdict{propertyColour: Fail, propertyChroma: Fail},
			left: []string{propertyRange, propertyBits}},
		{name: "compressed range", path: sized(small, compress), want: map[string]Verdict{propertyRange: Fail},
			left: []string{propertyBits},
			says: map[string]string{propertyRange: "16 to 235", propertyColour: "as sent"}},
		{name: "compressed twice", path: sized(small, compress, compress),
			want: map[string]Verdict{propertyRange: Fail}, left: []string{propertyBits},
			says: map[string]string{propertyRange: "twice"}},
		{name: "expanded range", path: sized(small, expand), want: map[string]Verdict{propertyRange: Fail},
			left: []string{propertyBits},
			says: map[string]string{propertyRange: "clipped"}},
		{name: "red and blue swapped", path: sized(small, colours(func(c rgb) rgb { return rgb{c[2], c[1], c[0]} })),
			want: map[string]Verdict{propertyColour: Fail},
			left: []string{propertyBits}, says: map[string]string{propertyColour: "channels as BGR"}},
		{name: "Cb and Cr swapped", path: sized(small, colours(func(c rgb) rgb {
			y, cb, cr := c.exact().yuv(bt709)
			v := fromYUV(y, cr, cb, bt709)
			return rgb{uint8(v[0] + 0.5), uint8(v[1] + 0.5), uint8(v[2] + 0.5)}
		})), want: map[string]Verdict{propertyColour: Fail}, left: []string{propertyBits},
			says: map[string]string{propertyColour: "Cb and Cr swapped"}},
		{name: "wrong matrix", path: sized(small, through(frame.P444, full, bt601, bt709)),
			want: map[string]Verdict{propertyColour: Fail},
			left: []string{propertyBits}, says: map[string]string{propertyColour: bt601as709}},
		{name: "hidden 4:4:4 YCbCr", path: sized(small, through(frame.P444, full, bt709, bt709)),
			want: map[string]Verdict{propertyLevels: Remark, propertyBits: Remark}},
		{name: "6 bits", path: sized(small, colours(func(c rgb) rgb {
			for i, v := range c {
				c[i] = v&^3 | v>>6
			}
			return c
		})), want: map[string]Verdict{propertyLevels: Fail, propertyBits: Fail},
			says: map[string]string{propertyLevels: "64 steps"}},
		{name: "bit errors", path: sized(small, bitErrors(5)), want: map[string]Verdict{propertyBits: Fail},
			says: map[string]string{propertyBits: "0 of 16 frames"}},
		{name: "noise", path: sized(small, noise(6)), want: map[string]Verdict{propertyBits: Fail},
			left: []string{propertyLevels}},
		{name: "freeze and 4:2:0",
			path: simulation{Freeze: 10, Picture: []effect{through(frame.YU12, full, bt709, bt709)}},
			want: map[string]Verdict{propertyDuplicates: Fail, propertyDrops: Fail, propertyChroma: Fail},
			left: []string{propertyBits}},
		{name: "recorded as YUYV", path: simulation{Format: frame.YUYV},
			want: map[string]Verdict{propertyChroma: Remark}},
		{name: "recorded as NV12", path: simulation{Format: frame.NV12},
			want: map[string]Verdict{propertyChroma: Remark}},
		{name: "recorded as RGB3", path: simulation{Format: frame.RGB3}},
		{name: "recorded as Y210", path: simulation{Format: frame.Y210},
			want: map[string]Verdict{propertyChroma: Remark},
			says: map[string]string{propertyBits: "within 1 of 1023"}},
		{name: "8 bits padded to 10", path: simulation{Frames: 16, Format: frame.P010, Pad: true},
			want: map[string]Verdict{propertyChroma: Remark, propertyBits: Remark}},
		{name: "recorded as P010", path: simulation{Format: frame.P010},
			want: map[string]Verdict{propertyChroma: Remark}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := simulated(t, tc.path)
			delete(tc.want, "")
			got := map[string]Verdict{}
			var left []string
			for _, f := range r.Findings {
				switch {
				case f.Verdict == NotJudged:
					left = append(left, f.Property)
				case f.Verdict != Pass || tc.want[f.Property] == Pass:
					got[f.Property] = f.Verdict
				}
				if part := tc.says[f.Property]; !strings.Contains(f.Came, part) {
					t.Errorf("%s: came %q, want %q in it", f.Property, f.Came, part)
				}
				if (f.Verdict == Fail || f.Verdict == Remark) && f.Advice == "" {
					t.Errorf("%s has no advice", f.Property)
				}
			}
			if !maps.Equal(got, tc.want) && len(got)+len(tc.want) > 0 {
				t.Errorf("found %v, want %v", got, tc.want)
			}
			slices.Sort(left)
			slices.Sort(tc.left)
			if !slices.Equal(left, tc.left) {
				t.Errorf("left out %v, want %v", left, tc.left)
			}
			if t.Failed() {
				for _, f := range r.Findings {
					t.Logf("%-10s %-10s %s -> %s", f.Property, f.Verdict, f.Sent, f.Came)
				}
				t.Logf("%+v\n%+v\n%+v\n%+v\n%+v", r.Time, r.Delay, r.Geometry, r.Colour, r.Detail)
				t.Logf("%+v", r.Exactness)
			}
		})
	}
}
