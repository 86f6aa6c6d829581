//go:build !rigvm

package v4l2

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/capture"
)

func TestEDIDOfModes(t *testing.T) {
	for _, tc := range []struct {
		modes string
		want  []string
	}{
		{"1920x1080@60", []string{"1920x1080p60"}},
		{"1920x1080@60,1280x720@60", []string{"1920x1080p60", "1280x720p60"}},
		{"1280x720@59.94", []string{"1280x720p59.94"}},
		{"3840x2160@60,3840x2160@30,1920x1080@120", []string{"3840x2160p60", "3840x2160p30", "1920x1080p120"}},
		{"640x480@60,720x480@60,720x576@50,1280x720@24,1920x1080@23.976,1920x1080@50",
			[]string{"640x480p60", "720x480p60", "720x576p50", "1280x720p24", "1920x1080p50", "1920x1080p23.976"}},
	} {
		t.Run(tc.modes, func(t *testing.T) {
			modes, err := ParseModes(tc.modes)
			if err != nil {
				t.Fatal(err)
			}
			b, err := makeEDID(modes)
			if err != nil {
				t.Fatal(err)
			}
			again, _ := makeEDID(modes)
			if !bytes.Equal(b, again) {
				t.Error("the same modes make other bytes")
			}
			e, err := parseEDID(b)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(tc.want)
			got := slices.Sorted(slices.Values(e.Modes))
			if !slices.Equal(got, tc.want) {
				t.Errorf("it offers %v, want %v", got, tc.want)
			}
			if e.Modes[0] != modes[0].timings(t) || e.Manufacturer != "EID" || e.Name != "Eideticker" || !e.HDMI ||
				e.Audio || e.HDR {
				t.Errorf("%+v", e)
			}
		})
	}
}

func (m Mode) timings(t *testing.T) string {
	t.Helper()
	return Timings{Width: m.Width, Height: m.Height, Period: m.Period}.String()
}

// Modes that CTA-861 has not are computed; the result is what the CVT spreadsheet of VESA gives.
func TestReducedBlanking(t *testing.T) {
	for _, tc := range []struct {
		mode string
		want timing
	}{
		{"1920x1200@60", timing{15400, 1920, 1200, 48, 32, 80, 3, 6, 26, true, false, 0}},
		{"1280x1024@60", timing{9100, 1280, 1024, 48, 32, 80, 3, 7, 20, true, false, 0}},
		{"2560x1440@60", timing{24150, 2560, 1440, 48, 32, 80, 3, 5, 33, true, false, 0}},
	} {
		modes, err := ParseModes(tc.mode)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := modes[0].timing(); err != nil || got != tc.want {
			t.Errorf("%s: %+v, want %+v; %v", tc.mode, got, tc.want, err)
		}
	}
}

func TestBadModes(t *testing.T) {
	for _, tc := range []struct{ modes, want string }{
		{"", "want WxH@RATE"},
		{"1920x1080", "want WxH@RATE"},
		{"1920x1080@", "bad frame rate"},
		{"axb@60", "want WxH@RATE"},
		{"1921x1080@60", "even width"},
		{"32000x32000@60", "4095x4095"},
		{"3840x2160@240", "655 MHz"},
		{"1920x1080@2000", "10 to 1000"},
		{strings.Repeat("1920x1080@60,", 6) + "1280x720@60", "7 modes are too many"},
	} {
		if _, err := ParseModes(tc.modes); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %q", tc.modes, err, tc.want)
		}
	}
	if _, err := makeEDID(nil); err == nil {
		t.Error("an EDID of nothing")
	}
}

