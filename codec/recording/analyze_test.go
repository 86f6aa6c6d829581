package recording_test

import (
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/load"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/codec/recording"
)

// BenchmarkAnalyze takes all measures of pixels of each phase. It prints the speed relative to the
// phase's own duration.
func BenchmarkAnalyze(b *testing.B) {
	films := recording.WriteFilms(b)
	names := []string{"fps", "loadhist", "speedindex", "heatmap", "checkerboard", "scroll"}
	var out strings.Builder
	tab := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tab, "phase, times real time\t%s\tall of pixels\t\n", strings.Join(names, "\t"))
	const played = time.Second / 60
	for b.Loop() {
		for _, f := range films {
			fmt.Fprint(tab, f.Name, "\t")
			length := time.Duration(f.Frames) * played
			for _, name := range names {
				fmt.Fprintf(tab, "%.1f\t", float64(length)/float64(analyzeFilm(b, f, name)))
			}
			fmt.Fprintf(tab, "%.1f\t\n", float64(length)/float64(analyzeFilm(b, f, names[1:]...)))
		}
	}
	tab.Flush()
	fmt.Println(out.String())
}

// analyzeFilm returns the least time of three.
func analyzeFilm(b *testing.B, f recording.Film, measures ...string) (least time.Duration) {
	for i := range 3 {
		started := time.Now()
		r, err := recording.Open(f.Path)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := analyze.Analyze(b.Context(), r, measure.FramesWindow(r, 0, f.Frames), analyze.Options{
			Measures: measures, Load: load.Options{Variants: []string{"pixel", "histogram"}},
		}); err != nil {
			b.Fatal(err)
		}
		if took := time.Since(started); i == 0 || took < least {
			least = took
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
	return least
}
