package x11

import "encoding/binary"

// cursorImage is a reply to XFixes GetCursorImage (fixesproto, section 6). Its bytes are the
// reply's own.
type cursorImage struct {
	x, y          int // of the picture's top left corner on the screen
	width, height int
	pixels        []byte // B G R A, colours multiplied by alpha
}

// parseCursor reads a reply.
func parseCursor(reply []byte) (cursorImage, bool) {
	if len(reply) < 32 {
		return cursorImage{}, false
	}
	word := func(at int) int { return int(binary.LittleEndian.Uint16(reply[at:])) }
	signed := func(at int) int { return int(int16(word(at))) }
	c := cursorImage{width: word(12), height: word(14)}
	c.x, c.y = signed(8)-word(16), signed(10)-word(18) // position less the hot spot
	n := c.width * c.height * 4
	if len(reply)-32 < n {
		return cursorImage{}, false
	}
	c.pixels = reply[32 : 32+n]
	return c, true
}

// draw blends the cursor into a picture of 4-byte pixels that begins at (left, top) of the screen.
// Each channel becomes cursor + picture·(255-alpha)/255, rounded to the nearest; the picture's
// fourth byte is left alone.
func (c cursorImage) draw(pix []byte, left, top, width, height int) {
	for row := range c.height {
		y := c.y + row - top
		if y < 0 || y >= height {
			continue
		}
		from := max(0, left-c.x)
		to := min(c.width, left+width-c.x)
		for col := from; col < to; col++ {
			s := c.pixels[(row*c.width+col)*4:][:4]
			d := pix[(y*width+c.x+col-left)*4:][:4]
			rest := 255 - uint32(s[3])
			for i := range 3 {
				d[i] = byte(min(255, uint32(s[i])+(uint32(d[i])*rest+127)/255))
			}
		}
	}
}
