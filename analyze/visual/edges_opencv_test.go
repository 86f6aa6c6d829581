package visual

import (
	_ "embed"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

// opencvEdges has a line for each seed: checksums (CRC-32) of the picture, of its blur and of its
// edges. OpenCV 4.6.0 made the last two, on amd64:
//
//	GaussianBlur(picture, blurred, Size(13, 13), 1, 0, BORDER_REFLECT_101)
//	Canny(blurred, edges, low, high)    by cannyThresholds of blurred's min and max
//
//go:embed testdata/opencv-edges.txt
var opencvEdges string

// TestEdgesAreOpenCVs compares blur and edges with OpenCV's, sample for sample.
func TestEdgesAreOpenCVs(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(opencvEdges), "\n")
	if len(lines) != 150 {
		t.Fatalf("%d pictures, want 150", len(lines))
	}
	for seed, want := range lines {
		rng := rand.New(rand.NewPCG(uint64(seed), 9))
		width, height := 3+rng.IntN(300), 3+rng.IntN(200)
		p := edgesPicture(rng, width, height)
		e := analyzetest.Must(NewEdges(width, height))(t)
		for y := range height {
			e.blur(p, width, y, 0, width)
		}
		got := fmt.Sprintf("%08x %08x %08x", crc32.ChecksumIEEE(p), crc32.ChecksumIEEE(e.blurred),
			crc32.ChecksumIEEE(edgesOf(t, p, width, height)))
		if got != want {
			t.Errorf("seed %d: %dx%d: picture, blur and edges are %s, want %s", seed, width, height, got, want)
		}
	}
}
