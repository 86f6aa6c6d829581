package synth

import "github.com/eideticker/eideticker/capture/frame"

const (
	noiseCycle  = 1024
	noiseBytes  = 256 << 20 // more than caches hold
	noiseLimit  = 512 << 20
	noiseSlack  = 4096 // a frame may start at this many places of its region, or more
	noiseFrames = 64   // for small formats: this many times the bytes of a frame
)

// buildNoise makes one buffer of random bytes and cuts it into regions. Frame n comes from another
// region than frame n−1, and from a random byte within it. No row of one frame is a row of the
// other, and alignments do not repeat for a long time.
func buildNoise(k *kit) (*script, error) {
	tight, err := frame.NewFormat(k.format.Pixel, k.format.Width, k.format.Height)
	if err != nil {
		return nil, err
	}
	s := &sheet{w: tight.Width, h: tight.Height, planes: tight.Planes()}
	size := tight.Size()
	regions := 8
	for regions > 2 && regions*size > noiseLimit {
		regions /= 2
	}
	region := max(min(noiseFrames*size, noiseBytes)/regions, size) + noiseSlack
	if s.pix, err = k.mem.alloc(regions * region); err != nil {
		return nil, err
	}
	rnd := newRandom(k.seed, "noise")
	rnd.fill(s.pix)
	start := uint64(rnd.next())
	draw := func(n uint64, list []blit) []blit {
		n %= noiseCycle
		within := int(mix(start+n) % uint64(region-size))
		b := whole(s, 0, 0)
		b.shift = int(n)%regions*region + within
		return append(list, b)
	}
	return &script{draw: draw, lead: 1, cycle: noiseCycle}, nil
}
