package synth

import "encoding/binary"

// buildPattern shows a still picture that reveals a capture's noise. Even grey and a ladder of
// greys reveal noise of sensors and converters. Soft and hard texture with colours reveals
// compression and filters.
func buildPattern(k *kit) (*script, error) {
	s, err := k.drawn(k.format.Width, k.format.Height, func(c *canvas) { c.pattern(k.seed) })
	if err != nil {
		return nil, err
	}
	draw := func(_ uint64, list []blit) []blit { return append(list, whole(s, 0, 0)) }
	return &script{draw: draw, lead: 1, cycle: 1}, nil
}

// pattern fills the quarters of the canvas: even grey, grey steps from dark to bright, soft texture
// per channel, and lines between colours. The lines are one to eight pixels wide.
func (c *canvas) pattern(seed uint64) {
	const steps = 16
	rnd := newRandom(seed, "pattern")
	salt := [3]uint32{uint32(rnd.next()), uint32(rnd.next()), uint32(rnd.next())}
	colours := [...]colour{0xf0f0f0, 0x101010, 0xd02020, 0x20b040, 0x2040d0, 0xe0c020, 0x20c0d0, 0xc030b0}
	for y := range c.h {
		out := c.row(y)
		for x := range c.w {
			col := colour(0x808080)
			switch left, top := x < c.w/2, y < c.h/2; {
			case top && !left:
				level := colour(16 + (x-c.w/2)*steps/(c.w-c.w/2)*14)
				col = level<<16 | level<<8 | level
			case !top && left:
				col = 0
				for i := range 3 {
					col = col<<8 | colour(24+valueNoise(uint32(x), uint32(y), 2+uint(i), salt[i])*207>>8)
				}
			case !top:
				wide := 1 + (y-c.h/2)*8/(c.h-c.h/2)
				col = colours[(x/wide+y/(2*wide)*3)%len(colours)]
			}
			binary.LittleEndian.PutUint32(out[4*x:], col.word())
		}
	}
}
