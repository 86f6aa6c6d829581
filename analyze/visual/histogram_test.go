package visual

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// literalHistogram counts pixel by pixel, as the script's definition reads.
func literalHistogram(pix []byte, step int) (h [3][256]int) {
	for i := 0; i+3 <= len(pix); i += step {
		if pix[i] < 250 || pix[i+1] < 250 || pix[i+2] < 250 {
			for c := range 3 {
				h[c][pix[i+c]]++
			}
		}
	}
	return h
}

func (h *Histogram) literal() (l [3][256]int) {
	for c := range 3 {
		for v, n := range h.counts(c) {
			l[c][v] = int(n)
		}
	}
	return l
}

// screenful is what screens show: runs of colours, some of them white, and noise between.
func screenful(rng *rand.Rand, pixels, step int) []byte {
	pix := make([]byte, 0, pixels*step)
	for len(pix) < pixels*step {
		var p [4]byte
		for c := range p {
			p[c] = byte(rng.Uint32())
		}
		switch rng.IntN(4) {
		case 0: // nearly white
			for c := range 3 {
				p[c] = byte(248 + rng.IntN(8))
			}
		case 1:
			p = [4]byte{255, 255, 255, p[3]}
		}
		n := 1
		if rng.IntN(2) == 0 {
			n = rng.IntN(90)
		}
		for range n {
			p[3] = byte(rng.Uint32()) // nobody may look at it
			pix = append(pix, p[:step]...)
		}
	}
	return pix[:pixels*step]
}

func TestHistogramCountsAsTheLiteralOne(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		step := 3 + rng.IntN(2)
		pixels := rng.IntN(500)
		old, now := screenful(rng, pixels, step), screenful(rng, pixels, step)

		var h Histogram
		h.Add(old, step)
		if h.literal() != literalHistogram(old, step) {
			t.Fatalf("seed %d: %d pixels of %d bytes: not as counted one by one", seed, pixels, step)
		}
		h.Update(old, now, step)
		if h.literal() != literalHistogram(now, step) {
			t.Fatalf("seed %d: after an update: not as counted anew", seed)
		}
	}
}

func TestWhiteIsLeftOut(t *testing.T) {
	for _, tc := range []struct {
		pixel   [3]byte
		counted bool
	}{
		{[3]byte{255, 255, 255}, false},
		{[3]byte{250, 250, 250}, false},
		{[3]byte{249, 250, 250}, true},
		{[3]byte{250, 249, 250}, true},
		{[3]byte{255, 255, 249}, true},
		{[3]byte{0, 255, 255}, true},
		{[3]byte{0, 0, 0}, true},
	} {
		var h Histogram
		h.Add(tc.pixel[:], 3)
		for c, v := range tc.pixel {
			if got := h.counts(c)[v] == 1; got != tc.counted {
				t.Errorf("%v: channel %d counted: %v, want %v", tc.pixel, c, got, tc.counted)
			}
		}
	}
}

// of makes a histogram whose three channels are equal: n grey pixels of each value.
func of(values map[byte]int) *Histogram {
	h := new(Histogram)
	for v, n := range values {
		for range n {
			h.Add([]byte{v, v, v}, 3)
		}
	}
	return h
}

// TestHistogramProgress has cases worked by hand. All pixels are grey, so each channel has the same
// sums, and the total is three times that of one.
func TestHistogramProgress(t *testing.T) {
	for _, tc := range []struct {
		name             string
		first, cur, last map[byte]int
		want, slop       Progress
		percent          int
	}{
		{
			"nothing is to happen",
			map[byte]int{10: 4}, map[byte]int{20: 4}, map[byte]int{10: 4},
			Progress{0, 0}, Progress{0, 0}, 100,
		},
		{
			"the first picture", // white page, nothing counted; wanted are 8 pixels of value 10
			map[byte]int{255: 8}, map[byte]int{255: 8}, map[byte]int{10: 8},
			Progress{0, 24}, Progress{0, 24}, 0,
		},
		{
			"the last picture",
			map[byte]int{255: 8}, map[byte]int{10: 8}, map[byte]int{10: 8},
			Progress{24, 24}, Progress{24, 24}, 100,
		},
		{
			"a third: 33.3 is rounded down",
			map[byte]int{255: 6}, map[byte]int{255: 4, 10: 2}, map[byte]int{10: 6},
			Progress{6, 18}, Progress{6, 18}, 33,
		},
		{
			"from grey to grey both values count", // 10: |2−6| of |0−6|; 90: 4 of 6
			map[byte]int{10: 6}, map[byte]int{10: 2, 90: 4}, map[byte]int{90: 6},
			Progress{24, 36}, Progress{24, 36}, 66,
		},
		{
			"more than wanted is as much as wanted",
			map[byte]int{255: 9}, map[byte]int{10: 9}, map[byte]int{255: 5, 10: 4},
			Progress{12, 12}, Progress{12, 12}, 100,
		},
		{
			"the other direction counts too: the script drops the sign", // 10: 4 → 8 wanted 4 → 2
			map[byte]int{10: 4, 255: 4}, map[byte]int{10: 8}, map[byte]int{10: 2, 255: 6},
			Progress{6, 6}, Progress{6, 6}, 100,
		},
		{
			"near is not there, but with slop it is: value 4 too high", // wanted v = 100, 104 is the last of 95…104
			map[byte]int{255: 5}, map[byte]int{104: 5}, map[byte]int{100: 5},
			Progress{0, 15}, Progress{15, 15}, 0,
		},
		{
			"value 5 too high is too far also with slop",
			map[byte]int{255: 5}, map[byte]int{105: 5}, map[byte]int{100: 5},
			Progress{0, 15}, Progress{0, 15}, 0,
		},
		{
			"value 5 too low is near enough with slop",
			map[byte]int{255: 5}, map[byte]int{95: 5}, map[byte]int{100: 5},
			Progress{0, 15}, Progress{15, 15}, 0,
		},
		{
			"with slop a pixel is taken once", // 98 serves 100 first (2 of 3), so 101 gets none
			map[byte]int{255: 6}, map[byte]int{255: 4, 98: 2}, map[byte]int{100: 3, 101: 3},
			Progress{0, 18}, Progress{6, 18}, 0,
		},
		{
			"slop at both ends of the scale",
			map[byte]int{128: 4}, map[byte]int{3: 2, 249: 2}, map[byte]int{0: 2, 246: 2},
			Progress{12, 24}, Progress{24, 24}, 50,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			first, cur, last := of(tc.first), of(tc.cur), of(tc.last)
			if got := HistogramProgress(cur, first, last); got != tc.want || got.Percent() != tc.percent {
				t.Errorf("progress is %v, %d %%, want %v, %d %%", got, got.Percent(), tc.want, tc.percent)
			}
			if got := HistogramProgressSlop(cur, first, last); got != tc.slop {
				t.Errorf("with slop progress is %v, want %v", got, tc.slop)
			}
		})
	}
}

