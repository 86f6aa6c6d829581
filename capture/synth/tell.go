package synth

// tell completes the truth with the parts that all scenes share and the list of changed frames.
func (s *Source) tell(scene string) {
	if s.markers {
		s.first = markerFrames
	}
	t := s.script.truth
	t.shift(s.first)
	t.Version, t.Scene, t.Seed = truthVersion, scene, s.seed
	t.Width, t.Height, t.Stride = s.format.Width, s.format.Height, s.format.Stride
	t.Pixel = s.format.Pixel.String()
	t.FPSNum, t.FPSDen = s.fps.num, s.fps.den
	t.Content.First = s.first
	if s.markers {
		t.Green = &Run{0, s.first}
	}
	if s.frames > 0 {
		t.Content.End = s.first + s.frames
		s.total = t.Content.End
		if s.markers {
			t.Red = &Run{t.Content.End, t.Content.End + markerFrames}
			s.total = t.Red.End
		}
	}
	t.Frames = s.total
	t.Cycle = Cycle{From: s.first + s.script.lead, Frames: s.script.cycle}
	end := t.Cycle.From + t.Cycle.Frames
	if t.Content.End > 0 {
		end = min(end, t.Content.End)
	}
	t.Changes = append([]Run{}, s.geo.changes(s.remember, end)...)
	if t.Red != nil {
		t.RedIsSeen = s.geo.differ(s.blits(t.Red.First-1, nil), s.blits(t.Red.First, nil))
	}
	s.truth = t
}

// remember is blits, and keeps room for the longest list, so that playing need not.
func (s *Source) remember(n uint64, list []blit) []blit {
	list = s.blits(n, list)
	if len(list) > cap(s.list) {
		s.list = make([]blit, 0, len(list))
	}
	return list
}

// shift moves all frame numbers by n. Lists are copied: the scene goes on counting from its own
// start.
func (t *Truth) shift(n uint64) {
	run := func(r Run) Run { return Run{r.First + n, r.End + n} }
	area := func(a *Area) *Area {
		if a == nil || a.Shown == nil {
			return a
		}
		moved, shown := *a, run(*a.Shown)
		moved.Shown = &shown
		return &moved
	}
	t.Spinner = area(t.Spinner)
	t.Load = mapped(t.Load, func(l Load) Load { l.Frame += n; return l })
	t.Fades = mapped(t.Fades, run)
	t.Pings = mapped(t.Pings, func(p Ping) Ping { return Ping{p.Frame + n, p.Pong + n} })
	if t.Scroll != nil {
		moved := *t.Scroll
		moved.Frames = mapped(moved.Frames, run)
		t.Scroll = &moved
	}
	if t.Strip != nil {
		moved, by := *t.Strip, func(f uint64) uint64 { return f + n }
		moved.Repeated, moved.OutOfOrder = append([]uint64{}, mapped(moved.Repeated, by)...),
			append([]uint64{}, mapped(moved.OutOfOrder, by)...)
		t.Strip = &moved
	}
	if t.Tears != nil {
		moved := *t.Tears
		moved.Torn = mapped(moved.Torn, func(tear Tear) Tear { tear.Frame += n; return tear })
		t.Tears = &moved
	}
	if t.Checker != nil {
		moved := *t.Checker
		moved.Tiles = mapped(moved.Tiles, func(tile Tile) Tile { return Tile{*area(&tile.Area)} })
		moved.Areas = mapped(moved.Areas, func(a CheckerArea) CheckerArea { a.Run = run(a.Run); return a })
		t.Checker = &moved
	}
}

func mapped[T any](list []T, f func(T) T) []T {
	var out []T
	for _, x := range list {
		out = append(out, f(x))
	}
	return out
}
