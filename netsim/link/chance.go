package link

import "math/rand/v2"

// chance draws the random numbers of a direction. Each packet uses equally many, each kind from a
// stream of its own. So changing one setting does not change the fates of another kind.
type chance struct {
	loss, jitter, order *rand.Rand
	bad                 bool
	toBad, toGood       float64
}

// roll is what chance says of a packet.
type roll struct {
	lost   bool
	jitter float64 // -1 to 1
	order  float64 // 0 to 1; less than the share that is held back
}

func newChance(seed, stream uint64) chance {
	of := func(kind uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream<<8|kind)) }
	return chance{loss: of(1), jitter: of(2), order: of(3)}
}

// set makes the channel lose a share of packets in bursts of a mean length. In equilibrium it is in
// its bad state for that share, toBad / (toBad + toGood). It stays there for 1 / toGood packets on
// average.
func (c *chance) set(loss, burst float64) {
	switch {
	case loss <= 0:
		c.toBad, c.toGood, c.bad = 0, 1, false
	case loss >= 1:
		c.toBad, c.toGood = 1, 0
	default:
		if burst == 0 {
			burst = 1 / (1 - loss)
		}
		c.toGood = 1 / burst
		c.toBad = c.toGood * loss / (1 - loss)
	}
}

func (c *chance) next() roll {
	v := c.loss.Float64()
	if c.bad {
		c.bad = v >= c.toGood
	} else {
		c.bad = v < c.toBad
	}
	return roll{lost: c.bad, jitter: 2*c.jitter.Float64() - 1, order: c.order.Float64()}
}
