package render

import (
	"fmt"
	"image"
)

// nothingYet stands on the empty picture for the time before a page shows anything.
const nothingYet = "nothing yet"

// Nothing returns the picture that stands for frames before the first content, such as those of a
// sync marker.
func Nothing(size image.Point) (*image.RGBA, error) {
	fonts, err := newFonts(textScale(size.X))
	if err != nil {
		return nil, fmt.Errorf("draw an empty frame: %w", err)
	}
	img := image.NewRGBA(image.Rectangle{Max: size})
	fill(img, img.Rect, inkPanel())
	text := fonts.title.fit(nothingYet, size.X)
	fonts.title.drawMiddle(img, size.X/2, (size.Y+fonts.title.ascent)/2, text, inkMuted())
	return img, nil
}
