package synth

import "fmt"

const (
	looks         = 64 // unique frames that look different; then they come again
	patchSide     = 32
	ballSide      = 64
	cadenceCycles = 1 << 16 // longest pattern of new and repeated frames
)

// cadence counts the unique frames up to frame n.
type cadence struct {
	num, den uint64 // num new frames in den
	held     []uint64
}

func (k *kit) cadence() (cadence, uint64, error) {
	if len(k.repeats) == 0 {
		num, den := k.rate.num*k.fps.den, k.rate.den*k.fps.num
		g := gcd(num, den)
		c := cadence{num: num / g, den: den / g}
		if c.den > cadenceCycles {
			return c, 0, fmt.Errorf("bad rate %v: on %v frames a second it recurs only every %d frames, limit %d",
				k.rate, k.fps, c.den, cadenceCycles)
		}
		return c, c.den, nil
	}
	c := cadence{num: uint64(len(k.repeats))}
	for _, n := range k.repeats {
		c.den += uint64(n)
		c.held = append(c.held, c.den)
	}
	return c, c.den, nil
}

func (c *cadence) unique(n uint64) uint64 {
	if c.held == nil {
		return n * c.num / c.den
	}
	u, rest := n/c.den*c.num, n%c.den
	for _, end := range c.held {
		if rest < end {
			break
		}
		u++
	}
	return u
}

// buildCadence shows a ball that jumps and a grey patch in the corner. The patch is the smallest
// mark that distinguishes consecutive unique frames in every format and size.
func buildCadence(k *kit) (*script, error) {
	c, cycle, err := k.cadence()
	if err != nil {
		return nil, err
	}
	w, h := k.format.Width, k.format.Height
	lane := rect{0, h / 2 &^ 1, w, ballSide}
	base, err := k.drawn(w, h, func(cv *canvas) {
		k.page(0).draw(cv)
		cv.fill(lane, 0xeef1f4)
	})
	if err != nil {
		return nil, err
	}
	ball, err := k.drawn(ballSide, ballSide, func(cv *canvas) {
		cv.fill(cv.bounds(), 0xeef1f4)
		cv.disc(ballSide/2, ballSide/2, 28, 0xc9184a)
	})
	if err != nil {
		return nil, err
	}
	var patch [looks]*sheet
	for i := range patch {
		level := colour(32 + 3*(i*37%looks)) // neighbours are far apart
		if patch[i], err = k.solid(patchSide, patchSide, level<<16|level<<8|level); err != nil {
			return nil, err
		}
	}
	step := max(0, w-ballSide) / looks &^ 1
	s := &script{lead: 1, cycle: cycle}
	s.draw = func(n uint64, list []blit) []blit {
		u := c.unique(n) % looks
		return append(list, whole(base, 0, 0), whole(ball, int(u)*step, lane.y), whole(patch[u], 0, 0))
	}
	s.truth.Cadence = &Cadence{Repeats: k.repeats}
	if len(k.repeats) == 0 {
		s.truth.Cadence.Num, s.truth.Cadence.Den = k.rate.num, k.rate.den
	}
	return s, nil
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
