package compare

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/result"
)

func TestHeatMapsRoundTrip(t *testing.T) {
	h := &analyze.Heat{Width: 5, Height: 3, Counts: []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1 << 31, 0, 0, 0, 7}}
	var b bytes.Buffer
	analyzetest.Check(t, render.WriteNPY(&b, h))
	got, err := readHeat(&b)
	if err != nil || got.Width != 5 || got.Height != 3 || !slices.Equal(got.Counts, h.Counts) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestHeatDifference(t *testing.T) {
	small := func(i int) uint32 { return uint32(i % 7) }
	for _, tc := range []struct {
		name       string
		heightB    int
		b          func(i int) uint32
		more, less uint64
		refusal    string
	}{
		{"more and fewer", 90, func(i int) uint32 {
			return map[int]uint32{1: 0, 160: 40}[i] +
				small(i)*uint32(min(1, (i-1)*(i-1)))
		}, 40, 1, ""},
		{"another size", 91, small, 0, 0, "they are of 160x90 and 160x91 pixels"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			c := &Comparison{}
			a, b := heatRun(t, filepath.Join(dir, "a"), 160, 90, small),
				heatRun(t, filepath.Join(dir, "b"), 160, tc.heightB, tc.b)
			analyzetest.Check(t, (drawing{Comparison: c, made: dir, shown: dir}).drawHeat(a, b))
			if c.heat.More != tc.more || c.heat.Less != tc.less || c.heat.Refusal != tc.refusal {
				t.Errorf("%+v", c.heat)
			}
			for _, path := range []string{c.heat.Picture, c.heat.Numbers} {
				if st, err := os.Stat(path); tc.refusal == "" && (err != nil || st.Size() == 0) {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
	c := &Comparison{}
	bare := side{&Run{Name: "r"}, &result.Window{}}
	if err := (drawing{Comparison: c, made: t.TempDir(), shown: "out"}).drawHeat(bare, bare); err != nil ||
		!strings.Contains(c.heat.Refusal, "run r has no heat map") {
		t.Errorf("%v, %+v", err, c.heat)
	}
}

// heatRun makes a run folder with a heat map.
func heatRun(t *testing.T, dir string, width, height int, count func(i int) uint32) side {
	t.Helper()
	h := &analyze.Heat{Width: width, Height: height}
	for i := range width * height {
		h.Counts = append(h.Counts, count(i))
	}
	var numbers bytes.Buffer
	err := render.WriteNPY(&numbers, h)
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "pictures"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "pictures", "heatmap.npy"), numbers.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &result.Window{Pictures: []result.Picture{{Kind: result.PictureHeatMap, File: "pictures/heatmap.png",
		Data: "pictures/heatmap.npy"}}}
	return side{&Run{Name: filepath.Base(dir), Dir: dir}, w}
}

func FuzzReadHeat(f *testing.F) {
	var b bytes.Buffer
	analyzetest.Check(f, render.WriteNPY(&b, &analyze.Heat{Width: 2, Height: 2, Counts: []uint32{1, 2, 3, 4}}))
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:len(b.Bytes())-1])
	f.Add(bytes.Replace(b.Bytes(), []byte("(2, 2)"), []byte("(9999, 32768)"), 1))
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\x00\x00"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := readHeat(bytes.NewReader(b))
		if err == nil && (len(h.Counts) != h.Width*h.Height || 4*len(h.Counts) > len(b)) {
			t.Errorf("%dx%d with %d counts out of %d bytes", h.Width, h.Height, len(h.Counts), len(b))
		}
	})
}
