package marker

import (
	"fmt"
	"image"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
)

// painter makes random films of markers and of similar pictures.
type painter struct {
	rng    *rand.Rand
	w, h   int
	canvas []byte // B G R X
	frames [][]byte
	layout *frame.Layout
	pack   *frame.Packer
	noisy  bool
	mark   *strip.Code // drawn into the frame while set
	markIn image.Rectangle
}

func newPainter(t testing.TB, rng *rand.Rand) *painter {
	p := &painter{rng: rng, w: 200 + 2*rng.IntN(30), h: 20 + 2*rng.IntN(40), noisy: rng.IntN(6) == 0}
	formats := []frame.PixelFormat{frame.BGR4, frame.NV12, frame.YUYV, frame.P444, frame.RGB3, frame.Y210}
	f, err := frame.NewFormat(formats[rng.IntN(len(formats))], p.w, p.h)
	if err != nil {
		t.Fatal(err)
	}
	p.layout = analyzetest.Must(frame.NewLayout(f))(t)
	p.pack = frame.NewPacker(p.layout)
	p.canvas = make([]byte, 4*p.w*p.h)
	return p
}

func (p *painter) all() image.Rectangle { return image.Rect(0, 0, p.w, p.h) }

func (p *painter) fill(r image.Rectangle, b, g, red int) {
	r = r.Intersect(p.all())
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			at := 4 * (y*p.w + x)
			p.canvas[at], p.canvas[at+1], p.canvas[at+2] = byte(b), byte(g), byte(red)
		}
	}
}

// some returns a rectangle: anywhere, or one that begins at an edge, or all of the frame.
func (p *painter) some() image.Rectangle {
	n := p.rng.IntN
	switch n(8) {
	case 0:
		return image.Rect(0, 0, p.w, n(p.h))
	case 1:
		return image.Rect(0, n(p.h), p.w, p.h)
	case 2:
		return image.Rect(0, p.h/10+n(3), p.w, p.h)
	case 3:
		return image.Rect(n(p.w/3), 0, p.w, p.h)
	case 4, 5:
		x, y := n(p.w), n(p.h)
		return image.Rect(x, y, x+1+n(12), y+1+n(5))
	case 6:
		x, y := n(p.w), n(p.h)
		return image.Rect(x, y, x+n(p.w), y+n(p.h))
	}
	return p.all()
}

func (p *painter) colour() (b, g, r int) {
	switch p.rng.IntN(5) {
	case 0, 1:
		return 0, 255, 0
	case 2, 3:
		return 0, 0, 255
	}
	return p.rng.IntN(256), p.rng.IntN(256), p.rng.IntN(256)
}

// act changes the canvas in one of the ways that matter.
func (p *painter) act() {
	b, g, r := p.colour()
	switch p.rng.IntN(12) {
	case 0:
		p.fill(p.all(), 0, 255, 0)
	case 1:
		p.fill(p.all(), 0, 0, 255)
	case 2:
		for range 1 + p.rng.IntN(5) {
			p.fill(p.some(), p.rng.IntN(256), p.rng.IntN(256), p.rng.IntN(256))
		}
	case 3: // a bar above a marker, or beside it
		p.fill(p.all(), b, g, r)
		bar := image.Rect(0, 0, p.w, p.rng.IntN(p.h/3))
		if p.rng.IntN(2) == 0 {
			bar = image.Rect(0, 0, p.rng.IntN(p.w/3), p.h)
		}
		p.fill(bar, 90, 90, 90)
	case 4: // a code on it
		c := strip.MarkerCode([]string{"this", "other"}[p.rng.IntN(2)], 1, strip.Marker(1+p.rng.IntN(2)))
		p.mark, p.markIn = &c, image.Rect(0, p.rng.IntN(2)*p.h/10&^1, p.w, p.h)
	case 5:
		p.mark = nil
	default:
		p.fill(p.some(), b, g, r)
	}
}

// show adds the canvas to the film.
func (p *painter) show() {
	src := append([]byte(nil), p.canvas...)
	if p.noisy {
		for i := range src {
			src[i] = byte(min(255, max(0, int(src[i])+p.rng.IntN(13)-6)))
		}
	}
	pix := make([]byte, p.layout.Size)
	p.pack.BGRX(pix, src)
	if p.mark != nil {
		strip.DrawCopy(p.layout.View(pix), p.markIn, 0, *p.mark) // or not, where it is too small
	}
	p.frames = append(p.frames, pix)
}

// film returns a reel of some frames.
func (p *painter) film() *reel {
	r := &reel{layout: p.layout, size: p.layout.Size, render: func(n int, pix []byte) { copy(pix, p.frames[n]) }}
	for len(p.frames) < 60 {
		for range 1 + p.rng.IntN(2) {
			p.act()
		}
		hold := 1
		if p.rng.IntN(3) == 0 {
			hold += p.rng.IntN(6)
		}
		for range hold {
			p.show()
			if p.rng.IntN(10) > 0 {
				r.seq = append(r.seq, uint64(len(p.frames)-1))
			}
		}
	}
	return r
}

// TestRandomFilms compares the detector with itself looking at every changed frame, on films full
// of faults.
func TestRandomFilms(t *testing.T) {
	var windows, problems, looked, frames, codes, moved int
	for seed := range analyzetest.Seeds(uint64(80)) {
		rng := rand.New(rand.NewPCG(seed, 77))
		r := newPainter(t, rng).film()
		o := Options{}
		switch rng.IntN(4) {
		case 0:
			o.Nonce = "this"
		case 1:
			if rng.IntN(3) == 0 {
				o.Region = image.Rect(3, 5, 190, 19)
			}
		}
		got, wrong, n := r.find(t, o, false)
		want, all, _ := r.find(t, o, true)
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(kinds(wrong), kinds(all)) {
			t.Fatalf("film %d: got %s %v\nlooking at every frame: %s %v", seed, show(got), wrong, show(want), all)
		}
		windows, looked, frames = windows+len(got), looked+n, frames+len(r.seq)
		problems += len(kinds(wrong))
		for _, w := range got {
			if w.GreenCode != nil {
				codes++
			}
			if w.Warnings != nil {
				moved++
			}
			if w.GreenFrom > w.Green || w.Green >= w.Start || w.End >= w.Red || w.Red > w.RedTo || w.Region.Empty() {
				t.Fatalf("film %d: %s", seed, show(got))
			}
		}
	}
	t.Logf("%d windows (%d with codes, %d with warnings), %d problems, %d of %d frames looked at", windows, codes,
		moved, problems, looked, frames)
	if n := int(analyzetest.Seeds(uint64(80))) / 16; windows < 5*n || codes < n || moved < n {
		t.Error("the films show too little")
	}
}

func show(windows []Window) string {
	s := ""
	for _, w := range windows {
		s += fmt.Sprintf("%+v\n", w)
	}
	return s
}
