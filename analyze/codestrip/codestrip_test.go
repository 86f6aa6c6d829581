package codestrip_test

import (
	"encoding/json"
	"image"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/codestrip"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
)

// stripShot is a frame with the strip of one drawn frame above a line, and of another below it.
type stripShot struct {
	above, below int // ids; -1: no strip there
	clock        uint32
	data         uint8
	lost         int // frames missing before it
}

func whole(id int) stripShot { return stripShot{above: id, below: id} }

// stripFilm draws copies 0 and 1 from above, and the others from below.
func stripFilm(t testing.TB, shots []stripShot) *filmtest.Film {
	t.Helper()
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, 200, 40))(t)
	m := filmtest.New(t, f)
	for _, s := range shots {
		pix := make([]byte, m.Layout.Size)
		for k := range strip.Copies {
			id := s.above
			if k > 1 {
				id = s.below
			}
			if id < 0 {
				continue
			}
			code := strip.Code{ID: uint32(id), Clock: s.clock, Free: 3<<8 | uint16(s.data)}
			analyzetest.Check(t, strip.DrawCopy(m.Layout.View(pix), image.Rectangle{}, k, code))
		}
		m.Shoot(pix, s.lost)
	}
	return m
}

func exact(n float64) [3]float64 { return [3]float64{n, n, n} }

func TestStrip(t *testing.T) {
	lossy := []stripShot{whole(7), whole(8), whole(8), whole(9), whole(12), whole(12), whole(13)}
	lossy[4].lost = 2
	for _, tc := range []struct {
		name  string
		shots []stripShot
		want  map[string][3]float64
	}{
		{"of the definition", []stripShot{whole(7), whole(8), whole(8), whole(9), whole(12), whole(12), whole(13)},
			map[string][3]float64{
				"distinct_ids": exact(5), "drawn": exact(7), "unseen": exact(2), "repeated": exact(2),
				"out_of_order": exact(0), "runts": exact(0), "unreadable": exact(0)}},
		{"frames lost", lossy, map[string][3]float64{
			"distinct_ids": {5, 5, 7}, "drawn": exact(7), "unseen": {2, 0, 2}, "repeated": {2, 2, 4},
			"out_of_order": {0, 0, 2}, "runts": {0, 0, 2}}},
		{"a runt", []stripShot{whole(1), {above: 2, below: 1}, whole(3), whole(4)}, map[string][3]float64{
			"distinct_ids": exact(4), "drawn": exact(4), "unseen": exact(0), "runts": exact(1), "repeated": exact(0)}},
		{"torn, and whole afterwards", []stripShot{whole(1), {above: 2, below: 1}, whole(2), whole(3)},
			map[string][3]float64{
				"distinct_ids": exact(3), "runts": exact(0), "repeated": exact(1)}},
		{"back", []stripShot{whole(1), whole(3), whole(2), whole(4)}, map[string][3]float64{
			"distinct_ids": exact(4), "unseen": exact(0), "out_of_order": exact(1)}},
		{"nothing to read", []stripShot{whole(1), whole(-1), whole(-1), whole(2)}, map[string][3]float64{
			"distinct_ids": exact(2), "unreadable": exact(2), "unseen": exact(0), "repeated": exact(0)}},
		{"only at the end", []stripShot{whole(-1), whole(-1), whole(4)},
			map[string][3]float64{"distinct_ids": exact(1), "unreadable": exact(2)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := stripFilm(t, tc.shots)
			for _, share := range []int{0, 1, 2} {
				filmtest.CheckValues(t, filmtest.One(t, m, measure.FramesWindow(m, 0, len(tc.shots)),
					analyze.Options{MinShare: share}, "strip"),
					tc.want)
			}
		})
	}
}

