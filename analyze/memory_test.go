package analyze

import (
	"runtime"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// kept returns how many bytes are still in use of what something made.
func kept(do func() any) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	made := do()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(made)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// TestMemoryOfAFrame bounds the memory of an analysis of all measures per frame. A frame of a still
// screen may keep its time only. A frame that differs may keep the same plus its values in series.
func TestMemoryOfAFrame(t *testing.T) {
	for _, c := range []struct {
		name   string
		change bool
		most   float64 // bytes
	}{{"still", false, 20}, {"every frame differs", true, 100}} {
		t.Run(c.name, func(t *testing.T) {
			const few, many = 5_000, 15_000
			of := func(frames int) int64 {
				m := blinking(t, frames, c.change)
				defer runtime.KeepAlive(m)
				return kept(func() any {
					found, err := Analyze(t.Context(), m, FramesWindow(m, 0, frames), Options{Workers: 1})
					if err != nil {
						t.Fatal(err)
					}
					if r, ok := found.Find("fps"); !ok || len(found.Results) < 5 {
						t.Fatalf("too little was measured: %+v", r)
					}
					return found
				})
			}
			per := float64(of(many)-of(few)) / (many - few)
			t.Logf("%.1f bytes a frame", per)
			if per > c.most {
				t.Errorf("each frame takes %.1f bytes for good, want at most %v", per, c.most)
			}
		})
	}
}

// blinking is a film of two pictures of which one is shown all the time, or both in turn.
func blinking(t *testing.T, frames int, both bool) *film {
	f, err := frame.NewFormat(frame.BGR4, 64, 36)
	if err != nil {
		t.Fatal(err)
	}
	m := newFilm(t, f)
	one := make([]byte, m.layout.Size)
	two := slices.Clone(one)
	two[4*64*10+40] = 200
	for n := range frames {
		m.shoot(nil, 0)
		if m.pix[n] = one; both && n%2 == 1 {
			m.pix[n] = two
		}
	}
	return m
}

// TestSeriesOfUnchanged expands the series, which has values only where they change, and holds it
// against a count of every second.
func TestSeriesOfUnchanged(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(40)) {
		m := blinking(t, 200+int(seed), false)
		unique := map[int]bool{0: true}
		two := slices.Clone(m.pix[0])
		two[4*64*10+40] = 200
		show := m.pix[0]
		for n := 1; n < len(m.pix); n++ {
			if (uint64(n)*2654435761+seed*97)%17 < seed%17 && n%90 < 60 {
				unique[n] = true
				if show[4*64*10+40] == 0 {
					show = two
				} else {
					show = m.pix[0]
				}
			}
			m.pix[n] = show
		}
		r := one(t, m, FramesWindow(m, 0, len(m.pix)), Options{}, "fps")
		at := slices.IndexFunc(r.Series, func(s Series) bool { return s.Name == "unchanged" })
		if at < 0 || !r.Series[at].Holds {
			t.Fatal("there is no series that holds")
		}
		s, value, next := r.Series[at], -1.0, 0
		for n := 59; n < len(m.pix); n++ {
			if next < len(s.Frames) && s.Frames[next] == n {
				if s.Values[next] == value {
					t.Errorf("seed %d: frame %d repeats a value", seed, n)
				}
				value, next = s.Values[next], next+1
			}
			want := 0
			for k := n - 59; k <= n; k++ {
				if !unique[k] {
					want++
				}
			}
			if value != float64(want)/60 {
				t.Fatalf("seed %d: the second to frame %d is %v, want %d of 60", seed, n, value, want)
			}
		}
		if next != len(s.Frames) {
			t.Errorf("seed %d: %d values are left", seed, len(s.Frames)-next)
		}
	}
}