// TestPercentRoundsAsFloatsDo has the values of n/100·100 in IEEE 754 double precision that lie
// below n.
func TestPercentRoundsAsFloatsDo(t *testing.T) {
	short := map[int64]bool{29: true, 57: true, 58: true}
	for n := range int64(101) {
		want := int(n)
		if short[n] {
			want--
		}
		if got := (Progress{n, 100}).Percent(); got != want {
			t.Errorf("%d/100 is %d %%, want %d", n, got, want)
		}
	}
}

// literalSlop is the old script's rule, with nothing left out.
func literalSlop(cur, first, last [3][256]int) (p Progress) {
	for c := range 3 {
		var available [256]int
		for i := range available {
			available[i] = max(cur[c][i]-first[c][i], first[c][i]-cur[c][i])
		}
		for i := range 256 {
			target := max(last[c][i]-first[c][i], first[c][i]-last[c][i])
			p.Total += int64(target)
			for j := i - 5; j < i+5; j++ {
				if j < 0 || j > 255 {
					continue
				}
				match := min(target, available[j])
				available[j] -= match
				target -= match
				p.Matched += int64(match)
			}
		}
	}
	return p
}

func TestProgressOfRandomPictures(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var h [3]Histogram
		for i := range h {
			h[i].Add(screenful(rng, 2000, 4), 4)
		}
		if got, want := HistogramProgressSlop(&h[0], &h[1], &h[2]),
			literalSlop(h[0].literal(), h[1].literal(), h[2].literal()); got != want {
			t.Fatalf("seed %d: with slop %v, want %v", seed, got, want)
		}
		var want Progress
		a, b, e := h[0].literal(), h[1].literal(), h[2].literal()
		for c := range 3 {
			for v := range 256 {
				target := max(e[c][v]-b[c][v], b[c][v]-e[c][v])
				want.Total += int64(target)
				want.Matched += int64(min(target, max(a[c][v]-b[c][v], b[c][v]-a[c][v])))
			}
		}
		if got := HistogramProgress(&h[0], &h[1], &h[2]); got != want {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
	}
}

func FuzzHistogram(f *testing.F) {
	f.Add([]byte{}, []byte{1}, true)
	f.Add(make([]byte, 33), make([]byte, 64), false)
	f.Add([]byte{250, 250, 250, 0, 249, 250, 250, 1}, []byte{255, 255, 255}, true)
	f.Fuzz(func(t *testing.T, old, now []byte, four bool) {
		step := 3
		if four {
			step = 4
		}
		old, now = old[:len(old)/step*step], now[:len(now)/step*step]
		var h Histogram
		h.Add(old, step)
		h.Update(old, now, step)
		if h.literal() != literalHistogram(now, step) {
			t.Fatal("not as counted one by one")
		}
	})
}

func BenchmarkHistogram(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	const pixels = 1920 * 360
	contents := map[string]func() []byte{
		"noise": func() []byte {
			pix := make([]byte, pixels*4)
			for i := range pix {
				pix[i] = byte(rng.Uint32())
			}
			return pix
		},
		"flat": func() []byte {
			pix := make([]byte, pixels*4)
			for y := range 360 {
				v := byte(rng.Uint32())
				for x := range 1920 * 4 {
					pix[y*1920*4+x] = v
				}
			}
			return pix
		},
		"text": func() []byte { return textual(rng, pixels) },
	}
	for _, name := range []string{"flat", "text", "noise"} {
		old, now := contents[name](), contents[name]()
		b.Run(fmt.Sprintf("content=%s", name), func(b *testing.B) {
			var h Histogram
			h.Add(old, 4)
			for b.Loop() {
				h.Update(old, now, 4)
				old, now = now, old
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pixels, "ns/px")
		})
	}
}

// textual makes lines of black glyphs with grey edges on white, about as full as a page of text:
// half of it is between lines.
func textual(rng *rand.Rand, pixels int) []byte {
	pix := make([]byte, 0, pixels*4)
	for len(pix) < pixels*4 {
		for range 1920 * 9 {
			pix = append(pix, 255, 255, 255, 255)
		}
		for range 1920 * 9 / 10 {
			g := byte(rng.Uint32())
			pix = append(pix, g, g, g, 255, 0, 0, 0, 255, 0, 0, 0, 255, 255-g, 255-g, 255-g, 255)
			for range 6 {
				pix = append(pix, 255, 255, 255, 255)
			}
		}
	}
	return pix[:pixels*4]
}
