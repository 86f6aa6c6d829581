package render

import (
	"bytes"
	"image"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// galleryVariable names a folder in which TestGallery leaves what it draws, to be looked at.
const galleryVariable = "EIDETICKER_GALLERY"

// page draws a made-up page of which a part is there, 0…1.
func page(t testing.TB, w, h int, part float64) frame.Image {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	fill(img, img.Rect, rgb(0xffffff))
	fill(img, image.Rect(0, 0, w, h/10), rgb(0x2b4a7f))
	fonts := analyzetest.Must(newFonts(float64(w) / 1280))(t)
	fonts.big.draw(img, w/40, h/15, "The Daily Frame", rgb(0xffffff))
	for i := range int(12 * part) {
		x, y := w/40+i%3*w/3, h/7+i/3*h/5
		fill(img, image.Rect(x, y, x+w/3-w/30, y+h/6), lineColour(i))
		fonts.label.draw(img, x+10, y+h/10, "A headline of some length", rgb(0xffffff))
	}
	l := layout(t, frame.BGR4, w, h)
	src := make([]byte, 4*w*h)
	for i := 0; i < len(src); i += 4 {
		src[i], src[i+1], src[i+2] = img.Pix[i+2], img.Pix[i+1], img.Pix[i]
	}
	pix := make([]byte, l.Size)
	frame.NewPacker(l).BGRX(pix, src)
	return l.View(pix)
}

// heatOf makes counts with cold, warm and hot places.
func heatOf(w, h int, most float64) *analyze.Heat {
	heat := &analyze.Heat{Width: w, Height: h, Counts: make([]uint32, w*h)}
	for y := range h {
		for x := range w {
			dx, dy := float64(x)/float64(w)-0.6, float64(y)/float64(h)-0.4
			heat.Counts[y*w+x] = uint32(most * math.Exp(-30*(dx*dx+dy*dy)))
		}
	}
	return heat
}

func sixty(n int) float64 { return float64(n) / 60 }

func progressOf(frames int, middle, steep float64, holds bool) analyze.Series {
	s := analyze.Series{Name: "progress", Unit: "fraction", Holds: holds}
	for i := 0; i < frames; i += 7 {
		s.Frames = append(s.Frames, i)
		s.Values = append(s.Values, 1/(1+math.Exp(-steep*(float64(i)-middle))))
	}
	s.Values[0], s.Values[len(s.Values)-1] = 0, 1
	return s
}

func frameTimesOf(n int, freeze float64) analyze.Series {
	r := rand.New(rand.NewPCG(1, 2))
	s := analyze.Series{Name: "frame time", Unit: "ms"}
	at := 0.0
	for range n {
		ms := 1000.0 / 60
		switch {
		case r.IntN(40) == 0:
			ms *= float64(2 + r.IntN(4))
		case len(s.Frames) == n/2:
			ms = freeze
		}
		s.Frames = append(s.Frames, int(at))
		s.Values = append(s.Values, ms)
		at += ms * 60 / 1000
	}
	return s
}

func overlayOf(title string, frames, first, done int) Overlay {
	progress := analyze.Series{Name: "visually complete", Unit: "fraction", Holds: true}
	changed := analyze.Series{Name: "pixels changed", Unit: "pixels"}
	for n := range frames {
		progress.Frames, changed.Frames = append(progress.Frames, n), append(changed.Frames, n)
		progress.Values = append(progress.Values, max(0, min(1, float64(n-first)/float64(done-first))))
		changed.Values = append(changed.Values, float64(n*7919%921600))
	}
	return Overlay{
		Title: title, Zero: timeline.Time(first) * 1e9 / 60, First: 0, Last: frames - 1,
		Series: []analyze.Series{progress, changed},
		Values: []analyze.Value{
			{Name: "Speed Index", Unit: "ms", Value: 1204, Low: 1188, High: 1221, State: analyze.Bounded},
			{Name: "framerate", Unit: "frames/s", Value: 57.31, Low: 57.31, High: 57.31, State: analyze.Exact},
			{Name: "longest freeze", Unit: "ms", Value: 116.7, Low: 100, High: 133.3, State: analyze.Bounded},
			{Name: "torn", Unit: "frames", Value: 2, Low: 2, High: 2, State: analyze.Exact},
		},
		Marks: []Mark{
			{Frame: first, Label: "T0", Tone: Neutral}, {Frame: first, Label: "s start", Tone: Begin},
			{Frame: first + 4, Label: "first change", Tone: Visual},
			{Frame: first + 30, Label: "torn", Tone: Fault},
			{Frame: done, Label: "last change", Tone: Visual},
			{Frame: frames - 5, Label: "e end", Tone: End}, {Frame: frames - 4, Label: "r red", Tone: End},
		},
	}
}

// gallery draws one of each kind.
func gallery(t *testing.T) map[string]func(io.Writer) error {
	all := map[string]func(io.Writer) error{}
	picture := func(name string, img *image.RGBA, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name+".png"] = func(w io.Writer) error { return png.Encode(w, img) }
	}
	graph := func(name string, g *Graph, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name+".svg"], all[name+".png"] = g.WriteSVG, g.WritePNG
	}
	shown := page(t, 1280, 720, 1)
	img, err := HeatPicture(heatOf(1280, 720, 900), HeatOptions{Title: "Heat map of the load"})
	picture("heat-log", img, err)
	img, err = HeatPicture(heatOf(1280, 720, 12), HeatOptions{Under: &shown})
	picture("heat-under", img, err)
	img, err = HeatPicture(heatOf(64, 48, 9), HeatOptions{Title: "Small"})
	picture("heat-small", img, err)
	img, err = HeatPicture(heatOf(640, 360, 0), HeatOptions{Title: "Nothing changed"})
	picture("heat-none", img, err)
	img, err = HeatPicture(heatOf(640, 360, 1.5), HeatOptions{Title: "Once"})
	picture("heat-once", img, err)
	a, b := heatOf(1280, 720, 400), heatOf(1280, 720, 400)
	for i := range b.Counts {
		b.Counts[i] = uint32(float64(a.Counts[len(a.Counts)-1-i])*0.8) + uint32(i/1280/300)
	}
	img, err = HeatDifference(a, b, HeatOptions{Title: "release 1 → release 2", Under: &shown})
	picture("heat-difference", img, err)
	g, err := ProgressGraph([]Line{
		{"pixel-exact", progressOf(300, 90, 0.06, true), sixty},
		{"histogram", progressOf(300, 70, 0.05, true), sixty},
		{"perceptual", progressOf(300, 110, 0.08, true), sixty},
		{"contentful", progressOf(300, 140, 0.04, false), sixty},
	}, GraphOptions{Title: "Load progress", TimeLabel: "time since navigation (s)", Marks: []TimeMark{
		{0.4, "first change", Visual}, {2.1, "85 %", Neutral}, {2.3, "95 %", Neutral}, {4.2, "last change", Visual},
	}})
	graph("progress", g, err)
	g, err = ProgressGraph([]Line{{"", progressOf(60, 30, 0.2, true), sixty}}, GraphOptions{})
	graph("progress-one", g, err)
	g, err = FrameTimeGraph(frameTimesOf(500, 900), sixty,
		GraphOptions{Title: "Frame times", Marks: []TimeMark{{3, "torn", Fault}}})
	graph("frame-times", g, err)
	g, err = FrameTimeGraph(frameTimesOf(40, 40), sixty, GraphOptions{Title: "Frame times"})
	graph("frame-times-short", g, err)
	g, err = FrameTimeGraph(frameTimesOf(20000, 40), sixty, GraphOptions{Title: "Frame times", Scale: 2})
	graph("frame-times-long", g, err)
	var cells []Cell
	for i := range 60 {
		c := Cell{Frame: 3 * i, Caption: number(sixty(3*i), 2) + " s"}
		switch i {
		case 1:
			c.Mark, c.Tone = "first change", Visual
		case 30:
			c.Mark, c.Tone = "torn", Fault
		case 59:
			c.Mark, c.Tone = "last change", Visual
		}
		cells = append(cells, c)
	}
	strip := analyzetest.Must(NewFilmstrip(cells, FilmstripOptions{Title: "What changed", MaxCells: 15}))(t)
	for _, n := range strip.Frames() {
		strip.Add(n, page(t, 1280, 720, float64(n)/177))
	}
	img, err = strip.Picture()
	picture("filmstrip", img, err)
	img, err = EvidencePicture(shown, []analyze.Evidence{
		{Kind: "torn", Frame: 123, Rows: []int{211, 480},
			Text: "rows 0 to 210 and 480 to 719 are of image 4, rows 211 to 479 of image 5"},
	}, EvidenceOptions{Caption: "Frame 123, 2.050 s"})
	picture("evidence-torn", img, err)
	img, err = EvidencePicture(page(t, 1920, 1080, 0.5), []analyze.Evidence{
		{Kind: "checkerboard", Frame: 9, Region: []int{48, 154, 576, 180},
			Text: "12.3 % of the content; filled after 133 ms"},
		{Kind: "checkerboard", Frame: 9, Region: []int{1300, 700, 620, 380},
			Text: "23.0 % of the content; never filled"},
	}, EvidenceOptions{})
	picture("evidence-checkerboard", img, err)
	return all
}

func TestGallery(t *testing.T) {
	dir := os.Getenv(galleryVariable)
	if dir == "" {
		dir = t.TempDir()
	}
	for name, write := range gallery(t) {
		t.Run(name, func(t *testing.T) {
			var first, second bytes.Buffer
			analyzetest.Check(t, write(&first))
			if err := write(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Errorf("drawn twice, it differs (error %v)", err)
			}
			analyzetest.Check(t, os.WriteFile(filepath.Join(dir, name), first.Bytes(), 0o644))
		})
	}
}
