package analyze_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// recorded returns a recording, in a file, of the frames of a film.
func recorded(t *testing.T, f frame.Format, film [][]byte, pressure float64) *recording.Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recording.eid")
	w := analyzetest.Must(recording.Create(path, recording.Options{NoDirect: true, Workers: 2}))(t)
	w.SetPressure(pressure)
	analyzetest.Check(t, w.Segment(f, 1, 60))
	for n, pix := range film {
		at := timeline.Time(n) * timeline.Time(time.Second/60)
		m := frame.Meta{Sequence: uint64(n), Sampled: timeline.Interval{Earliest: at, Latest: at}}
		analyzetest.Check(t, w.WriteFrame(pix, m, nil))
	}
	analyzetest.Check(t, w.Close())
	r := analyzetest.Must(recording.Open(path))(t)
	t.Cleanup(func() { r.Close() })
	return r
}

// TestResidualsChangeNoResult compares every measure of recordings with residuals, with LZ4 and
// without compression. A noisy picture fades in, scrolls, and tears.
func TestResidualsChangeNoResult(t *testing.T) {
	for _, pixel := range []frame.PixelFormat{frame.BGR4, frame.P010} {
		t.Run(pixel.String(), func(t *testing.T) {
			f := analyzetest.Must(frame.NewFormat(pixel, 96, 48))(t)
			l := analyzetest.Must(frame.NewLayout(f))(t)
			rng := rand.New(rand.NewPCG(1, 1))
			page := make([]byte, 3*l.Size)
			for i := range page {
				page[i] = byte(i/f.Stride*5+i%f.Stride/3) + byte(rng.IntN(5))
			}
			film := make([][]byte, 45)
			for n := range film {
				pix := make([]byte, l.Size)
				for i := range pix {
					y := i / f.Stride
					switch {
					case n < 20: // the fade
						pix[i] = byte(int(page[i]) * n / 20)
					case n < 40 || y < 24: // the scroll
						pix[i] = page[i+(n-20)*f.Stride]
					default: // the lower part is a frame behind
						pix[i] = page[i+(n-21)*f.Stride]
					}
				}
				film[n] = pix
			}
			var files []*recording.Reader
			var sizes []int64
			for _, pressure := range []float64{0, 0.25, 1} {
				r := recorded(t, f, film, pressure)
				files, sizes = append(files, r), append(sizes, r.Info().Bytes)
			}
			if sizes[0] >= sizes[1]*4/5 || sizes[1] > sizes[2] {
				t.Errorf("files of %d bytes: residuals should be smaller", sizes)
			}
			want := analyzetest.Must(analyze.Analyze(t.Context(), files[2], measure.FramesWindow(files[2], 0, 45),
				analyze.Options{}))(t)
			for k := range 2 {
				got := analyzetest.Must(analyze.Analyze(t.Context(), files[k], measure.FramesWindow(files[k], 0, 45),
					analyze.Options{}))(t)
				for i := range want.Results {
					filmtest.SameNumbers(t, got.Results[i], want.Results[i])
				}
			}
		})
	}
}
