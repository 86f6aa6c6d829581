package agent

import (
	"log/slog"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
)

// TestSizeAfterRestart: a rig that restarts knows the last signals of its idle devices.
//
// Fault: A rig of a fleet restarts, and its devices are idle
func TestSizeAfterRestart(t *testing.T) {
	o := Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	size := func(s *api.Signal) string {
		t.Helper()
		a, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		all := a.labels(&api.Device{Name: "pixel", Source: "v4l2:/dev/video0", Signal: s})
		return all["size"] + " " + all["hz"]
	}
	for _, tc := range []struct {
		signal *api.Signal
		want   string
	}{
		{nil, " "},
		{&api.Signal{Width: 1920, Height: 1080, PeriodNS: 1e9 / 60}, "1920x1080 60"},
		{nil, "1920x1080 60"},
		{&api.Signal{Width: 1280, Height: 720}, "1280x720 "},
		{nil, "1280x720 "},
	} {
		if got := size(tc.signal); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.signal, got, tc.want)
		}
	}
}