func TestBadEDID(t *testing.T) {
	modes, _ := ParseModes("1920x1080@60")
	good, err := makeEDID(modes)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, want string
		b          []byte
	}{
		{"nothing", "0 bytes", nil},
		{"half a block", "64 bytes", good[:64]},
		{"another start", "starts with", append([]byte{1}, good[1:]...)},
		{"a bit flipped", "block 1 of the EDID has a wrong checksum", flipped(good, 200)},
	} {
		if _, err := parseEDID(tc.b); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func flipped(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 4
	return b
}

// Drivers insert the physical address of CEC into an EDID that is set.
func TestSameEDID(t *testing.T) {
	modes, _ := ParseModes("1920x1080@60,1280x720@50")
	a, err := makeEDID(modes)
	if err != nil {
		t.Fatal(err)
	}
	b := bytes.Clone(a)
	i := bytes.Index(b, []byte{0x03, 0x0c, 0x00, 0x10, 0x00})
	if i < 0 {
		t.Fatal("no physical address")
	}
	b[i+3], b[i+4] = 0xff, 0xff
	b[255] = -edidSum(b[128:255])
	if bytes.Equal(a, b) || !sameEDID(a, b) {
		t.Error("another physical address makes another EDID")
	}
	other, _ := makeEDID(modes[:1])
	if sameEDID(a, other) {
		t.Error("other modes make the same EDID")
	}
}

func edidSeeds() [][]byte {
	var all [][]byte
	for _, s := range []string{"1920x1080@60", "3840x2160@60,1024x768@75",
		"640x480@60,720x480@60,720x576@50,1280x720@24,1920x1080@24,1920x1080@50"} {
		modes, err := ParseModes(s)
		if err != nil {
			panic(err)
		}
		b, err := makeEDID(modes)
		if err != nil {
			panic(err)
		}
		all = append(all, b, b[:128])
	}
	return all
}

func TestFuzzEDIDHasSeeds(t *testing.T) {
	good := 0
	for _, b := range edidSeeds() {
		if e, err := parseEDID(b); err == nil && len(e.Modes) > 0 {
			good++
		}
	}
	if good < 4 {
		t.Errorf("%d seeds can be read", good)
	}
}

// Modes read from any bytes can be written. Their number is at most that of the bytes.
func FuzzEDID(f *testing.F) {
	for _, b := range edidSeeds() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(b)
		for i := 0; i+edidBlock <= len(b); i += edidBlock { // sums that fit, so that the rest is reached
			b[i+edidBlock-1] = -edidSum(b[i : i+edidBlock-1])
		}
		e, err := parseEDID(b)
		if err != nil {
			return
		}
		if len(e.Modes) > len(b) || len(e.Name) > 39 || len(e.Manufacturer) != 3 {
			t.Fatalf("%d modes, name %q, manufacturer %q", len(e.Modes), e.Name, e.Manufacturer)
		}
		if !sameEDID(b, b) {
			t.Fatal("it is not the same as itself")
		}
	})
}

func TestRates(t *testing.T) {
	for _, tc := range []struct {
		name          string
		pixels, clock uint64
		reduced       bool
		want          string
		period        capture.Rational
	}{
		{"60", 2200 * 1125, 148_500_000, false, "60", capture.Rational{Num: 1, Den: 60}},
		{"59.94 by its clock", 2200 * 1125, 148_351_648, false, "59.94", capture.Rational{Num: 1001, Den: 60000}},
		{"59.94 by its flag", 2200 * 1125, 148_500_000, true, "59.94", capture.Rational{Num: 1001, Den: 60000}},
		{"measured, 30 millionths off", 2200 * 1125, 148_504_455, false, "60", capture.Rational{Num: 1, Den: 60}},
		{"23.976", 2750 * 1125, 74_175_824, false, "23.976", capture.Rational{Num: 1001, Den: 24000}},
		{"240", 2000 * 1111, 533_280_000, false, "240", capture.Rational{Num: 1, Den: 240}},
		{"800x600", 1056 * 628, 40_000_000, false, "60.317", capture.Rational{Num: 5181, Den: 312500}},
		{"a monitor's", 1328 * 806, 75_000_000, false, "70.069", capture.Rational{}},
		{"640x480", 800 * 525, 25_175_000, false, "59.94", capture.Rational{Num: 1001, Den: 60000}},
		{"the largest that is believed", maxTotal * maxTotal, maxPixelClock, true, "15.984", capture.Rational{}},
		{"nothing", 0, 1, false, "?", capture.Rational{}},
	} {
		got := framePeriod(tc.pixels, tc.clock, tc.reduced)
		if s := rateString(got); s != tc.want || tc.period.Num != 0 && got != tc.period {
			t.Errorf("%s: %v, %s, want %v, %s", tc.name, got, s, tc.period, tc.want)
		}
		if got.Num*got.Den > 18_000_000_000 {
			t.Errorf("%s: %v cannot be counted with", tc.name, got)
		}
	}
}
