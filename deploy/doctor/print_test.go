package doctor_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/deploy/doctor"
)

func TestFindingsFitTheTerminal(t *testing.T) {
	all := []doctor.Finding{
		{ID: "device", Group: "devices", Object: "/dev/video0", Found: "A Card\x1b[31m\nwith\u202eéscapes, driver x"},
		{ID: "signal", Group: "devices", Level: doctor.Warn, Found: strings.Repeat("no cable ", 20),
			Advice: strings.Repeat("Look at the cable ", 10) + "."},
		{ID: "disk-speed", Group: "disk", Level: doctor.Fail, Found: "slow", Advice: "Buy another."},
	}
	for _, width := range []int{1, 40, 80, 100} {
		var b strings.Builder
		if err := doctor.Print(&b, all, width); err != nil {
			t.Fatal(err)
		}
		out := b.String()
		const head = 2 + 4 + 2 + len("disk-speed") + 2
		for line := range strings.Lines(out) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > max(width, head+2) && !strings.Contains(line, "failures") {
				t.Errorf("width %d: %d columns: %q", width, n, line)
			}
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == '\u202e' }) {
				t.Errorf("a terminal would obey %q", line)
			}
		}
		wants := []string{"DEVICES\n  ok    device      /dev/video0: A Card?[31m",
			"\n\nDISK\n  fail  disk-speed  slow\n" + strings.Repeat(" ", head) + "Buy another.\n"}
		if width < head+terminal.MinText {
			wants = []string{"DEVICES\n  ok    device\n    /dev/video0:", "\n  fail  disk-speed\n    slow\n    Buy"}
		}
		for _, want := range append(wants, "\n1 ok, 0 info, 1 warnings, 1 failures\n") {
			if !strings.Contains(out, want) {
				t.Errorf("width %d: %q is not in\n%s", width, want, out)
			}
		}
	}
}
