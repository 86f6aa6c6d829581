package strip

import (
	"fmt"
	"image"
	"net/url"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/synth"
)

// TestSceneWithFaults plays the scene that draws the strip by its definition, with known faults. It
// compares every reading and the account with them.
func TestSceneWithFaults(t *testing.T) {
	sizes := []string{"size=200x42", "size=200x42&format=NV12", "size=208x48&format=YUYV", "size=320x180&format=RGB3",
		"size=240x66&format=P010"}
	seeds, wrapped := 300, 0
	if testing.Short() {
		seeds = 40
	}
	for seed := range seeds {
		query := fmt.Sprintf("%s&seed=%d", sizes[seed%len(sizes)], seed)
		q := analyzetest.Must(url.ParseQuery(query))(t)
		s := analyzetest.Must(synth.Open("strip", q))(t)
		truth, cycles := s.Truth(), 1+uint32(seed%2)
		l := layout(t, s.Info().Format.Pixel, truth.Width, truth.Height)
		d := decoder(t, l, image.Rectangle{})
		a := NewAccount(truth.Strip.Page)
		pix := make([]byte, l.Size)
		torn := 0
		for n := range truth.Cycle.Frames * uint64(cycles) {
			s.Render(n, pix)
			r := d.Read(l.View(pix))
			shown, _ := truth.StripAt(n)
			checkReading(t, fmt.Sprintf("%s, frame %d", query, n), &d.geo, r, shown)
			if r.State == Torn {
				torn++
			}
			a.Add(int(n), truth.Changed(n) || n == 0, r)
		}
		analyzetest.Check(t, s.Close())
		var drawn []uint32
		for id := range truth.Strip.Drawn * cycles {
			drawn = append(drawn, (truth.Strip.First+id)%Modulus)
		}
		if drawn[0] > drawn[len(drawn)-1] {
			wrapped++
		}
		got := a.Close(drawn)
		ids := func(first []uint32) (all []uint32) {
			for c := range cycles {
				for _, id := range first {
					all = append(all, (id+c*truth.Strip.Drawn)%Modulus)
				}
			}
			slices.Sort(all)
			return all
		}
		var backward []int
		for c := range uint64(cycles) {
			for _, n := range truth.Strip.OutOfOrder {
				backward = append(backward, int(n+c*truth.Cycle.Frames))
			}
		}
		unseen, runts := ids(truth.Strip.Unseen), ids(truth.Strip.Runts)
		if !slices.Equal(got.Unseen, unseen) || !slices.Equal(got.Runts, runts) ||
			!slices.Equal(got.OutOfOrder, backward) ||
			got.Repeated != int(cycles)*len(truth.Strip.Repeated) || got.Distinct != len(drawn)-len(unseen) ||
			got.Torn != torn || got.Whole != got.Frames-torn || len(got.Undrawn) > 0 || got.Foreign > 0 ||
			got.Truncated {
			t.Fatalf("%s: %+v\nthe truth says %+v", query, got, truth.Strip)
		}
	}
	if wrapped < seeds/10 {
		t.Errorf("ids went over their modulus in %d of %d", wrapped, seeds)
	}
}

// checkReading holds the copies of a frame against the ids that it shows from top to bottom.
func checkReading(t *testing.T, where string, g *Geometry, r Reading, shown synth.StripFrame) {
	t.Helper()
	for k, c := range r.Copies {
		part := 0
		for part < len(shown.Rows) && g.Tops[k] >= shown.Rows[part] {
			part++
		}
		if !c.OK || c.Code.ID != shown.IDs[part] {
			t.Fatalf("%s: copy %d is %+v, the frame shows %+v", where, k, c, shown)
		}
	}
	if want := map[bool]State{true: Whole, false: Torn}[len(shown.IDs) == 1]; r.State != want {
		t.Fatalf("%s: %v, want %v", where, r.State, want)
	}
}
