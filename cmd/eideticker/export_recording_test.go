package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestRedactTellsOfEvents: whoever shares a recording should know what else is in it.
func TestRedactTellsOfEvents(t *testing.T) {
	in := writeTimeline(t)
	const told = "3 events kept, which may contain typed text or addresses; omit them with --no-events"
	for _, tc := range []struct {
		name  string
		flags []string
		kept  bool
		told  bool
	}{
		{"redacted", []string{"--redact", "4x4+0+0"}, true, true},
		{"redacted, without events", []string{"--redact", "4x4+0+0", "--no-events"}, false, false},
		{"as it is", nil, true, false},
		{"without events", []string{"--no-events"}, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.eid")
			code, _, errOut := command(t, append([]string{"export", in, "-o", out}, tc.flags...)...)
			if code != exitOK || strings.Contains(errOut, told) != tc.told {
				t.Errorf("exit code %d: %q", code, errOut)
			}
			code, info, errOut := command(t, "info", out, "--json")
			if code != exitOK || strings.Contains(info, `"events": 3`) != tc.kept {
				t.Errorf("exit code %d, %s: %s", code, errOut, info)
			}
		})
	}
}
