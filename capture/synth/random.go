package synth

import "encoding/binary"

// random is SplitMix64 (Steele, Lea, Flood 2014). It is written out here because a scene must
// look the same for ever: recordings made by different builds are compared.
type random uint64

// newRandom returns the stream of one purpose of one seed.
func newRandom(seed uint64, purpose string) random {
	r := random(seed)
	for _, c := range []byte(purpose) {
		r = random(r.next() ^ uint64(c))
	}
	return r
}

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	return mix(uint64(*r))
}

// mix is SplitMix64's output function, a bijection that looks random.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number from 0 to n-1; the bias of the remainder does not matter here.
func (r *random) below(n int) int {
	return int(r.next() % uint64(n))
}

// between returns a number from lo to hi, both included.
func (r *random) between(lo, hi int) int {
	return lo + r.below(hi-lo+1)
}

func (r *random) fill(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, r.next())
	}
	for i := range b {
		b[i] = byte(r.next())
	}
}
