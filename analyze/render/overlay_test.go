package render

import (
	"encoding/json"
	"errors"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/timeline"
)

func TestChips(t *testing.T) {
	var marks []Mark
	for _, m := range []struct {
		frame int
		label string
		tone  Tone
		until int
	}{
		{30, "torn", Fault, 0}, {10, "start", Begin, 0}, {12, "torn", Fault, 0}, {10, "T0", Neutral, 0},
		{31, "a", End, 0}, {31, "b", End, 0}, {32, "c", End, 0}, {33, "d", End, 0}, {50, "slow", Fault, 75},
		{50, "brief", Fault, 55},
	} {
		marks = append(marks, Mark{Frame: m.frame, Label: m.label, Tone: m.tone, Until: m.until})
	}
	marks = sortedByFrame(marks)
	for _, tc := range []struct {
		n    int
		want []chip
	}{
		{9, nil},
		{10, []chip{{"T0", Neutral, true}, {"start", Begin, true}}},
		{11, []chip{{"T0", Neutral, false}, {"start", Begin, false}}},
		{12, []chip{{"torn", Fault, true}, {"T0", Neutral, false}, {"start", Begin, false}}},
		{20, []chip{{"torn", Fault, false}}},
		{22, nil},
		{31, []chip{{"b", End, true}, {"a", End, true}, {"torn", Fault, false}}},
		// one more than there is room for
		{33, []chip{{"d", End, true}, {"c", End, false}, {"b", End, false}, {"a", End, false}}},
		{50, []chip{{"brief", Fault, true}, {"slow", Fault, true}}},
		{59, []chip{{"brief", Fault, false}, {"slow", Fault, false}}},
		{60, []chip{{"slow", Fault, false}}},
		{74, []chip{{"slow", Fault, false}}},
		{75, nil},
	} {
		if got := chipsAt(nil, marks, longMarks(marks, 10), tc.n, 10); !slices.Equal(got, tc.want) {
			t.Errorf("frame %d shows %v, want %v", tc.n, got, tc.want)
		}
	}
}

func TestHoldsAt(t *testing.T) {
	for _, holds := range []bool{false, true} {
		s := &analyze.Series{Holds: holds, Frames: []int{2, 5, 9}, Values: []float64{20, 50, 90}}
		for n := range 12 {
			want, known := 0.0, false // literally
			for i, f := range s.Frames {
				if f == n || holds && f < n {
					want, known = s.Values[i], true
				}
			}
			if got, ok := holdsAt(s, n); got != want || ok != known {
				t.Errorf("holds %v, frame %d: %v %v, want %v %v", holds, n, got, ok, want, known)
			}
		}
	}
}

