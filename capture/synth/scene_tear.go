package synth

import "encoding/binary"

const (
	tearImages = 3
	tearHold   = 4  // frames that each image stays
	tearSteps  = 30 // images in a cycle, a multiple of tearImages
)

// buildTear shows images in turn. The first frame of an image may still have rows of one or two
// earlier images at its bottom.
func buildTear(k *kit) (*script, error) {
	var images [tearImages]*sheet
	w, h := k.format.Width, k.format.Height
	for i := range images {
		var err error
		if images[i], err = k.drawn(w, h, func(c *canvas) { c.band(i, k.seed) }); err != nil {
			return nil, err
		}
	}
	tears := k.tears()
	s := &script{lead: 1, cycle: tearHold * tearSteps}
	s.draw = func(n uint64, list []blit) []blit {
		n %= s.cycle
		t := tears[n/tearHold]
		if t == nil || t.Frame != n {
			return append(list, whole(images[n/tearHold%tearImages], 0, 0))
		}
		top := 0
		for i, image := range t.Images {
			bottom := h
			if i < len(t.Rows) {
				bottom = t.Rows[i]
			}
			list = append(list, part(images[image], rect{0, top, w, bottom - top}))
			top = bottom
		}
		return list
	}
	s.truth.Tears = &Tears{Images: tearImages, Torn: []Tear{}}
	for _, t := range tears {
		if t != nil {
			s.truth.Tears.Torn = append(s.truth.Tears.Torn, *t)
		}
	}
	return s, nil
}

// tears chooses which of the steps are torn and where. Rows are even, for chroma's sake.
func (k *kit) tears() [tearSteps]*Tear {
	var all [tearSteps]*Tear
	rnd := newRandom(k.seed, "tear")
	half := k.format.Height / 2 // rows to choose from: 2, 4, … 2·(half−1)
	for step := 1; step < tearSteps; step++ {
		kind, a, b := rnd.below(6), int(rnd.next()>>1), int(rnd.next()>>1)
		if kind < 2 || half < 2 {
			continue
		}
		t := &Tear{Frame: uint64(step * tearHold), Rows: []int{2 + a%(half-1)*2}}
		t.Images = []int{step % tearImages, (step - 1) % tearImages}
		if kind == 5 && half >= 4 && step >= 2 {
			t.Rows = []int{2 + a%(half/2)*2, 2 + (half/2+b%(half-half/2-1))*2}
			t.Images = append(t.Images, (step-2)%tearImages)
		}
		all[step] = t
	}
	return all
}

// band draws image i: soft shapes in levels that no other image has, in any channel.
func (c *canvas) band(i int, seed uint64) {
	rnd := newRandom(seed+uint64(i), "band")
	salt := uint32(rnd.next())
	tint := [3]int{rnd.below(12), rnd.below(12), rnd.below(12)}
	for y := range c.h {
		out := c.row(y)
		for x := range c.w {
			v := 30 + 75*i + valueNoise(uint32(x), uint32(y), 5, salt)*40>>8
			col := colour((v+tint[0])<<16 | (v+tint[1])<<8 | v + tint[2])
			binary.LittleEndian.PutUint32(out[4*x:], col.word())
		}
	}
}
