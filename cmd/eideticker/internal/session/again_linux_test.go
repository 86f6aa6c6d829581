package session

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/analysis"
)

// TestChecksAreMadeAgain: what a page told of itself is in the recording, so a run that is measured again is held against it as at first; where it is measured otherwise, it is not,
// and a note says so.
func TestChecksAreMadeAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("browsers take long to start")
	}
	needsBrowsers(t, "chromium")
	o := options(t, theLocalDevice(t))
	o.Test = readTest(t, "name: page\npage: /framerate.html\nmeasures: [fps]\n")
	o.Browser, o.MaxLost, o.NoPictures = "chromium", 0.9, true
	record, _, err := Run(t.Context(), o)
	if err != nil || record.State != Passed || record.Checks == 0 {
		t.Fatalf("%+v, %v", record, err)
	}
	first := resultsIn(t, o.Dir).Windows[0]
	path := filepath.Join(o.Dir, analysis.RecordingFile)
	r := opened(t, path)
	part := frame.Region{X: first.Region[0], Y: first.Region[1], Width: 100, Height: 100}
	for what, s := range map[string]analysis.Settings{"all": {}, "a part": {Region: &part}, "less a part": {Masks: []frame.Region{part}}, "about": {Tolerance: 5}} {
		e, err := ReadEarlier(t.Context(), path, r)
		if err != nil {
			t.Fatal(err)
		}
		s.Name, s.Measures, s.Markers = e.Name(), []string{"fps"}, true
		found, err := analysis.Run(t.Context(), r, s, "eideticker second", untold{})
		if err != nil {
			t.Fatal(err)
		}
		e.HoldAgainst(t.Context(), r, s, found)
		e.Keep(found)
		w, notes := found.Results.Windows[0], strings.Join(found.Results.Notes, "\n")
		if noted := strings.Contains(notes, "they are not made again"); noted != (what != "all") {
			t.Errorf("%s: notes are %s", what, notes)
		}
		if what != "all" {
			if len(w.Checks) != 0 {
				t.Errorf("%s: %+v", what, w.Checks)
			}
			continue
		}
		if len(first.Checks) == 0 || !reflect.DeepEqual(w.Checks, first.Checks) || !reflect.DeepEqual(w.Claims, first.Claims) {
			t.Errorf("%s: checks are %+v, claims %v, and were %+v, %v", what, w.Checks, w.Claims, first.Checks, first.Claims)
		}
	}
}
