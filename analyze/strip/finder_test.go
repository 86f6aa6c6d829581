package strip

import (
	"bytes"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"testing"

	ximage "golang.org/x/image/draw"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// greyPicture draws the strip into a grey frame of a size, with a dark margin of 10 pixels around
// it.
func greyPicture(t *testing.T, w, h int, c Code) (*image.Gray, Geometry) {
	t.Helper()
	l := layout(t, frame.GREY, w, h)
	l.Format.Range = frame.FullRange
	img := l.View(make([]byte, l.Size))
	region := image.Rect(10, 10, w-10, h-10)
	analyzetest.Check(t, Draw(img, region, c))
	p := image.NewGray(image.Rect(0, 0, w, h))
	for y, row := range img.Rows {
		copy(p.Pix[y*p.Stride:], row)
	}
	geo := analyzetest.Must(NewGeometry(region))(t)
	return p, geo
}

func view(t *testing.T, p *image.Gray) (*frame.Layout, frame.Image) {
	t.Helper()
	l := layout(t, frame.GREY, p.Rect.Dx(), p.Rect.Dy())
	return l, l.View(bytes.Clone(p.Pix))
}

// TestFindsScaledAndShifted scales pictures as scalers do, crops and moves them. Each copy must be
// found at its scaled place, and be read again there.
func TestFindsScaledAndShifted(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, size := range []image.Point{{1920, 1080}, {1280, 720}, {960, 540}} { // cells of 8 pixels
		for _, factor := range [][2]float64{{1, 1}, {2.0 / 3, 2.0 / 3}, {0.9375, 1}, {1.5, 1.5}, {1, 0.5}, {1.05, 1.05},
			{0.5, 0.5}} {
			for _, how := range []ximage.Scaler{ximage.ApproxBiLinear, ximage.CatmullRom, ximage.NearestNeighbor} {
				name := fmt.Sprintf("%v by %.3f and %.3f %T", size, factor[0], factor[1], how)
				t.Run(name, func(t *testing.T) {
					want := Code{ID: rng.Uint32() % Modulus, Clock: rng.Uint32() % 5000, Free: uint16(rng.Uint32())}
					p, geo := greyPicture(t, size.X, size.Y, want)
					const dx, dy = 7, -3
					out := image.NewGray(image.Rect(0, 0, int(float64(size.X)*factor[0]),
						int(float64(size.Y)*factor[1])))
					how.Scale(out, out.Rect.Add(image.Pt(dx, dy)), p, p.Rect, ximage.Src, nil)
					finds(t, out, geo, want, float64(out.Rect.Dx())/float64(size.X),
						float64(out.Rect.Dy())/float64(size.Y), dx, dy)
				})
			}
		}
	}
}

func finds(t *testing.T, p *image.Gray, geo Geometry, want Code, sx, sy, dx, dy float64) {
	t.Helper()
	l, img := view(t, p)
	f := analyzetest.Must(NewFinder(l))(t)
	lines := f.Find(img)
	if len(lines) != Copies {
		t.Fatalf("%d copies found: %+v", len(lines), lines)
	}
	for k, at := range lines {
		left := float64(geo.Left)*sx + dx
		middle := (float64(geo.Tops[k])+float64(geo.Cell)/2)*sy + dy
		if at.Code != want || at.Mixed {
			t.Errorf("copy %d says %+v, want %+v", k, at, want)
		}
		if math.Abs(at.Left-left) > 0.5 || math.Abs(at.Cell-float64(geo.Cell)*sx) > 0.01 {
			t.Errorf("copy %d is at %.3f with cells of %.4f, want %.3f and %.4f", k, at.Left, at.Cell, left,
				float64(geo.Cell)*sx)
		}
		if got := float64(at.First+at.Last+1) / 2; math.Abs(got-middle) > 1.5 {
			t.Errorf("copy %d is in rows around %.1f, want %.1f", k, got, middle)
		}
	}
	d := analyzetest.Must(NewPlaced(l, lines))(t)
	if r := d.Read(img); r.State != Whole || r.Code != want {
		t.Errorf("read %+v where it was found", r)
	}
}

func TestFindsInEveryFormat(t *testing.T) {
	want := Code{ID: 5, Clock: 7, Free: 1 << 8}
	for _, p := range frame.PixelFormats() {
		l := layout(t, p, 640, 360)
		img := l.View(grey(l, 30))
		region := image.Rect(8, 8, 600, 350)
		analyzetest.Check(t, Draw(img, region, want))
		f := analyzetest.Must(NewFinder(l))(t)
		lines := f.Find(img)
		if len(lines) != Copies || lines[0].Code != want {
			t.Errorf("%v: found %+v", p, lines)
		}
	}
}

// TestFindsNothingInNoise looks through pictures that hold no strip.
func TestFindsNothingInNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	p := image.NewGray(image.Rect(0, 0, 640, 480))
	for range 20 {
		for i := range p.Pix {
			p.Pix[i] = byte(rng.Uint32()) & byte(-(rng.Uint32() & 1))
		}
		l, img := view(t, p)
		f := analyzetest.Must(NewFinder(l))(t)
		if lines := f.Find(img); len(lines) > 0 {
			t.Fatalf("found %+v in noise", lines)
		}
	}
}

func TestPlacedRefusesWhatIsOutside(t *testing.T) {
	l := layout(t, frame.GREY, 640, 480)
	for _, bad := range []Line{
		{First: 0, Last: 480, Left: 0, Cell: 6}, {First: 5, Last: 4, Left: 0, Cell: 6},
		{First: -1, Last: 4, Left: 0, Cell: 6},
		{Last: 4, Left: -5, Cell: 6}, {Last: 4, Left: 100, Cell: 6}, {Last: 4, Cell: math.NaN()}, {Last: 4, Cell: 0},
	} {
		if _, err := NewPlaced(l, []Line{bad}); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

// TestTornFramesAreSeenByBoth halves two frames: each copy says its own, and the placed decoder
// says torn.
func TestTornFramesAreSeenByBoth(t *testing.T) {
	a, _ := greyPicture(t, 800, 600, Code{ID: 8})
	b, _ := greyPicture(t, 800, 600, Code{ID: 9})
	copy(a.Pix[300*a.Stride:], b.Pix[300*b.Stride:])
	l, img := view(t, a)
	f := analyzetest.Must(NewFinder(l))(t)
	lines := f.Find(img)
	if len(lines) != Copies || lines[0].Code.ID != 8 || lines[4].Code.ID != 9 {
		t.Fatalf("found %+v", lines)
	}
	d := analyzetest.Must(NewPlaced(l, lines))(t)
	if r := d.Read(img); r.State != Torn {
		t.Errorf("read %+v", r)
	}
	if n := testing.AllocsPerRun(10, func() { d.Read(img) }); n != 0 {
		t.Errorf("%v allocations per frame", n)
	}
}
