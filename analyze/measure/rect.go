package measure

// Rect is a rectangle of pixels; empty if x1 ≤ x0.
type Rect struct{ X0, Y0, X1, Y1 int }

// Add extends a rectangle to one that holds another too.
func (b *Rect) Add(o Rect) {
	if o.X1 <= o.X0 {
		return
	}
	if b.X1 <= b.X0 {
		*b = o
		return
	}
	*b = Rect{min(b.X0, o.X0), min(b.Y0, o.Y0), max(b.X1, o.X1), max(b.Y1, o.Y1)}
}

// Region returns x, y, width and height.
func (b Rect) Region() []int { return []int{b.X0, b.Y0, b.X1 - b.X0, b.Y1 - b.Y0} }

// Box returns the pixels x0 ≤ x < x1, y0 ≤ y < y1.
func Box(x0, y0, x1, y1 int) Rect { return Rect{x0, y0, x1, y1} }
