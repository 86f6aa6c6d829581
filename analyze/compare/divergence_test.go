package compare

import (
	"bytes"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

func TestFirstDivergence(t *testing.T) {
	set := func(x, y, at int) func(int, []byte, *frame.Layout) {
		return func(n int, pix []byte, l *frame.Layout) {
			if n == at {
				pix[y*l.Format.Stride+4*x] ^= 1
			}
		}
	}
	none := func(int, []byte, *frame.Layout) {}
	for _, tc := range []struct {
		name              string
		a, b              []int
		changeB           func(int, []byte, *frame.Layout)
		startA, startB    int
		region            []int
		masks             [][]int
		tolerance         int
		frameA, frameB    int // -1: none
		box               frame.Region
		pairs, unpaired   int
		sinceMilliseconds int64
	}{
		{"alike", []int{1, 2, 3}, []int{1, 2, 3}, none, 0, 0, nil, nil, 0, -1, -1, frame.Region{}, 3, 0, 0},
		{"one bit of one pixel", []int{1, 2, 2, 2}, []int{1, 2, 2, 2}, set(70, 5, 2), 0, 0, nil, nil, 0, 2, 2,
			frame.Region{X: 70, Y: 5, Width: 1, Height: 1}, 2, 0, 33},
		{"within the tolerance", []int{1, 2, 2, 2}, []int{1, 2, 2, 2}, set(70, 5, 2), 0, 0, nil, nil, 1, -1, -1,
			frame.Region{}, 4, 0, 0},
		{"outside the content", []int{1, 2, 2, 2}, []int{1, 2, 2, 2}, set(70, 5, 2), 0, 0, []int{0, 0, 70, 20}, nil, 0,
			-1, -1, frame.Region{}, 4, 0, 0},
		{"beside the content, left", []int{1, 2, 2, 2}, []int{1, 2, 2, 2}, set(9, 5, 2), 0, 0, []int{10, 0, 70, 20},
			nil, 0, -1, -1, frame.Region{}, 4, 0, 0},
		{"under a mask", []int{1, 2, 2, 2}, []int{1, 2, 2, 2}, set(70, 5, 2), 0, 0, nil, [][]int{{70, 5, 1, 1}}, 0, -1,
			-1, frame.Region{}, 4, 0, 0},
		{"beside a mask", []int{1, 2, 2, 2}, []int{1, 2, 2, 2}, set(70, 5, 2), 0, 0, nil,
			[][]int{{71, 5, 9, 1}, {0, 0, 70, 20}}, 0, 2, 2, frame.Region{X: 70, Y: 5, Width: 1, Height: 1}, 2, 0, 33},
		{"starts differ", []int{9, 9, 1, 2, 3}, []int{9, 1, 2, 4}, none, 2, 1, nil, nil, 0, 4, 3,
			frame.Region{Width: 100, Height: 20}, 2, 0, 33},
		{"a frame lost in A", []int{1, -1, 3, 4}, []int{1, 2, 3, 5}, none, 0, 0, nil, nil, 0, 2, 3,
			frame.Region{Width: 100, Height: 20}, 2, 1, 50},
		{"changed in a frame that has no partner, and back", []int{1, -1, 1, 1}, []int{1, 2, 1, 1}, none, 0, 0, nil,
			nil, 0, -1, -1, frame.Region{}, 3, 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := film(t, tc.a, none), film(t, tc.b, tc.changeB)
			wa := &result.Window{Start: tc.startA, End: a.Frames() - 1, Region: tc.region, Tolerance: tc.tolerance,
				Masks: tc.masks}
			wb := &result.Window{Start: tc.startB, End: b.Frames() - 1, Region: tc.region}
			p, err := newPairer(a, b, wa, wb)
			if err != nil {
				t.Fatal(err)
			}
			d, told, shown := newDivergence("", ""), 0, 0
			err = p.find(t.Context(), d, func(n int) { told += n }, func(a, b frame.Image) error {
				if shown++; reflect.DeepEqual(a.Rows, b.Rows) {
					t.Error("the images shown are alike")
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if told != d.Alike || (shown == 1) != d.Found {
				t.Errorf("%d pairs were told, %d shown, %+v", told, shown, d)
			}
			if d.Found != (tc.frameA >= 0) || d.Alike != tc.pairs || d.Unpaired != tc.unpaired {
				t.Fatalf("%+v", d)
			}
			if !d.Found {
				return
			}
			if d.FrameA != tc.frameA || d.FrameB != tc.frameB || d.box != tc.box ||
				d.SinceA.Milliseconds() != tc.sinceMilliseconds {
				t.Errorf("%+v", d)
			}
		})
	}
}

func TestDivergenceRefusals(t *testing.T) {
	none := func(int, []byte, *frame.Layout) {}
	r := film(t, []int{1, 2, 3}, none)
	for _, tc := range []struct {
		name   string
		wa, wb result.Window
		want   string
	}{
		{"window outside the recording", result.Window{End: 3}, result.Window{End: 2}, "analyze it again"},
		{"content elsewhere", result.Window{End: 2, Region: []int{0, 0, 10, 10}},
			result.Window{End: 2, Region: []int{0, 2, 10, 10}}, "content of A lies"},
		{"content outside the frame", result.Window{End: 2, Region: []int{0, 0, 101, 10}},
			result.Window{End: 2, Region: []int{0, 0, 101, 10}}, "outside the frame"},
	} {
		if _, err := newPairer(r, r, &tc.wa, &tc.wb); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// film opens a recording that was filmed.
func film(t *testing.T, fill []int, change func(n int, pix []byte, l *frame.Layout)) *recording.Reader {
	t.Helper()
	r := analyzetest.Must(recording.Open(filmed(t, fill, change)))(t)
	t.Cleanup(func() { r.Close() })
	return r
}

// filmed writes a recording whose frames are filled with given bytes, but for one pixel; a negative
// number is a lost frame.
func filmed(t *testing.T, fill []int, change func(n int, pix []byte, l *frame.Layout)) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "film.eid")
	w, err := recording.Create(path, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	format := analyzetest.Must(frame.NewFormat(frame.BGR4, 100, 20))(t)
	l := analyzetest.Must(frame.NewLayout(format))(t)
	analyzetest.Check(t, w.Segment(format, 1, 60))
	const period = 16_666_667
	for n, v := range fill {
		at := timeline.At(timeline.Time(1e9 + n*period))
		if v < 0 {
			err = w.Gap(frame.Gap{First: uint64(n), Count: 1, Cause: frame.RingFull, At: at})
		} else {
			pix := bytes.Repeat([]byte{byte(v)}, l.Size)
			change(n, pix, l)
			err = w.WriteFrame(pix, frame.Meta{Sequence: uint64(n), Sampled: at}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	analyzetest.Check(t, w.Close())
	return path
}
