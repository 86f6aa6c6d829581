package webui

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
)

// makeBisects makes a bisection that found a build, and one that searches.
func (t *trends) makeBisects() {
	at := time.Date(2026, 10, 12, 9, 0, 0, 0, time.UTC).UnixNano()
	found := api.Bisect{ID: "bisect-20261012-5d1e02ab", State: "first bad", Owner: "local", Unit: "frames/s",
		Relative: true, Runs: 330, Left: 1, StartedNS: at, EndedNS: at + 3600e9,
		BisectParams: api.BisectParams{Feed: "nightly", Good: "2026-09-01", Bad: "2026-10-10", Test: "framerate",
			Value: "fps.framerate", Device: "lab-07/desk", Browser: "firefox", Budget: 600},
		Text: "fps.framerate of framerate changed by −7.2 % (95 %: 6.4 – 8.1 %) since build 2026-10-01.",
		Found: []api.BisectFound{{Good: "2026-09-30", Bad: "2026-10-01", Share: 0.97, P: 0.0006,
			Shift: api.BisectShift{Estimate: -0.072, Low: -0.081, High: -0.064, Text: "−7.2 % (95 %: 6.4 – 8.1 %)"},
			Builds: []api.Build{{Name: "2026-10-01", Revision: "https://hg.example/rev/77aa01be99",
				URL: "javascript:alert(1)", State: "usable", WallNS: at}}}},
		Steps: []api.BisectStep{{Job: "b-1", Builds: []string{"2026-09-01", "2026-10-10"}, Blocks: 12, Over: true,
			Reason: "Confirm good against bad."}, {Job: "b-2", Builds: []string{"2026-09-20"}, Blocks: 2, Over: true,
			Broken: []string{"2026-09-20"}, Reason: "Run the median build."}},
		Shift: api.BisectShift{Text: "−7.4 %"}}
	for i := range 30 {
		b := api.BisectBuild{Seq: int64(i), Build: fmt.Sprintf("2026-09-%02d", i+1), Broken: i == 19,
			Chance: 0.0001 * float64(i), Values: []float64{59.9, 60, 60.1}[:i%4%3]}
		found.Builds = append(found.Builds, b)
	}
	found.Builds = append(found.Builds, api.BisectBuild{Seq: 31, Build: "2026-10-01", Chance: 0.94,
		Values: []float64{55.1, 55.2, 55.6, 55.8}})
	t.bisects = []api.Bisect{found}
}

// doBisect answers the methods of bisections.
func (t *trends) doBisect(call *api.Request) (answer any, is bool) {
	var p api.BisectParams
	var id api.BisectID
	if json.Unmarshal(call.Params, &p) != nil || json.Unmarshal(call.Params, &id) != nil {
		return nil, false
	}
	at := 0
	for i, b := range t.bisects {
		if b.ID == id.Bisect {
			at = i
		}
	}
	switch call.Method {
	case "bisect.list":
		return api.Bisects{Bisects: append([]api.Bisect{}, t.bisects...)}, true
	case "bisect.start":
		b := api.Bisect{ID: "bisect-20261013-k7f2", BisectParams: p, State: "searching", Owner: "local", Job: "b-3",
			Left: 39, Reason: "Confirm good against bad.", Found: []api.BisectFound{},
			Text: "0 of 600 runs; the first bad one is among 39 builds."}
		t.bisects = append([]api.Bisect{b}, t.bisects...)
		return b, true
	case "bisect.cancel":
		b := &t.bisects[at]
		b.State, b.EndedNS, b.Text = "cancelled", 1, "Cancelled by local."
		return *b, true
	case "bisect.get":
		return t.bisects[at], true
	}
	return nil, false
}
