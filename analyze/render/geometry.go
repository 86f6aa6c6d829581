package render

import (
	"fmt"
	"image"

	"github.com/eideticker/eideticker/capture/frame"
)

// paneGeometry has the places of a recording's frames and its bar in a video.
type paneGeometry struct {
	in      image.Point     // size of a frame, made even
	content image.Rectangle // where it goes
	bar     image.Point     // top left of the bar
}

func (g paneGeometry) box() Box {
	return Box{X: g.content.Min.X, Y: g.content.Min.Y, Width: g.content.Dx(), Height: g.content.Dy()}
}

// paneWidth returns how wide a pane is: as its content, but wide enough for a bar.
func paneWidth(content image.Point, o *Overlay) int {
	if o == nil {
		return content.X
	}
	return max(content.X, minBar)
}

// single lays out one recording.
func single(f frame.Format, o VideoOptions) (g paneGeometry, b *bar, size image.Point, err error) {
	in, out := o.sizes(f)
	size = image.Pt(paneWidth(out, o.Overlay), out.Y)
	left := (size.X - out.X) / 2 &^ 1
	g = paneGeometry{in: in, content: image.Rectangle{Max: out}.Add(image.Pt(left, 0)), bar: image.Pt(0, out.Y)}
	if o.Overlay == nil {
		return g, nil, size, nil
	}
	if b, err = newBar(o.Overlay, size.X, float64(o.RateNum)/float64(o.RateDen)); err != nil {
		return g, nil, size, fmt.Errorf("make video: %w", err)
	}
	size.Y += b.img.Rect.Dy()
	return g, b, size, nil
}

const pairGap = 16 // pixels between two recordings

// double lays out two recordings beside each other, their bars on one line.
func double(f [2]frame.Format, overlays [2]*Overlay, o VideoOptions) (g [2]paneGeometry, b [2]*bar, size image.Point,
	err error) {
	var in, out [2]image.Point
	for i := range f {
		in[i], out[i] = o.sizes(f[i])
		size.Y = max(size.Y, out[i].Y)
	}
	left, tall := 0, size.Y
	for i := range f {
		width := paneWidth(out[i], overlays[i])
		at := image.Pt(left+(width-out[i].X)/2&^1, (tall-out[i].Y)/2)
		g[i] = paneGeometry{in: in[i], content: image.Rectangle{Max: out[i]}.Add(at), bar: image.Pt(left, tall)}
		if b[i], err = newBar(overlays[i], width, float64(o.RateNum)/float64(o.RateDen)); err != nil {
			return g, b, size, fmt.Errorf("make video of two runs: %w", err)
		}
		size.Y = max(size.Y, tall+b[i].img.Rect.Dy())
		size.X = left + width
		left += width + pairGap
	}
	return g, b, size, nil
}
