package synth

const (
	checkerCycle  = 240
	checkerCell   = 16
	checkerLight  = colour(0xffffff)
	checkerDark   = colour(0xcfd3d8)
	checkerHalf   = 30  // frame from which the lower half is checkered
	checkerAll    = 130 // frame from which everything is
	checkerSoon   = 6   // frames until the first tile may be filled in
	checkerSpread = 60
)

// buildChecker shows a page whose tiles turn into a checkerboard twice in a cycle. They are filled
// in again in a random order.
func buildChecker(k *kit) (*script, error) {
	w, h := k.format.Width, k.format.Height
	page, _, err := k.pageSheet(0, w, h)
	if err != nil {
		return nil, err
	}
	grid, err := k.drawn(w, h, func(c *canvas) {
		for y := 0; y < h; y += checkerCell {
			for x := 0; x < w; x += checkerCell {
				col := checkerLight
				if (x+y)/checkerCell%2 == 1 {
					col = checkerDark
				}
				c.fill(rect{x, y, checkerCell, checkerCell}, col)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	tiles := k.tiles()
	s := &script{lead: 1, cycle: checkerCycle}
	s.draw = func(n uint64, list []blit) []blit {
		n %= checkerCycle
		list = append(list, whole(page, 0, 0))
		for i := range tiles {
			if t := &tiles[i]; t.Shown.Holds(n) {
				list = append(list, part(grid, rect{t.X, t.Y, t.Width, t.Height}))
			}
		}
		return list
	}
	s.truth.Checker = &Checker{
		Cell:    checkerCell,
		Colours: [2]int{int(checkerLight), int(checkerDark)},
		Tiles:   tiles,
		Areas:   checkerAreas(tiles),
	}
	return s, nil
}

func (k *kit) tiles() []Tile {
	w, h := k.format.Width, k.format.Height
	side := max(2, min(256, min(w, h)/4&^1), max(w, h)/20&^1)
	rnd := newRandom(k.seed, "checker")
	tiles := []Tile{}
	add := func(r rect, from uint64) {
		a := k.area(r)
		a.Shown = &Run{from, from + checkerSoon + uint64(rnd.below(checkerSpread))}
		tiles = append(tiles, Tile{a})
	}
	for y := 0; y < h; y += side {
		for x := 0; x < w; x += side {
			r := rect{x, y, side, side}
			if y >= h/2 {
				add(r, checkerHalf)
			}
			add(r, checkerAll)
		}
	}
	return tiles
}

func checkerAreas(tiles []Tile) []CheckerArea {
	var areas []CheckerArea
	for n := uint64(0); n <= checkerCycle; n++ {
		pixels := 0
		for i := range tiles {
			if t := &tiles[i]; t.Shown.Holds(n % checkerCycle) {
				pixels += t.Width * t.Height
			}
		}
		if last := len(areas) - 1; last >= 0 && areas[last].Pixels == pixels {
			areas[last].End++
			continue
		}
		areas = append(areas, CheckerArea{Run{n, n + 1}, pixels})
	}
	return areas
}
