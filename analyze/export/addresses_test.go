package export_test

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// TestChangedIn: frames are found by the pixels that changed, up to their neighbours.
func TestChangedIn(t *testing.T) {
	for _, tc := range []struct {
		pixel   frame.PixelFormat
		x, y    int // of the pixel that frames 2 and 5 change
		region  frame.Region
		changed bool
	}{
		{frame.GREY, 9, 3, frame.Region{X: 9, Y: 3, Width: 1, Height: 1}, true},
		{frame.GREY, 9, 3, frame.Region{X: 0, Y: 0, Width: 10, Height: 4}, true},
		{frame.GREY, 9, 3, frame.Region{X: 0, Y: 0, Width: 9, Height: 8}, false},
		{frame.GREY, 9, 3, frame.Region{X: 10, Y: 0, Width: 6, Height: 8}, false},
		{frame.GREY, 9, 3, frame.Region{X: 0, Y: 4, Width: 16, Height: 4}, false},
		{frame.GREY, 9, 3, frame.Region{X: 0, Y: 0, Width: 16, Height: 3}, false},
		{frame.BGR4, 9, 3, frame.Region{X: 9, Y: 3, Width: 1, Height: 1}, true},
		{frame.BGR4, 9, 3, frame.Region{X: 8, Y: 3, Width: 1, Height: 1}, false},
	} {
		path := filepath.Join(t.TempDir(), "a.eid")
		w := analyzetest.Must(recording.Create(path, recording.Options{NoDirect: true}))(t)
		f := analyzetest.Must(frame.NewFormat(tc.pixel, 16, 8))(t)
		analyzetest.Check(t, w.Segment(f, 1, 100))
		pix := make([]byte, f.Size())
		for n := range 8 {
			pix = bytes.Clone(pix)
			switch bytesOf := len(pix) / (16 * 8); n {
			case 2, 5:
				pix[(tc.y*16+tc.x)*bytesOf]++
			case 3: // elsewhere
				pix[(7*16+1)*bytesOf]++
			}
			if err := w.WriteFrame(pix, frame.Meta{Sequence: uint64(n), Sampled: timeline.At(timeline.Time(n))},
				nil); err != nil {
				t.Fatal(err)
			}
		}
		analyzetest.Check(t, w.Close())
		r := analyzetest.Must(recording.Open(path))(t)
		s := export.Selection{Reader: r, From: 1, To: r.Frames()}
		found, err := s.ChangedIn(t.Context(), tc.region)
		got := slices.Sorted(maps.Keys(found))
		if want := tc.changed; err != nil || want != slices.Contains(got, 2) || want != slices.Contains(got, 5) ||
			slices.Contains(got, 4) || slices.Contains(got, 0) {
			t.Errorf("%v: frames %v, error %v", tc, got, err)
		}
		analyzetest.Check(t, r.Close())
	}
}
