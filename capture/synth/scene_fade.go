package synth

import "encoding/binary"

const (
	fadeSteps = 16 // the mixtures between two pages are one less
	fadeHold  = 9  // frames that each page stays
	fadeCycle = 2 * (fadeHold + fadeSteps - 1)
)

// buildFade mixes two pages, sample by sample: every row of a fading frame is new.
func buildFade(k *kit) (*script, error) {
	var mixtures [fadeSteps + 1]*sheet
	w, h := k.format.Width, k.format.Height
	var err error
	for i, number := range []uint64{0, 1} {
		if mixtures[i*fadeSteps], _, err = k.pageSheet(number, w, h); err != nil {
			return nil, err
		}
	}
	for i := 1; i < fadeSteps; i++ {
		if mixtures[i], err = k.newSheet(k.format); err != nil {
			return nil, err
		}
		mixBytes(mixtures[i].pix, mixtures[0].pix, mixtures[fadeSteps].pix, uint64(i))
	}
	s := &script{lead: 1, cycle: fadeCycle}
	s.draw = func(n uint64, list []blit) []blit {
		return append(list, whole(mixtures[fadeStep(n%fadeCycle)], 0, 0))
	}
	// The first page is held from frame 0 to fadeHold−1, and the fade back ends with the cycle.
	s.truth.Fades = []Run{{fadeHold, fadeHold + fadeSteps - 1}, {2*fadeHold + fadeSteps - 1, fadeCycle}}
	return s, nil
}

// fadeStep returns how many sixteenths of the second page frame n of a cycle shows.
func fadeStep(n uint64) int {
	const half = fadeCycle / 2
	step := 0
	if i := int(n % half); i >= fadeHold {
		step = i - fadeHold + 1
	}
	if n >= half {
		return fadeSteps - step
	}
	return step
}

// mixBytes writes (a·(16−t) + b·t)/16 for every byte, eight at a time: even and odd bytes each have
// 16 bits to themselves, and no sum needs more.
func mixBytes(dst, a, b []byte, t uint64) {
	const even = 0x00ff00ff00ff00ff
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		lo := ((x&even)*(fadeSteps-t) + (y&even)*t) >> 4 & even
		hi := ((x>>8&even)*(fadeSteps-t) + (y>>8&even)*t) >> 4 & even
		binary.LittleEndian.PutUint64(dst[i:], lo|hi<<8)
	}
	for ; i < len(dst); i++ {
		dst[i] = byte((uint64(a[i])*(fadeSteps-t) + uint64(b[i])*t) / fadeSteps)
	}
}
