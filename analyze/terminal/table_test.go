package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

func TestTablesFitTheTerminal(t *testing.T) {
	rows := [][]string{
		{"v4l2:/dev/video0", strings.Repeat("some words ", 20)},
		{"", "evil\x1b[31m\u202ename\nand more"},
		{"x11::9[?region=1280x720+0+0&cursor=0&fps=60]&memory=mmap|userptr|dmabuf", "an X display"},
	}
	for _, width := range []int{40, 60, 80, 100} {
		var b strings.Builder
		analyzetest.Check(t, Wrapped(&b, []string{"SOURCE", "WHAT IT IS"}, rows, width))
		widest := len("v4l2:/dev/video0  ") + MinText // less is left to the terminal
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > max(width, widest) {
				t.Errorf("width %d: %d columns: %q", width, n, line)
			}
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == '\u202e' }) {
				t.Errorf("a terminal would obey %q", line)
			}
		}
		if got := strings.Count(b.String(), "words"); got != 20 {
			t.Errorf("width %d: %d of 20 words in\n%s", width, got, b.String())
		}
		if joined := strings.ReplaceAll(strings.ReplaceAll(b.String(), "\n", ""), " ", ""); !strings.Contains(joined,
			"memory=mmap|userptr|dmabuf") {
			t.Errorf("width %d: the form is not whole:\n%s", width, b.String())
		}
	}
	var b strings.Builder
	const want = "TEST   MEASURES    ABOUT\nfirst  fps         one two\n" +
		"load   speedindex  three four five\n       loadhist\nlast   fps strip   six\n"
	three := [][]string{{"first", "fps", "one two"}, {"load", "speedindex loadhist", "three four five"},
		{"last", "fps strip", "six"}}
	if err := Wrapped(&b, []string{"TEST", "MEASURES", "ABOUT"}, three, 48); err != nil || b.String() != want {
		t.Errorf("three columns:\n%s%v\nwant\n%s", b.String(), err, want)
	}
	b.Reset()
	if err := Table(&b, []string{"A", ">B"}, [][]string{{"x\x1b[2J", "y\nz"}}); err != nil ||
		strings.Contains(b.String(), "\x1b") || strings.Count(b.String(), "\n") != 2 {
		t.Errorf("%q, %v", b.String(), err)
	}
	b.Reset()
	var l List
	l.Add("device", "%s", "card\x1b[2J")
	if err := l.Print(&b); err != nil || strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// TestTableWidths breaks names after dots before it stacks rows, and never numbers.
func TestTableWidths(t *testing.T) {
	heading := []string{"", "", ">value", "bounds"}
	values := [][]string{{"fps", "framerate", "59.54 frames/s", "exact"},
		{"", "from_first_change.pixel.complete_100", "2,015.6 ms", "2,015.2 – 2,017.3 at worst"}}
	for width, want := range map[int]string{
		99: "                                                    value  bounds\n" +
			"fps  framerate                             59.54 frames/s  exact\n" +
			"     from_first_change.pixel.complete_100      2,015.6 ms  2,015.2 – 2,017.3 at worst\n",
		80: "                                                    value  bounds\n" +
			"fps  framerate                             59.54 frames/s  exact\n" +
			"     from_first_change.pixel.complete_100      2,015.6 ms  2,015.2 – 2,017.3 at\n" +
			"                                                           worst\n",
		60: "                                           value  bounds\n" +
			"fps  framerate                    59.54 frames/s  exact\n" +
			"     from_first_change.pixel.         2,015.6 ms  2,015.2 –\n" +
			"     complete_100                                 2,017.3 at\n" +
			"                                                  worst\n",
		40: "fps framerate\n  value   59.54 frames/s\n  bounds  exact\n" +
			"from_first_change.pixel.complete_100\n  value   2,015.6 ms\n  bounds  2,015.2 – 2,017.3 at worst\n",
	} {
		var out strings.Builder
		if err := NewRows(&out, heading, values, width).printAll(&out); err != nil || out.String() != want {
			t.Errorf("%d columns, %v:\n%s\nwant\n%s", width, err, out.String(), want)
		}
	}
}
