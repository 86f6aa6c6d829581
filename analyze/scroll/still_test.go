package scroll

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestFadeIsStill fades a rough picture into another: each step is still. A displacement of a
// rough or smooth picture is motion, in any direction, and by two thirds of a pixel.
func TestFadeIsStill(t *testing.T) {
	l := analyzetest.Must(frame.NewLayout(analyzetest.Must(frame.NewFormat(frame.BGR4, 240, 200))(t)))(t)
	rng := rand.New(rand.NewPCG(1, 3))
	rough, other, smooth := noise(rng, 400, 400), noise(rng, 400, 400), noise(rng, 400, 400)
	for y, row := range smooth {
		for x := range row {
			u, v := float64(x)/9, float64(y)/7
			row[x] = byte(128 + 60*math.Sin(u+v) + 50*math.Sin(u-2*v))
		}
	}
	m, whole := estimatorOf(t, l)
	for name, picture := range map[string][][]byte{"rough": rough, "smooth": smooth} {
		// draw mixes the picture with another, which is displaced.
		draw := func(part float64, with [][]byte, dx, dy int) frame.Image {
			img := l.View(make([]byte, l.Size))
			for y, row := range img.Rows {
				for x := range row {
					v, w := picture[100+y][100+x/4], with[100+y-dy][100+x/4-dx]
					row[x] = byte(math.Round((1-part)*float64(v) + part*float64(w)))
				}
			}
			return img
		}
		still := func(before, now frame.Image) bool {
			m.choose(measure.NewDiffer(m.Area, 0).Of(whole, before, now), before, now)
			return m.still()
		}
		for k := range 40 {
			from, to := float64(k)/40, float64(k+1)/40
			if name == "rough" && !still(draw(from, other, 0, 0), draw(to, other, 0, 0)) {
				t.Errorf("step %d of a fade in 40 is motion", k)
			}
		}
		before := draw(0, picture, 0, 0)
		for _, d := range [][2]int{{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}, {40, 30}} {
			for _, part := range []float64{2. / 3, 1} {
				if still(before, draw(part, picture, d[0], d[1])) {
					t.Errorf("%s: a displacement by %.2f of %v is no motion", name, part, d)
				}
			}
		}
	}
}
