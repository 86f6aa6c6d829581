package synth

import "encoding/binary"

// photo fills r with something that compresses as a photograph does: soft shapes at several
// scales, a horizon, and the grain of a sensor.
func (c *canvas) photo(r rect, seed uint64) {
	rnd := newRandom(seed, "photo")
	sky, land, glow := palette(&rnd), palette(&rnd), palette(&rnd)
	horizon := rnd.between(35, 65) * r.h / 100
	salt := uint32(rnd.next())
	v := r.in(c.bounds())
	for y := v.y; y < v.y+v.h; y++ {
		out := c.line(v, y)
		for i := 0; i < len(out); i += 4 {
			x, py := uint32(v.x-r.x+i/4), uint32(y-r.y)
			soft := (valueNoise(x, py, 6, salt)*5 + valueNoise(x, py, 4, salt+1)*2 + valueNoise(x, py, 2, salt+2)) >> 3
			base := sky.mixed(glow, min(256, int(py)*256/(horizon+1)))
			if int(py) > horizon+soft>>2-32 {
				base = land.mixed(glow, soft)
			}
			col := base.mixed(white, soft>>1)
			grain := int(lattice(x, py, salt+3)) * photoGrain >> 8
			binary.LittleEndian.PutUint32(out[i:], darker(col, grain).word())
		}
	}
}

// photoGrain is how many levels the grain spans.
const photoGrain = 20

func darker(c colour, by int) colour {
	ch := func(shift uint) colour { return colour(max(0, int(c>>shift&255)-by)) << shift }
	return ch(16) | ch(8) | ch(0)
}

// palette returns a colour that is neither black nor white nor grey.
func palette(r *random) colour {
	tints := [...]colour{0x2f6690, 0x3a7ca5, 0x81a4cd, 0x6a994e, 0x386641, 0xbc6c25, 0xdda15e, 0x7f5539, 0x9d4edd,
		0xc9184a, 0x495057, 0x1b4965}
	return tints[r.below(len(tints))]
}

// valueNoise is smooth noise from 0 to 255 with one lattice point every 1<<scale pixels.
func valueNoise(x, y uint32, scale uint, salt uint32) int {
	lx, ly := x>>scale, y>>scale
	fx, fy := int(x&(1<<scale-1)), int(y&(1<<scale-1))
	a, b := int(lattice(lx, ly, salt)), int(lattice(lx+1, ly, salt))
	d, e := int(lattice(lx, ly+1, salt)), int(lattice(lx+1, ly+1, salt))
	top := a<<scale + (b-a)*fx
	bottom := d<<scale + (e-d)*fx
	return (top<<scale + (bottom-top)*fy) >> (2 * scale)
}

// lattice is a hash of a point, from 0 to 255.
func lattice(x, y, salt uint32) uint32 {
	h := x*0x9e3779b1 ^ y*0x85ebca77 ^ salt*0xc2b2ae3d
	h = (h ^ h>>15) * 0x2c1b3c6d
	h = (h ^ h>>12) * 0x297a2d39
	return (h ^ h>>15) >> 24
}
