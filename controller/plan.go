package controller

import (
	"iter"
	"math/rand/v2"
)

// Turn is the place of one run in a set.
type Turn struct {
	Variant int // which browser on which device
	Repeat  int // of the variant, from 0; of warm-ups too
	Block   int // from 0, warm-ups counted
	Place   int // in the block, from 0
	WarmUp  bool
}

// Plan is the order of the runs of a set. It has blocks, in each of which every variant has one
// turn, in random order. So a drift during a set, such as temperature or load, affects all variants
// alike. No variant is always the first.
type Plan struct {
	Variants int
	WarmUps  int // blocks that do not count, before the others
	Repeats  int // blocks that count
	Seed     uint64
}

// Turns goes through the plan; the same plan has the same order each time.
func (p Plan) Turns() iter.Seq[Turn] {
	return func(yield func(Turn) bool) {
		random := rand.New(rand.NewPCG(p.Seed, 1))
		for block := range p.WarmUps + p.Repeats {
			warm := block < p.WarmUps
			repeat := block
			if !warm {
				repeat -= p.WarmUps
			}
			for place, variant := range random.Perm(p.Variants) {
				if !yield(Turn{variant, repeat, block, place, warm}) {
					return
				}
			}
		}
	}
}
