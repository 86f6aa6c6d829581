package server

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
)

// TestWhoDidIt: the log names the caller of each visible change, and the start of jobs.
func TestWhoDidIt(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	run := s.scene()
	do := func(method string, params any) {
		t.Helper()
		if e := s.call(method, params, nil); e != nil {
			t.Fatalf("%s: %+v", method, e)
		}
	}
	do("run.pin", api.PinParams{Run: run, Pinned: true})
	do("record.start", api.RecordParams{Device: "local"})
	do("record.stop", api.StopParams{Device: "local"})
	do("device.reserve", api.ReserveParams{Device: "local", ForNS: 1e12})
	do("run.cancel", api.JobID{Job: s.Scene("ci", api.StartParams{}).ID})
	do("device.quarantine", api.QuarantineParams{Device: "local", Reason: "dust"})

	batch := make([]daemon.Message, daemon.MaxEvents)
	n, _, _ := s.Daemon.Events().After(0, batch)
	lines := ""
	for _, m := range batch[:n] {
		if m.Kind == "log" {
			lines += string(m.Text) + "\n"
		}
	}
	for _, what := range []string{"run pinned or unpinned", "recording asked for", "recording ended", "job cancelled",
		"quarantine asked for"} {
		told := false
		for line := range strings.Lines(lines) {
			told = told || strings.Contains(line, `"`+what+`"`) && strings.Contains(line, `"by":"local"`)
		}
		if !told {
			t.Errorf("the log does not say who: %s", what)
		}
	}
	if !strings.Contains(lines, `"job begun"`) {
		t.Error("the log does not say when jobs begin")
	}
	if t.Failed() {
		t.Log(lines)
	}
}