func TestOverlayRefusals(t *testing.T) {
	for _, tc := range []struct {
		name string
		o    Overlay
	}{
		{"too much", Overlay{Values: make([]analyze.Value, 65)}},
		{"backwards", Overlay{First: 3, Last: 2}},
		{"parts not in order", Overlay{Parts: []Part{{First: 3}, {First: 2}}}},
		{"values missing", Overlay{Series: []analyze.Series{{Frames: []int{1}}}}},
		{"not in order", Overlay{Series: []analyze.Series{{Frames: []int{2, 1}, Values: []float64{1, 2}}}}},
		{"too many labels", Overlay{Marks: func() (m []Mark) {
			for i := range 65 {
				m = append(m, Mark{Label: string(rune('A' + i))})
			}
			return m
		}()}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := newBar(&tc.o, 640, 60); !errors.Is(err, errOverlay) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestBarDrawsWhatIsNew compares a bar that is updated from moment to moment with one that was
// drawn for the moment. It also compares the dirty parts with the real difference.
func TestBarDrawsWhatIsNew(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for i, width := range []int{480, 1280, 2000, 1280} {
		o := overlayOf("a title", 300, 20, 200)
		if i == 3 {
			o.Parts = []Part{{0, "first", 0, o.Values[:2]}, {90, "", 5e9, nil},
				{200, "a longer title", 1e9, o.Values[1:]}}
		}
		b := analyzetest.Must(newBar(&o, width, 60))(t)
		before := slices.Clone(b.img.Pix)
		for range 40 {
			m := moment{frame: r.IntN(300), time: timeline.Time(r.Int64N(1e10)),
				note: []string{"", "", notRecorded, ended}[r.IntN(4)]}
			b.update(m)
			fresh := analyzetest.Must(newBar(&o, width, 60))(t)
			fresh.update(m)
			if !slices.Equal(b.img.Pix, fresh.img.Pix) {
				t.Fatalf("width %d: %+v is drawn in another way after others", width, m)
			}
			for i := range before {
				if before[i] == b.img.Pix[i] {
					continue
				}
				x, y := i%b.img.Stride/4, i/b.img.Stride
				dirty := false
				for _, d := range b.dirty {
					dirty = dirty || x >= d.Min.X && x < d.Max.X && y >= d.Min.Y && y < d.Max.Y
				}
				if !dirty {
					t.Fatalf("width %d: pixel %d,%d changed and is not in %v", width, x, y, b.dirty)
				}
			}
			b.clean()
			copy(before, b.img.Pix)
		}
	}
}

// TestPartsSayWhatIsShown: each page of a video has its name, its time and its numbers.
func TestPartsSayWhatIsShown(t *testing.T) {
	rate := func(v float64) []analyze.Value {
		return []analyze.Value{{Name: "framerate", Unit: "frames/s", Value: v, Low: v, High: v, State: analyze.Exact}}
	}
	o := Overlay{
		Title: "none", First: 0, Last: 99,
		Parts: []Part{{10, "one", 1e9, rate(60)}, {50, "two", 2e9, rate(30)}, {80, "three", 3e9, nil}},
		At:    func(n int, stamp timeline.Time) timeline.Time { return stamp + timeline.Time(n)*1e6 },
	}
	b := analyzetest.Must(newBar(&o, 1280, 60))(t)
	for _, tc := range []struct {
		frame              int
		title, time, value string
	}{
		{0, "one", "+4.000 s", "60 frames/s"}, {10, "one", "+4.010 s", "60 frames/s"},
		{49, "one", "+4.049 s", "60 frames/s"},
		{50, "two", "+3.050 s", "30 frames/s"}, {80, "three", "+2.080 s", "–"}, {51, "two", "+3.051 s", "30 frames/s"},
	} {
		b.update(moment{frame: tc.frame, time: 5e9})
		if b.title.text != tc.title || b.time.text != tc.time || b.cells[0].text != tc.value {
			t.Errorf("frame %d: %q, %q, %q", tc.frame, b.title.text, b.time.text, b.cells[0].text)
		}
	}
}

func TestBarAllocatesLittle(t *testing.T) {
	o := overlayOf("a title", 300, 20, 200)
	b := analyzetest.Must(newBar(&o, 1280, 60))(t)
	n := 0
	step := func() {
		b.update(moment{frame: n % 300, time: timeline.Time(n) * 1e7})
		b.clean()
		n++
	}
	for range 600 {
		step()
	}
	if got := testing.AllocsPerRun(300, step); got > 12 { // the texts
		t.Errorf("%v allocations a frame", got)
	}
}

func TestSlotsAreJSON(t *testing.T) {
	for _, s := range []Slot{{}, {Frame: -1, Sequence: 1<<64 - 1, Time: -5},
		{Frame: 7, Sequence: 9, Time: 1 << 60, Held: true}} {
		want, err := json.Marshal(s)
		if got := s.append(nil); err != nil || string(got) != string(want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestScaled(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 20000 {
		x, num, den := r.Int64N(1<<40)-1<<39, 1+r.Int64N(1<<uint(1+r.IntN(40))), 1+r.Int64N(1<<uint(1+r.IntN(40)))
		want := new(big.Int).Mul(big.NewInt(x), big.NewInt(num))
		m := new(big.Int)
		want.DivMod(want, big.NewInt(den), m) // rounds down for a positive divisor
		if !want.IsInt64() || want.BitLen() > 62 {
			continue
		}
		if got := scaled(x, num, den); got != want.Int64() {
			t.Fatalf("%d·%d/%d is %d, want %d", x, num, den, got, want)
		}
	}
}
