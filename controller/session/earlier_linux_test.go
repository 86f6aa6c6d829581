package session

import (
	"bytes"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/response"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestChecksAreMadeAgain: a recording has the report of its page. Measured again with its first
// settings, a run gets its first checks. With other settings, it gets a note instead.
func TestChecksAreMadeAgain(t *testing.T) {
	t.Parallel()
	needBrowsers(t, "chromium")
	takeTurn(t)
	type otherwise = map[string]func(*runfolder.Settings)
	part := frame.Region{X: 10, Y: 10, Width: 100, Height: 100}
	for name, tc := range map[string]struct {
		test  string
		kind  string
		other otherwise
		fewer string // measures by which fewer checks are made
	}{
		"frames": {"page: /framerate.html\nmeasures: [fps]\n", result.Markers, otherwise{
			"a part":      func(s *runfolder.Settings) { s.Region = &part },
			"less a part": func(s *runfolder.Settings) { s.Masks = []frame.Region{part} },
			"about":       func(s *runfolder.Settings) { s.Tolerance = 5 },
		}, "speedindex"},
		// What asks here are the clicks, and the content ends once the ball is back. The red comes
		// later: after the last step.
		"clicks": {"page: /pingpong.html\nmeasures: [response]\nend: event done\nsteps: [{sleep: 300ms}, " +
			"{click: [50%, 50%]}, {wait: {colour: \"#ffd479\", in: 20x20+540+238}}, {click: [50%, 50%]}, " +
			"{wait: {colour: \"#ffd479\", in: 20x20+240+238}}, {mark: done}, {sleep: 300ms}]\n", result.End, otherwise{
			"by pings":         func(s *runfolder.Settings) { s.Response.Kinds = []string{"ping"} },
			"by a colour":      func(s *runfolder.Settings) { s.Response.Colour = &response.Colour{R: 255} },
			"to the red":       func(s *runfolder.Settings) { s.Markers = true },
			"by other images":  func(s *runfolder.Settings) { s.Tearing.Images = []int{0} },
			"for another grid": func(s *runfolder.Settings) { s.Checkerboard.Cell = 8 },
			"with the strip":   func(s *runfolder.Settings) { s.KeepStrip = true },
			"in another place": func(s *runfolder.Settings) { s.Response.Region = part },
			"for a time":       func(s *runfolder.Settings) { s.Limit = time.Second },
		}, "fps"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, theLocalDevice(t))
			o.Test = readTest(t, "name: page\nwindow: 800x450\n"+tc.test)
			o.Browser, o.MaxLost, o.NoPictures = "chromium", 0.9, true
			record, _, err := counted(t, o)
			if err != nil || record.State != Passed || record.Checks == 0 ||
				name == "frames" && len(record.ChecksFailed) > 0 { // a busy browser may lose clicks
				t.Fatalf("%+v, %v", record, err)
			}
			first := resultsIn(t, o.Dir).Windows[0]
			if first.Kind != tc.kind {
				t.Fatalf("the window is one by %s", first.Kind)
			}
			path := filepath.Join(o.Dir, runfolder.RecordingFile)
			r := opened(t, path)
			measure := func(asAtFirst bool, measures []string, change func(*runfolder.Settings)) (result.Window,
				string) {
				t.Helper()
				e, err := ReadEarlier(t.Context(), path, r)
				if err != nil {
					t.Fatal(err)
				}
				s := runfolder.Settings{Name: e.Name(), Measures: measures}
				change(&s)
				if asAtFirst {
					e.AsAtFirst(&s)
				}
				found, err := runfolder.Run(t.Context(), r, s, "eideticker second", untold{})
				if err != nil {
					t.Fatal(err)
				}
				e.HoldAgainst(t.Context(), r, s, found)
				e.Keep(found)
				text, err := result.Encode(&found.Results)
				if err != nil {
					t.Fatal(err)
				}
				kept, err := result.Decode(bytes.NewReader(text)) // as results.json has them
				if err != nil {
					t.Fatal(err)
				}
				return kept.Windows[0], strings.Join(kept.Notes, "\n")
			}
			same := func(*runfolder.Settings) {}
			w, notes := measure(true, o.Test.Measures, same)
			if !reflect.DeepEqual(w.Checks, first.Checks) || !reflect.DeepEqual(w.Claims, first.Claims) ||
				w.Kind != first.Kind || w.End != first.End || strings.Contains(notes, "made again") {
				t.Errorf("checks are %+v, claims %v, frames %d to %d, and were %+v, %v, %d to %d; notes are %s",
					w.Checks, w.Claims, w.Start, w.End, first.Checks, first.Claims, first.Start, first.End, notes)
			}
			if w, notes := measure(true, []string{tc.fewer}, same); len(w.Checks) == 0 ||
				!strings.Contains(notes, "; not all of them are made again") {
				t.Errorf("by %s: checks are %+v, notes %s", tc.fewer, w.Checks, notes)
			}
			tc.other["as if nothing were known"] = nil
			for what, change := range tc.other {
				if change == nil {
					change = same
				}
				if w, notes := measure(tc.other[what] != nil, o.Test.Measures, change); len(w.Checks) != 0 ||
					!strings.Contains(notes, "; they are not made again") {
					t.Errorf("%s: checks are %+v, notes %s", what, w.Checks, notes)
				}
			}
		})
	}
}
