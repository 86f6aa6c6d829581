package visual

import (
	"errors"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// film is frames as a test makes them.
type film []Picture

func (f film) Len() int                       { return len(f) }
func (f film) Picture(i int) (Picture, error) { return f[i], nil }

// side of the tests' frames: compared for the start are columns 0…109 and lines 10…95, for
// duplicates columns 0…109 and lines 40…109.
const side = 120

func plain(r, g, b byte) Picture {
	p, err := NewPicture(side, side)
	if err != nil {
		panic(err)
	}
	for i := range p.Pix {
		p.Pix[i] = [...]byte{r, g, b, 9}[i%4]
	}
	return p
}

// with returns the picture with n pixels from (x, y) on to the right made lighter or darker by d.
func with(p Picture, x, y, n, d int) Picture {
	p.Pix = slices.Clone(p.Pix)
	row := p.Row(y, x, x+n)
	for i := range row {
		row[i] = byte(int(row[i]) + d)
	}
	return p
}

func TestKeep(t *testing.T) {
	white, orange, grey, black := plain(255, 255, 255), plain(222, 100, 13), plain(128, 128, 128), plain(0, 0, 0)
	for _, tc := range []struct {
		name   string
		rules  Rules
		frames film
		want   []int
	}{
		{"nothing", ScriptRules(), nil, nil},
		{"one frame", ScriptRules(), film{grey}, []int{0}},
		{"all differ", ScriptRules(), film{white, grey, black}, []int{0, 1, 2}},
		{"orange at both ends, and white before it", ScriptRules(), film{white, orange, orange, white, black, orange},
			[]int{3, 4}},
		{"orange is not looked for", Rules{}, film{white, orange, white}, []int{0, 1, 2}},
		{"all orange", ScriptRules(), film{orange, orange}, nil},
		{
			"orange is looked for in 21 frames", ScriptRules(),
			append(slices.Repeat(film{white, black}, 10), orange, grey, black), []int{21, 22},
		},
		{
			"orange comes too late", ScriptRules(),
			append(slices.Repeat(film{white, black}, 11), orange, grey),
			[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23},
		},
		{"orange flashes right after the start", ScriptRules(), film{white, orange, white, black}, []int{2, 3}},
		{"start: white goes on for a while", ScriptRules(), film{white, white, white, grey, black}, []int{0, 3, 4}},
		{"start: 25 off still looks like it", ScriptRules(), film{grey, with(grey, 5, 50, 1, 25), black, white},
			[]int{0, 2, 3}},
		{"start: 26 off does not", ScriptRules(), film{grey, with(grey, 5, 50, 1, 26), black, white},
			[]int{0, 1, 2, 3}},
		{"start: 26 darker does not", ScriptRules(), film{grey, with(grey, 5, 50, 1, -26), black, white},
			[]int{0, 1, 2, 3}},
		{
			// 5 % of 120 is 6: columns and lines 57 to 62
			"middle: the start ignores what changes there", ScriptRules(),
			film{white, with(white, 57, 57, 6, -200), black}, []int{0, 2},
		},
		{
			"middle: not to its left", ScriptRules(),
			film{white, with(white, 56, 57, 6, -200), black}, []int{0, 1, 2},
		},
		{
			"middle: not to its right", ScriptRules(),
			film{white, with(white, 57, 62, 7, -200), black}, []int{0, 1, 2},
		},
		{
			"middle: not below it", ScriptRules(),
			film{white, with(white, 57, 63, 6, -200), black}, []int{0, 1, 2},
		},
		{
			"middle: looked at if nobody says otherwise", Rules{},
			film{white, with(white, 57, 57, 6, -200), black}, []int{0, 1, 2},
		},
		{
			// in line 20 the start looks (from line 10 on), the duplicates do not (from line 40
			// on): the second pass drops it
			"top: seen by the start, dropped with the duplicates", ScriptRules(),
			film{white, with(white, 5, 20, 9, -200), black, grey}, []int{0, 2, 3},
		},
		{"top: nobody looks at line 9", ScriptRules(), film{white, with(white, 5, 9, 9, -200), black, grey},
			[]int{0, 2, 3}},
		{
			"bottom: the start does not look at line 96", ScriptRules(),
			film{white, with(white, 5, 96, 9, -200), black, grey}, []int{0, 2, 3},
		},
		{
			"bottom: line 95 counts", ScriptRules(),
			film{white, with(white, 5, 95, 9, -200), black, grey}, []int{0, 1, 2, 3},
		},
		{
			"end, bottom: nobody looks at line 110", ScriptRules(),
			film{white, black, with(grey, 5, 110, 9, 50), grey}, []int{0, 1, 2},
		},
		{
			"end, bottom: line 109 counts", ScriptRules(),
			film{white, black, with(grey, 5, 109, 9, 50), grey}, []int{0, 1, 2, 3},
		},
		{
			"right: nobody looks at column 110", ScriptRules(),
			film{white, with(white, 110, 60, 9, -200), black, grey}, []int{0, 2, 3},
		},
		{"right: column 109 counts", ScriptRules(), film{white, with(white, 109, 60, 1, -200), black, grey},
			[]int{0, 1, 2, 3}},
		{
			"cropped: the top counts", Rules{Cropped: true},
			film{white, with(white, 5, 9, 9, -200), black, grey}, []int{0, 1, 2, 3},
		},
		{
			"cropped, of a phone: the bottom counts too", Rules{Cropped: true, Mobile: true},
			film{white, with(white, 5, 115, 9, -200), black, grey}, []int{0, 1, 2, 3},
		},
		{
			"cropped: the last column never counts", Rules{Cropped: true, Mobile: true},
			film{white, with(white, 119, 60, 1, -200), black, grey}, []int{0, 2, 3},
		},
		{"end: the earliest of those that look like the last stays", ScriptRules(),
			film{white, black, grey, grey, grey}, []int{0, 1, 2}},
		{
			"end: five pixels may differ, and all by 38", ScriptRules(),
			film{white, black, with(with(grey, 0, 60, 90, 38), 0, 70, 5, 60), grey}, []int{0, 1, 2},
		},
		{"end: six may not", ScriptRules(), film{white, black, with(grey, 0, 70, 6, 39), grey}, []int{0, 1, 2, 3}},
		{"end: two frames are left alone", ScriptRules(), film{white, with(white, 0, 70, 3, -50)}, []int{0, 1}},
		{"end: of three that look alike the first stays", ScriptRules(),
			film{white, with(white, 0, 70, 3, -50), with(white, 9, 70, 2, -50)}, []int{0}},
		{"end: only those right before it", ScriptRules(), film{white, grey, black, grey}, []int{0, 1, 2, 3}},
		{
			// compared are 110·70 = 7700 pixels; 0.1 % of them are 7
			"noise: seven pixels are tolerated, against the last one kept", Rules{NoiseTolerance: 0.1},
			film{white, grey, with(grey, 0, 70, 7, 50), with(grey, 0, 80, 8, 50), black}, []int{0, 1, 3, 4},
		},
		{
			"noise: five pixels always are", Rules{NoiseTolerance: 0.000001},
			film{white, grey, with(grey, 0, 70, 5, 50), with(grey, 0, 80, 6, 50), black}, []int{0, 1, 3, 4},
		},
		{"white: is where it begins", WhiteRules(), film{grey, black, white, grey, black}, []int{2, 3, 4}},
		{"white: at the start, and not otherwise", WhiteRules(), film{white, grey, black}, []int{0, 1, 2}},
		{"white: nowhere, so the script fails", WhiteRules(), film{grey, black, grey}, []int{}},
		{"white: one frame is left alone", WhiteRules(), film{grey}, []int{0}},
		{"white: is where it ends", WhiteRules(), film{white, grey, black, white, grey}, []int{0, 1, 2}},
		{"white: the second frame does not end it", Rules{EndWhite: true}, film{grey, white, black, grey},
			[]int{0, 1, 2, 3}},
		{"white: the third one does", Rules{EndWhite: true}, film{grey, black, white, grey}, []int{0, 1}},
		{"white: two frames do not end", Rules{EndWhite: true}, film{grey, white}, []int{0, 1}},
		{
			// the start drops two of the white frames, so grey is the second frame and the next
			// white the third
			"white: counted from where it begins", WhiteRules(), film{white, white, white, grey, white, black},
			[]int{0, 3},
		},
		{"white: orange goes before", WhiteRules(), film{white, orange, grey, white, black}, []int{3, 4}},
		{"white: nobody asked", ScriptRules(), film{grey, black, white, grey, black}, []int{0, 1, 2, 3, 4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := analyzetest.Must(tc.rules.Keep(tc.frames))(t)
			if !slices.Equal(got, tc.want) {
				t.Errorf("keeps %v, want %v", got, tc.want)
			}
		})
	}
}

func TestKeepRefusesFramesOfTwoSizes(t *testing.T) {
	small := analyzetest.Must(NewPicture(90, 120))(t)
	if _, err := ScriptRules().Keep(film{plain(0, 0, 0), small}); !errors.Is(err, errSize) {
		t.Errorf("error is %v", err)
	}
	if _, err := ScriptRules().Keep(film{{Width: 3, Height: 3}}); !errors.Is(err, errSize) {
		t.Errorf("without pixels the error is %v", err)
	}
}

// TestMargins is worked by hand: 400x225 is a thumbnail of 16:9, 1920x1080 a full picture. 3 % of
// 1080 is 32.4, 4 % of 1920 is 76.8. 6 % of it is 115.2, 4 % of 1080 is 43.2. All are rounded up.
func TestMargins(t *testing.T) {
	for _, tc := range []struct {
		rules         Rules
		width, height int
		start, dups   frame.Region
	}{
		{Rules{}, 400, 225, region(0, 10, 390, 191), region(0, 40, 390, 175)},
		{Rules{}, 1920, 1080, region(0, 33, 1843, 970), region(0, 44, 1843, 920)},
		{Rules{}, 401, 225, region(0, 10, 384, 191), region(0, 9, 384, 191)},
		{Rules{Cropped: true}, 400, 225, region(0, 0, 400, 201), region(0, 0, 400, 215)},
		{Rules{Cropped: true, Mobile: true}, 400, 225, region(0, 0, 400, 225), region(0, 0, 400, 225)},
		{Rules{}, 8, 8, region(0, 10, 1, 1), region(0, 40, 1, 1)},
	} {
		if got := tc.rules.startMargins(tc.width, tc.height); got != tc.start {
			t.Errorf("%dx%d: for the start %v, want %v", tc.width, tc.height, got, tc.start)
		}
		if got := tc.rules.margins(tc.width, tc.height); got != tc.dups {
			t.Errorf("%dx%d: for duplicates %v, want %v", tc.width, tc.height, got, tc.dups)
		}
	}
}

func region(x, y, w, h int) frame.Region { return frame.Region{X: x, Y: y, Width: w, Height: h} }

func TestIsOrange(t *testing.T) {
	orange := plain(222, 100, 13)
	for _, tc := range []struct {
		name string
		p    Picture
		want bool
	}{
		{"orange", orange, true},
		{"38 lighter and darker", plain(184, 138, 51), true},
		{"39 off", plain(222, 139, 13), false},
		{"white", plain(255, 255, 255), false},
		{"only the bottom", under(plain(255, 255, 255), orange, 96), true},
		{"less than three quarters of the bottom", under(plain(255, 255, 255), orange, 102), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := isOrange(tc.p); got != tc.want {
				t.Errorf("is %v", got)
			}
		})
	}
}

