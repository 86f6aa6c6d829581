//go:build cgo

package visual

import (
	"bytes"
	"image"
	"math/rand/v2"
	"testing"

	"gocv.io/x/gocv"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

// TestEdgesAreOpenCVs holds blur and edges against OpenCV, sample for sample.
func TestEdgesAreOpenCVs(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 9))
		width, height := 3+rng.IntN(300), 3+rng.IntN(200)
		p := edgesPicture(rng, width, height)

		src := analyzetest.Must(gocv.NewMatFromBytes(height, width, gocv.MatTypeCV8UC1, p))(t)
		blurred, edges := gocv.NewMat(), gocv.NewMat()
		gocv.GaussianBlur(src, &blurred, image.Pt(13, 13), 1, 0, gocv.BorderReflect101)
		least, largest, _, _ := gocv.MinMaxIdx(blurred)
		low, high := cannyThresholds(int(least), int(largest))
		gocv.Canny(blurred, &edges, float32(low), float32(high))
		want, wantBlurred := edges.ToBytes(), blurred.ToBytes()
		for _, m := range []gocv.Mat{src, blurred, edges} {
			analyzetest.Check(t, m.Close())
		}

		e := analyzetest.Must(NewEdges(width, height))(t)
		for y := range height {
			e.blur(p, width, y, 0, width)
		}
		if !bytes.Equal(e.blurred, wantBlurred) {
			t.Fatalf("seed %d: %dx%d: blurred otherwise than by OpenCV", seed, width, height)
		}
		if got := edgesOf(t, p, width, height); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %dx%d: other edges than OpenCV's: %d, want %d", seed, width, height,
				bytes.Count(got, []byte{255}), bytes.Count(want, []byte{255}))
		}
	}
}
