package marker

import (
	"image"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Blink finds the changes of a blinking caret, which do not end a stillness. Browsers draw one in a
// focused text field, and many pages focus theirs.
//
// A change may be a caret's if its rectangle has at most 8 columns, and four rows per column. The
// change before is at least 200 ms older. It is a caret's if both have the same rectangle. Then
// neither of them counts. Carets blink every 500 ms or so.
type Blink struct {
	box image.Rectangle // of the last change, if it may be a caret's
	at  timeline.Interval
}

const (
	caretWidth  = 8 // pixels
	caretSlim   = 4 // height ÷ width
	caretPeriod = 200 * time.Millisecond
)

// Add takes the next change. It reports whether the change may be a caret's, and whether it and the
// one before surely are. An empty rectangle is a change at an unknown place.
func (b *Blink) Add(box image.Rectangle, at timeline.Interval) (maybe, caret bool) {
	maybe = !box.Empty() && box.Dx() <= caretWidth && box.Dy() >= caretSlim*box.Dx() &&
		at.Earliest.Sub(b.at.Latest) >= caretPeriod
	caret = maybe && box == b.box
	b.box, b.at = image.Rectangle{}, at
	if maybe {
		b.box = box
	}
	return maybe, caret
}