// under returns a picture of a, with b from line y on.
func under(a, b Picture, y int) Picture {
	a.Pix = append(slices.Clone(a.Pix[:y*a.Stride]), b.Pix[y*a.Stride:]...)
	return a
}

func TestIsWhite(t *testing.T) {
	white := plain(255, 255, 255)
	spot := white
	for y := 50; y < 64; y++ { // 14·13 = 182 of 14,400 pixels are 1.264 %, too many; 14·12 = 168 are 1.167 %
		spot = with(spot, 54, y, 13, -255)
	}
	corner := with(white, 0, 0, 120, -255)
	corner = with(corner, 0, 1, 120, -255)
	for _, tc := range []struct {
		name          string
		p             Picture
		whole, middle bool
	}{
		{"white", white, true, true},
		{"25 off", plain(230, 255, 255), true, true},
		{"26 off", plain(229, 255, 255), false, false},
		{"a spot in the middle", spot, false, false},
		{"a bar at the top", corner, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := IsWhite(tc.p, true); got != tc.whole {
				t.Errorf("whole: %v", got)
			}
			if got := IsWhite(tc.p, false); got != tc.middle {
				t.Errorf("middle: %v", got)
			}
		})
	}
}

func FuzzRules(f *testing.F) {
	f.Add(uint8(1), uint8(1), []byte{0, 1, 2, 3, 4, 5, 6, 7, 8}, true, false)
	f.Add(uint8(60), uint8(99), []byte{255, 0, 255}, false, true)
	f.Fuzz(func(t *testing.T, w, h uint8, values []byte, cropped, mobile bool) {
		width, height := max(1, int(w)), max(1, int(h))
		var frames film
		for _, v := range values[:min(len(values), 9)] {
			p := analyzetest.Must(NewPicture(width, height))(t)
			for i := range p.Pix {
				p.Pix[i] = v * byte(i%7)
			}
			frames = append(frames, p)
			IsWhite(p, cropped)
		}
		kept, err := (Rules{Orange: true, RenderIgnore: 5, Cropped: cropped, Mobile: mobile, NoiseTolerance: 1,
			StartWhite: mobile, EndWhite: !mobile}).Keep(frames)
		if err != nil || !slices.IsSorted(kept) || len(kept) > len(frames) {
			t.Fatal(kept, err)
		}
	})
}
