package synth

const (
	pingFirst = 20 // frame
	pingEvery = 40
	pings     = 8 // in a cycle; even, so that the area ends as it began
	pongLast  = 16
)

// buildPingPong changes the colour of an area 1 to 16 frames after each ping.
func buildPingPong(k *kit) (*script, error) {
	w, h := k.format.Width, k.format.Height
	page, _, err := k.pageSheet(0, w, h)
	if err != nil {
		return nil, err
	}
	at := rect{w / 4, h / 4, w / 2, h / 2}.even()
	if at.w == 0 || at.h == 0 {
		at = k.screen()
	}
	var states [2]*sheet
	for i, c := range []colour{0xffffff, 0x1565c0} {
		if states[i], err = k.solid(at.w, at.h, c); err != nil {
			return nil, err
		}
	}
	rnd := newRandom(k.seed, "ping")
	s := &script{lead: 1, cycle: pings * pingEvery}
	for i := range uint64(pings) {
		n := pingFirst + i*pingEvery
		s.truth.Pings = append(s.truth.Pings, Ping{Frame: n, Pong: n + uint64(rnd.between(1, pongLast))})
	}
	answers := s.truth.Pings
	s.draw = func(n uint64, list []blit) []blit {
		n %= pings * pingEvery
		state := 0
		for _, p := range answers {
			if n >= p.Pong {
				state ^= 1
			}
		}
		return append(list, whole(page, 0, 0), whole(states[state], at.x, at.y))
	}
	area := k.area(at)
	s.truth.PingArea = &area
	return s, nil
}
