package checkerboard

import "github.com/eideticker/eideticker/capture/frame"

const MinGridCell = minCell

// DrawPattern draws the checkerboard that options name.
func DrawPattern(l *frame.Layout, o Options) frame.Image {
	return newPattern(l, o.Colours, o.Cell, o.X, o.Y).image
}
