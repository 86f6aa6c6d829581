package render

import (
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// load is a run of a made-up page: green, content that comes bit by bit, red.
func load(t testing.TB, w, h, frames, first, done int, lost func(int) bool) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		l := layout(t, frame.BGR4, w, h)
		before, now := make([]byte, l.Size), make([]byte, l.Size)
		shown := map[int]frame.Image{} // by headlines: many frames show the same
		for n, stored := 0, 0; n < frames; n++ {
			if lost(n) {
				continue
			}
			copy(before, now)
			switch {
			case n < first:
				solid(l, now, 0, 255, 0)
			case n >= frames-4:
				solid(l, now, 255, 0, 0)
			default:
				part := min(1, float64(n-first)/float64(done-first))
				img, drawn := shown[int(12*part)]
				if !drawn {
					img = page(t, w, h, part)
					shown[int(12*part)] = img
				}
				img.CopyTo(now)
			}
			at := timeline.Time(n) * 1e9 / 60
			step := &frame.Step{
				Number: stored, Change: changeBetween(l, before, now), Image: l.View(now),
				Meta: frame.Meta{Sequence: 100 + uint64(n), Sampled: timeline.Interval{Earliest: at, Latest: at}},
			}
			if stored == 0 {
				step.Change = nil
			}
			stored++
			if !yield(step, nil) {
				return
			}
		}
	}
}

func solid(l *frame.Layout, pix []byte, r, g, b byte) {
	for i := 0; i < len(pix); i += 4 {
		pix[i], pix[i+1], pix[i+2] = b, g, r
	}
}

func never(int) bool { return false }

func galleryFolder(t *testing.T) string {
	if dir := os.Getenv(galleryVariable); dir != "" {
		return dir
	}
	return t.TempDir()
}

// galleryLength is how many frames a video has. There are fewer if nobody looks at it.
func galleryLength(frames int) int {
	if os.Getenv(galleryVariable) == "" {
		return frames * 2 / 5
	}
	return frames
}

// gallerySize is the size of a video and its MaxHeight. They are halved if nobody looks at it.
func gallerySize(w, h int) (int, int, int) {
	if os.Getenv(galleryVariable) == "" {
		return w / 2, h / 2, 360
	}
	return w, h, 0
}

func TestGalleryVideo(t *testing.T) {
	if testing.Short() {
		t.Skip("-short encodes no long videos")
	}
	frames := galleryLength(150)
	done := frames * 4 / 5
	lost := func(n int) bool { return n > frames/2 && n < frames/2+10 }
	dir := galleryFolder(t)
	for _, tc := range []struct {
		name string
		w, h int
	}{{"video", 1280, 720}, {"video-narrow", 360, 640}, {"video-1080", 1920, 1080}} {
		t.Run(tc.name, func(t *testing.T) {
			o := overlayOf("release 128, cable, run 3", frames, 12, done)
			w, h, most := gallerySize(tc.w, tc.h)
			v := analyzetest.Must(NewVideo(filepath.Join(dir, tc.name+".mp4"), layout(t, frame.BGR4, w, h),
				VideoOptions{Overlay: &o, MaxHeight: most}))(t)
			for step, err := range load(t, w, h, frames, 12, done, lost) {
				if err == nil {
					err = v.Step(step)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			analyzetest.Check(t, v.Close())
			if v.slots.slots != frames {
				t.Errorf("%d slots, want %d", v.slots.slots, frames)
			}
		})
	}
}

func TestGalleryPair(t *testing.T) {
	if testing.Short() {
		t.Skip("-short encodes no long videos")
	}
	w, h, most := gallerySize(1280, 720)
	side := func(title string, frames, first, done int, lost func(int) bool) Side {
		return Side{
			Layout: layout(t, frame.BGR4, w, h), Steps: load(t, w, h, frames, first, done, lost), Start: first,
			Before:  uint64(first),
			Overlay: overlayOf(title, frames, first, done),
		}
	}
	path := filepath.Join(galleryFolder(t), "pair.mp4")
	long, brief := galleryLength(120), galleryLength(90)
	left, right := side("release 127", long, 10, long*3/4, never),
		side("release 128", brief, 20, brief*2/3, func(n int) bool { return n == brief*7/9 })
	err := WritePair(path, left, right, VideoOptions{MaxHeight: most})
	if err != nil {
		t.Fatal(err)
	}
}
