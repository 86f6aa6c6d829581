package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// TestHelp: every help fits 80 columns and has an example, and that of the program begins with a
// question.
func TestHelp(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	parser, err := newParser(io.Discard, io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	var all func(command *kong.Node, path []string)
	all = func(command *kong.Node, path []string) {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), append(path, "--help"), nil, &out, &errOut); code != exitOK || errOut.Len() > 0 {
			t.Errorf("%v --help: exit code %d, %s", path, code, &errOut)
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > 80 {
				t.Errorf("%v --help: more than 80 columns: %s", path, line)
			}
		}
		if example := "    eideticker " + strings.Join(path, " "); len(command.Children) == 0 &&
			!strings.Contains(out.String(), example) && command.Name != "start" {
			t.Errorf("%v --help has no example", path)
		}
		for _, child := range command.Children {
			if !child.Hidden {
				all(child, append(path[:len(path):len(path)], child.Name))
			}
		}
	}
	all(parser.Model.Node, nil)
}

// TestHelpHasEachCommandOnce lists the commands of the help's topics.
func TestHelpHasEachCommandOnce(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), nil, nil, &out, io.Discard); code != exitOK {
		t.Fatal(code)
	}
	_, commands, _ := strings.Cut(out.String(), "\n\nAnswer a question\n")
	if !strings.HasPrefix(commands, "  run URL") {
		t.Errorf("the commands begin with %.60q", commands)
	}
	counts := map[string]int{}
	for line := range strings.Lines(commands) {
		if n := utf8.RuneCountInString(line) - 1; n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
		if name, is := strings.CutPrefix(line, "  "); is && name[0] != ' ' {
			counts[strings.Fields(name)[0]]++
		}
	}
	parser, err := newParser(io.Discard, io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range parser.Model.Children {
		if want := map[bool]int{false: 1}[c.Hidden]; counts[c.Name] != want {
			t.Errorf("%s is listed %d times, want %d", c.Name, counts[c.Name], want)
		}
	}
}
