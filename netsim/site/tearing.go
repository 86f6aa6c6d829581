package site

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// The set of images of the tearing pages. They are drawn here, in whole pixels, and sent as PNG. So
// a page's expected pixels are known.
const (
	tearingImages = 4
	tearingTile   = 80 // side of the squares of the mosaic; each is cut into two triangles
	// Sides that a browser may ask for.
	minTearingSide, maxTearingSide = 64, 4096
)

// tearingColours returns the colours of an image: the mosaic's, the last one for letters. The lumas
// of two images differ by at least 20, for each of the usual weights. So no two images share a
// pixel at any place. They do not after a conversion to YUV with halved chroma either, as in
// videos. None is near a marker's colour.
func tearingColours(i int) color.Palette {
	sets := [tearingImages][]color.RGBA{
		{{24, 32, 72, 255}, {32, 40, 96, 255}, {44, 36, 110, 255}, {20, 50, 84, 255}, {30, 30, 60, 255},
			{104, 44, 138, 255}},
		{{170, 70, 150, 255}, {150, 80, 170, 255}, {180, 66, 126, 255}, {160, 72, 160, 255}, {176, 76, 138, 255},
			{64, 112, 104, 255}},
		{{70, 186, 190, 255}, {80, 190, 180, 255}, {60, 192, 200, 255}, {90, 196, 210, 255}, {84, 184, 196, 255},
			{250, 152, 142, 255}},
		{{250, 230, 170, 255}, {255, 222, 140, 255}, {255, 240, 200, 255}, {244, 218, 156, 255}, {252, 226, 156, 255},
			{166, 228, 255, 255}},
	}
	var p color.Palette
	for _, c := range sets[i] {
		p = append(p, c)
	}
	return p
}

// tearingImage draws image i, counted from 0, of a tearing page's set for a viewport of
// width·height pixels. All images of a set are pairwise disjoint: at no place have two of them the
// same pixel.
func tearingImage(p Page, i, width, height int) (*image.Paletted, error) {
	if p.Flip == nil || i < 0 || i >= p.Flip.Images {
		return nil, fmt.Errorf("page %q has no image %d to flip", p.Name, i)
	}
	if width < minTearingSide || height < minTearingSide || width > maxTearingSide || height > maxTearingSide {
		return nil, fmt.Errorf("image of %dx%d pixels, want %d to %d each way", width, height, minTearingSide,
			maxTearingSide)
	}
	colours := tearingColours(i)
	m := mosaic{image.NewPaletted(image.Rect(0, 0, width, height), colours), i, uint8(len(colours) - 1)}
	m.ground()
	// The number as large as the picture allows, two lines below it.
	cell := max(1, min(width/24, height/16))
	m.text(strconv.Itoa(i+1), width/2, height*19/40, cell)
	small := max(1, cell/7)
	m.text(fmt.Sprintf("IMAGE %d OF %d", i+1, p.Flip.Images), width/2, height*32/40, small)
	m.text(p.Flip.claim(), width/2, height*35/40, small)
	return m.Paletted, nil
}

// claim is what the images say about themselves, in capitals.
func (f *Flip) claim() string {
	var layers []string
	for _, l := range f.Layers {
		layers = append(layers, strings.ToUpper(string(l)))
	}
	if f.Torn {
		return strings.Join(layers, " ") + "   SOME ARE TORN"
	}
	return strings.Join(layers, " ") + "   NONE IS TORN"
}

// mosaic is an image that is being drawn.
type mosaic struct {
	*image.Paletted
	number int
	ink    uint8
}

// ground fills the image with triangles, whose colours look random and are not.
func (m mosaic) ground() {
	b := m.Bounds()
	for y := range b.Dy() {
		row := m.Pix[y*m.Stride:]
		for x := range b.Dx() {
			tx, ty, half := x/tearingTile, y/tearingTile, 0
			if along, down := x%tearingTile, y%tearingTile; (tx+ty+m.number)%2 == 0 && along+down >= tearingTile ||
				(tx+ty+m.number)%2 != 0 && along >= down {
				half = 1
			}
			row[x] = uint8((tx*73 + ty*151 + half*41 + m.number*29) % 251 % int(m.ink))
		}
	}
}

// text draws letters of which one cell is a square of so many pixels, around a middle.
func (m mosaic) text(s string, x, y, cell int) {
	x -= len(s)*(letterWidth+1)*cell/2 - cell/2
	y -= letterHeight * cell / 2
	for _, r := range s {
		for line, bits := range letter(r) {
			for k := range letterWidth {
				if bits>>(letterWidth-1-k)&1 != 0 {
					m.fill(image.Rect(x+k*cell, y+line*cell, x+(k+1)*cell, y+(line+1)*cell))
				}
			}
		}
		x += (letterWidth + 1) * cell
	}
}

func (m mosaic) fill(r image.Rectangle) {
	r = r.Intersect(m.Bounds())
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := m.Pix[y*m.Stride : y*m.Stride+m.Stride]
		for x := r.Min.X; x < r.Max.X; x++ {
			row[x] = m.ink
		}
	}
}

// tearingPath is where the images are found: tearingPath?page=NAME&image=I&width=W&height=H.
const tearingPath = "/tearing.png"

func serveTearing(w http.ResponseWriter, q url.Values) {
	p, err := Find(q.Get("page"))
	if err != nil {
		refuse(w, http.StatusNotFound, err)
		return
	}
	var numbers [3]int
	for k, name := range []string{"image", "width", "height"} {
		if numbers[k], err = strconv.Atoi(q.Get(name)); err != nil {
			refuse(w, http.StatusBadRequest, fmt.Errorf("%s: invalid number %q", name, q.Get(name)))
			return
		}
	}
	m, err := tearingImage(p, numbers[0], numbers[1], numbers[2])
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, m); err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	send(w, "image/png", b.Bytes())
}
