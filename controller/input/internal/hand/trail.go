package hand

import "math"

// Trail is where a mouse that tells ways is thought to be. It is right while nothing else moves the
// pointer, and where the device adds no acceleration. The zero value does not know where it is.
type Trail struct {
	x, y  int
	known bool
}

// To returns the ways that bring the pointer to a place: the first time into the upper left corner,
// beyond which it cannot go, and from there. No way is longer than most in either direction.
func (t *Trail) To(screen Screen, x, y float64, most int) (ways [][2]int) {
	if !t.known {
		*t = Trail{known: true}
		ways = split(ways, -screen.Width, -screen.Height, most)
	}
	toX, toY := Pixel(x, screen.Width), Pixel(y, screen.Height)
	ways = split(ways, toX-t.x, toY-t.y, most)
	t.x, t.y = toX, toY
	return ways
}

// split appends a way in pieces. One of no length is one piece.
func split(ways [][2]int, dx, dy, most int) [][2]int {
	for {
		px, py := min(max(dx, -most), most), min(max(dy, -most), most)
		ways = append(ways, [2]int{px, py})
		dx, dy = dx-px, dy-py
		if dx == 0 && dy == 0 {
			return ways
		}
	}
}

// Pixel returns the number of the pixel, of a row or column, that a place is nearest to.
func Pixel(at float64, size int) int {
	return min(max(int(math.Round(at)), 0), size-1)
}
