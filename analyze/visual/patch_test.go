package visual

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestPatch moves a part of a picture through random contents, with rows of all lengths.
func TestPatch(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		rest := screenful(rng, 300, 4) // of the picture, which stays
		var h Histogram
		h.Add(rest, 4)
		var c Counter
		var p Patch
		pixels := rng.IntN(600)
		old := screenful(rng, pixels, 4)
		h.Add(old, 4)
		count := func(pix []byte) {
			for len(pix) > 0 {
				n := min(4*rng.IntN(200), len(pix))
				c.Add(pix[:n])
				pix = pix[n:]
			}
		}
		count(old)
		c.Move(&p, nil)
		for frame := range 5 {
			now := screenful(rng, pixels, 4)
			switch rng.IntN(4) {
			case 0:
				now = noisy(rng, pixels, 247+rng.IntN(4))
			case 1:
				now = noisy(rng, pixels, 0)
			}
			count(now)
			c.Move(&p, &h)
			if h.literal() != literalHistogram(append(now[:len(now):len(now)], rest...), 4) {
				t.Fatalf("seed %d, frame %d: not as counted one by one", seed, frame)
			}
		}
	}
}

// noisy makes pixels whose samples are least or more.
func noisy(rng *rand.Rand, pixels, least int) []byte {
	pix := make([]byte, 4*pixels)
	for i := range pix {
		pix[i] = byte(least + rng.IntN(256-least))
	}
	return pix
}

func FuzzPatch(f *testing.F) {
	f.Add([]byte{}, []byte{1})
	f.Add(make([]byte, 33), make([]byte, 64))
	f.Add([]byte{250, 250, 250, 0, 249, 250, 250, 1}, []byte{255, 255, 255})
	f.Fuzz(func(t *testing.T, old, now []byte) {
		old, now = old[:len(old)/4*4], now[:len(now)/4*4]
		var h Histogram
		h.Add(old, 4)
		var c Counter
		var p Patch
		c.Add(old)
		c.Move(&p, nil)
		c.Add(now)
		c.Move(&p, &h)
		if h.literal() != literalHistogram(now, 4) {
			t.Fatal("not as counted one by one")
		}
	})
}

// BenchmarkPatch counts a band of a video anew; in "white" any pixel may be white.
func BenchmarkPatch(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	const width, lines = 1280, 32
	contents := map[string][]byte{
		"noise": noisy(rng, width*lines, 0),
		"white": noisy(rng, width*lines, 245),
		"text":  textual(rng, width*lines),
		"flat":  make([]byte, 4*width*lines),
	}
	film := noisy(rng, width*lines, 0)
	for i := range film {
		film[i] = byte(20+i/4%width/10) + film[i]&15
	}
	contents["film"] = film
	for _, name := range []string{"flat", "text", "film", "noise", "white"} {
		b.Run(fmt.Sprintf("content=%s", name), func(b *testing.B) {
			var h Histogram
			var c Counter
			var p Patch
			pix := contents[name]
			b.SetBytes(int64(len(pix)))
			for b.Loop() {
				for row := pix; len(row) > 0; row = row[4*width:] {
					c.Add(row[:4*width])
				}
				c.Move(&p, &h)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/width/lines, "ns/px")
		})
	}
}
