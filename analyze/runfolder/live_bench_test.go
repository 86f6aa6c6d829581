package runfolder

import (
	"net/url"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/synth"
	"github.com/eideticker/eideticker/codec/recorder"
)

// It measures the time from a page's red to its results, in periods of the signal. The page is
// recorded in real time. The window has 3 s.
func BenchmarkReady(b *testing.B) {
	for _, bc := range []struct {
		scene, what string
		measures    []string
	}{
		{"page", "few", []string{"fps", "heatmap"}},
		{"web", "few", []string{"fps", "heatmap"}},
		{"page", "pixels", []string{"fps", "heatmap", "tearing", "loadhist"}},
		{"web", "pixels", []string{"fps", "heatmap", "tearing", "loadhist"}},
		{"page", "all", nil},
		{"web", "all", nil},
	} {
		b.Run("scene="+bc.scene+"/measures="+bc.what, func(b *testing.B) {
			var took []time.Duration
			lost := uint64(0)
			for b.Loop() {
				q, _ := url.ParseQuery("markers=1&frames=180&pace=realtime")
				src := analyzetest.Must(synth.Open(bc.scene, q))(b)
				path := filepath.Join(b.TempDir(), "a.eid")
				l := NewLive(b.Context(),
					LiveOptions{Settings: Settings{Measures: bc.measures, Variants: []string{"pixel", "histogram"}},
						Path: path, Program: "bench"})
				res := analyzetest.Must(recorder.Record(b.Context(), src, path, recorder.Options{Watch: l}))(b)
				lost += res.Missing
				_, ready, _, err := l.Results(b.Context(), silent{})
				if err != nil || len(ready) != 1 {
					b.Fatalf("%d ready, %v", len(ready), err)
				}
				took = append(took, ready[0].After)
				src.Close()
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2])/float64(time.Second/60), "periods")
			b.ReportMetric(float64(lost), "lost")
		})
	}
}
