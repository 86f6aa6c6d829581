package synth

import (
	"encoding/binary"
	"math/bits"
)

const (
	videoFirst  = 60 // frame
	videoWidth  = 1280
	videoHeight = 720

	// Pictures are a little larger than the video and shown at varying places. So the loop is
	// longer than the number of pictures. Together they exceed the processor's caches at full size.
	pictures      = 20
	pictureMargin = 64
	videoCycle    = pictures * 8
)

func buildWeb(k *kit) (*script, error) {
	l, err := k.newLoad(k.format.Height, videoFirst-10, videoFirst-4)
	if err != nil {
		return nil, err
	}
	v := rect{0, 0, min(videoWidth, k.format.Width), min(videoHeight, k.format.Height)}
	v.x, v.y = (k.format.Width-v.w)/2&^1, (k.format.Height-v.h)/2&^1
	film, err := k.film(v.w, v.h)
	if err != nil {
		return nil, err
	}
	s := &script{lead: videoFirst + 1, cycle: videoCycle}
	s.draw = func(n uint64, list []blit) []blit {
		list = l.draw(n, 0, list)
		if n < videoFirst {
			return list
		}
		i := (n - videoFirst) % videoCycle
		at := mix(k.seed + i)
		return append(list, blit{
			from: film[i%pictures],
			sx:   int(at%pictureMargin) &^ 1, sy: int(at>>32%pictureMargin) &^ 1,
			dx: v.x, dy: v.y, w: v.w, h: v.h,
		})
	}
	l.tell(k, &s.truth)
	area := k.area(v)
	s.truth.Video = &area
	return s, nil
}

// film returns the pictures of a video: gradients that move, under the noise of a camera.
func (k *kit) film(w, h int) ([]*sheet, error) {
	noise := grain(k.seed)
	var film []*sheet
	for i := range pictures {
		s, err := k.drawn(w+pictureMargin, h+pictureMargin, func(c *canvas) { c.exposure(i, noise, k.seed) })
		if err != nil {
			return nil, err
		}
		film = append(film, s)
	}
	return film, nil
}

// grainPixels is how many pixels of noise there are. Rows take theirs from random places: LZ4 looks
// back over some rows only, and hardly ever finds one that overlaps.
const grainPixels = 1 << 20

// grain returns noise for three channels, each from 0 to 16 around 8 with a standard deviation of
// 2: the binomial distribution of the ones in 16 bits.
func grain(seed uint64) []uint32 {
	rnd := newRandom(seed, "grain")
	g := make([]uint32, grainPixels)
	for i := range g {
		v := rnd.next()
		g[i] = uint32(bits.OnesCount16(uint16(v))) |
			uint32(bits.OnesCount16(uint16(v>>16)))<<8 |
			uint32(bits.OnesCount16(uint16(v>>32)))<<16
	}
	return g
}

// exposure draws picture t of the film. Every pixel is the sum of a column's value, a row's value
// and noise. The values are at most 110 a channel, the noise 16. So no channel overflows into the
// next.
func (c *canvas) exposure(t int, noise []uint32, seed uint64) {
	columns := make([]uint32, c.w)
	for x := range columns {
		columns[x] = wave(x+6*t, 700)<<16 | wave(x+9*t, 430)<<8 | wave(x-5*t+4000, 910)
	}
	for y := range c.h {
		level := wave(y+3*t, 380)<<16 | wave(y-4*t+4000, 520)<<8 | wave(y+7*t, 610)
		at := int(mix(seed^uint64(t)<<32^uint64(y)) % uint64(len(noise)-c.w))
		out := c.row(y)
		for x, n := range noise[at : at+c.w] {
			binary.LittleEndian.PutUint32(out[4*x:], columns[x]+level+n)
		}
	}
}

// wave is a triangle from 0 to 110 with a period of 2·half.
func wave(x, half int) uint32 {
	x %= 2 * half
	if x >= half {
		x = 2*half - x
	}
	return uint32(x * 110 / half)
}
