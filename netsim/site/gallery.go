package site

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
)

// Resource is one of the pictures that a gallery page is made of: a request of its own. It is shown
// once all of it is there, and covers its area.
type Resource struct {
	Path string `json:"path"` // on the site
	Area
}

// A gallery is 50 requests: the page, its style, its script and these.
const (
	galleryPictures              = 47
	galleryColumns, galleryRows  = 10, 5
	galleryTitle                 = galleryColumns*galleryRows - galleryPictures // cells of the first row
	galleryPath, galleryEnd      = "/gallery/", ".png"
	galleryWidth                 = 60     // pixels of a picture, before it is enlarged
	minPictureRows, pictureRows  = 12, 96 // of a picture: it is noise, so they are its bytes
	galleryNoise, galleryMinTone = 96, 112
)

// galleryPage waits for nothing but its resources: how long it takes is the network's.
func galleryPage() Page {
	p := Page{
		Name: "gallery", Title: "Gallery", Path: "/gallery.html",
		Draws:   fmt.Sprintf("%d pictures, each of which appears when it has come over the network", galleryPictures),
		Cadence: cadenceArrivals, DurationMillis: 120_000, QuietMillis: 500,
	}
	for i := range galleryPictures {
		cell := galleryTitle + i
		const w, h, gap = 1280 / galleryColumns, 720 / galleryRows, 4
		p.Resources = append(p.Resources, Resource{
			Path: galleryPath + strconv.Itoa(i+1) + galleryEnd,
			Area: Area{cell%galleryColumns*w + gap, cell/galleryColumns*h + gap, w - 2*gap, h - 2*gap},
		})
	}
	return p
}

// galleryFiles are the pictures as PNG, the same in every run of every program. Each has some
// kilobytes that cannot be packed further. Their pixels are brighter than the background, also when
// enlarged.
var galleryFiles = sync.OnceValue(func() [][]byte {
	var files [][]byte
	for i := range galleryPictures {
		noise := rand.New(rand.NewPCG(uint64(i), 0x6761_6c6c_6572_79)) // the letters of gallery
		tone := color.RGBA{R: uint8(noise.UintN(48)), G: uint8(noise.UintN(48)), B: uint8(noise.UintN(48))}
		m := image.NewRGBA(image.Rect(0, 0, galleryWidth, minPictureRows+noise.IntN(pictureRows-minPictureRows)))
		for p := 0; p < len(m.Pix); p += 4 {
			for k, c := range []uint8{tone.R, tone.G, tone.B} {
				m.Pix[p+k] = galleryMinTone + c + uint8(noise.UintN(galleryNoise))
			}
			m.Pix[p+3] = 255
		}
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			panic(err) // a buffer takes everything
		}
		files = append(files, b.Bytes())
	}
	return files
})

// galleryFile returns the picture at a path, if one is there.
func galleryFile(path string) ([]byte, bool) {
	name, is := strings.CutPrefix(path, galleryPath)
	if !is {
		return nil, false
	}
	name, is = strings.CutSuffix(name, galleryEnd)
	i, err := strconv.Atoi(name)
	if !is || err != nil || i < 1 || i > galleryPictures || name != strconv.Itoa(i) {
		return nil, false
	}
	return galleryFiles()[i-1], true
}
