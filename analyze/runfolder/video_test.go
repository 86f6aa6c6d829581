package runfolder

import (
	"slices"
	"testing"
)

// phases records the phases of an analysis.
type phases struct{ said []string }

func (p *phases) Phase(what string, _ int) (func(int), func()) {
	p.said = append(p.said, what)
	return func(int) {}, func() {}
}

// TestSeveralWindowsAreToldApart: in progress and in the video, each has its name, time and
// numbers.
func TestSeveralWindowsAreToldApart(t *testing.T) {
	s := newScript(t)
	s.segment(64, 64)
	still := func(int) [3]byte { return [3]byte{9, 9, 9} }
	for range 2 {
		s.frames(5, green)
		s.frames(10, grey)
		s.frames(5, red)
		s.frames(40, still)
	}
	var told phases
	found, err := Run(t.Context(), s.open(), Settings{Measures: []string{"fps"}, Name: "both"}, "test", &told)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"measuring both window 1 of 2", "measuring both window 2 of 2"} {
		if !slices.Contains(told.said, want) {
			t.Errorf("told %q, not %q", told.said, want)
		}
	}
	found.Results.Windows[0].Name, found.Results.Windows[1].Name = "one", "two"
	f := folder{found: found}
	o := f.overlay(0, 120)
	if len(o.Parts) != 2 {
		t.Fatalf("%d parts", len(o.Parts))
	}
	for i, p := range o.Parts {
		w, times := found.Outcomes[i].Window, found.Outcomes[i].Times
		if p.Title != []string{"one", "two"}[i] || p.First > w.Start || i > 0 &&
			p.First <= found.Outcomes[i-1].Window.Red {
			t.Errorf("part %d is %q from frame %d on", i, p.Title, p.First)
		}
		if v, _ := found.Outcomes[i].Results[0].Find("framerate"); len(p.Values) == 0 || p.Values[0].Value != v.Value {
			t.Errorf("part %d has %+v, measured was %v", i, p.Values, v.Value)
		}
		// The page counts from the same moment and has the same times.
		if at := o.At(w.Start, 1); p.Zero != times.At(w.Start) || at != p.Zero || o.At(w.End, 1) != times.At(w.End) {
			t.Errorf("part %d: zero %v, its first frame %v", i, p.Zero, at)
		}
	}
	if at := o.At(45, 77); at != 77 {
		t.Errorf("between the windows a frame is at %v", at)
	}
}