// TestStripIsLeftOut: nobody wants to read of a strip where none is drawn, unless he asked.
func TestStripIsLeftOut(t *testing.T) {
	m := stripFilm(t, []stripShot{whole(-1), whole(-1), whole(-1)})
	w := measure.FramesWindow(m, 0, 3)
	found, err := analyze.Analyze(t.Context(), m, w, analyze.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := found.Find("strip"); ok || len(found.Results) != len(analyze.Names())-1 {
		t.Errorf("%d results of %d measures", len(found.Results), len(analyze.Names()))
	}
	if r := filmtest.One(t, m, w, analyze.Options{}, "strip"); r.State != measure.Refused ||
		!strings.Contains(r.Refusal, "no frame shows a code strip") {
		t.Errorf("%+v", r)
	}
	if found, err = analyze.Analyze(t.Context(), stripFilm(t, []stripShot{whole(1), whole(2), whole(3)}),
		w, analyze.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, ok := found.Find("strip"); !ok {
		t.Error("there is no result")
	}
}

// TestStripClock: the page's clock goes 1 in 1000 faster, is rounded to whole ms, and wraps.
func TestStripClock(t *testing.T) {
	var shots []stripShot
	begin := float64(strip.Modulus - 300)
	for n := range 120 {
		s := whole(n)
		s.clock = uint32(begin+float64(n)*1000/60*1.001) % strip.Modulus
		s.data = uint8(n / 50)
		shots = append(shots, s)
	}
	m := stripFilm(t, shots)
	m.Period = time.Second / 60
	var before *measure.Value
	for _, share := range []int{0, 7} {
		r := filmtest.One(t, m, measure.FramesWindow(m, 0, len(shots)), analyze.Options{MinShare: share}, "strip")
		v, ok := r.Find("clock_rate")
		if !ok || v.Low > 1.001 || v.High < 1.001 || v.High-v.Low > 3e-3 || v.Value < 1.0005 || v.Value > 1.0015 {
			t.Fatalf("%+v", v)
		}
		if before != nil && before.Value != v.Value {
			t.Errorf("%v in shares, and %v", v.Value, before.Value)
		}
		before = &v
		if s := r.Series[0]; s.Name != "data" || !slices.Equal(s.Frames, []int{0, 50, 100}) ||
			!slices.Equal(s.Values, []float64{0, 1, 2}) {
			t.Errorf("%+v", s)
		}
	}
}

// TestStripLiteral counts random strips as the definitions say, frame by frame.
func TestStripLiteral(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(60)) {
		rng := rand.New(rand.NewPCG(seed, 4))
		shots := []stripShot{whole(50)}
		for id := 50; len(shots) < 30; {
			last := shots[len(shots)-1]
			switch rng.IntN(8) {
			case 0, 1: // repeated
				shots = append(shots, whole(max(last.below, last.above)))
				continue
			case 2:
				shots = append(shots, whole(-1))
				continue
			case 3: // torn
				shots = append(shots, stripShot{above: id + 1, below: id})
			case 4:
				shots = append(shots, whole(id-1-rng.IntN(3)))
				continue
			default:
				id += 1 + rng.IntN(3)
				shots = append(shots, whole(id))
				continue
			}
			id++
		}
		copies, unreadable, repeated, backward := map[int]int{}, 0, 0, 0
		newest := -1
		for i, s := range shots {
			if s.above < 0 {
				unreadable++
				continue
			}
			if s.above == s.below {
				copies[s.above] = strip.Copies
				if s.above == newest {
					repeated++
				}
			} else {
				copies[s.above], copies[s.below] = max(copies[s.above], 2), max(copies[s.below], 3)
			}
			now := max(s.above, s.below)
			if i > 0 && now < newest {
				backward++
			}
			newest = now
		}
		least, most, runts := 1<<30, 0, 0
		for id, n := range copies {
			least, most = min(least, id), max(most, id)
			if n < strip.Copies {
				runts++
			}
		}
		m := stripFilm(t, shots)
		r := filmtest.One(t, m, measure.FramesWindow(m, 0, len(shots)), analyze.Options{MinShare: int(seed % 4)},
			"strip")
		for name, want := range map[string]int{
			"distinct_ids": len(copies), "drawn": most - least + 1, "unseen": most - least + 1 - len(copies),
			"runts":    runts,
			"repeated": repeated, "out_of_order": backward, "unreadable": unreadable,
		} {
			if v, ok := r.Find(name); !ok || v.Value != float64(want) {
				t.Fatalf("seed %d: %s is %v, want %d, of %v", seed, name, v.Value, want, shots)
			}
		}
		var d codestrip.Detail
		if err := json.Unmarshal(r.Detail, &d); err != nil || d.Page != 3 || d.Foreign != 0 {
			t.Errorf("%+v, %v", d, err)
		}
	}
}
