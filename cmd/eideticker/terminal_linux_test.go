package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
	"golang.org/x/tools/txtar"
)

// onTerminal runs a command line on a terminal of so many columns. It returns the exit code and the
// terminal's text.
func onTerminal(t *testing.T, columns uint16, args ...string) (code int, text string) {
	t.Helper()
	text = shownOn(t, columns, func(tty io.Writer) { code = run(t.Context(), args, nil, tty, tty) })
	return code, text
}

// shownOn returns the text of a terminal of so many columns that a function writes to.
func shownOn(t *testing.T, columns uint16, write func(tty io.Writer)) (text string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(err)
	defer master.Close()
	must(unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	must(err)
	must(unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(err)
	got := make(chan string)
	go func() {
		all, _ := io.ReadAll(master) // EIO once the terminal is closed
		got <- string(all)
	}()
	write(terminal)
	must(terminal.Close())
	return strings.ReplaceAll(<-got, "\r\n", "\n")
}

// terminalEnv sets the variables that describe terminals.
func terminalEnv(t *testing.T, kind, noColour, locale string) {
	t.Helper()
	for name, value := range map[string]string{"TERM": kind, "NO_COLOR": noColour, "LC_ALL": locale, "COLUMNS": ""} {
		t.Setenv(name, value)
	}
}

// comparedSets makes the sets base, slow and few in the working folder.
func comparedSets(t *testing.T) {
	t.Helper()
	template := resultsTemplate(t)
	t.Chdir(t.TempDir())
	for set, rates := range map[string]string{"base": "60 60.1 59.9 60 59.8 60.2 60 59.9 60.1 60",
		"slow": "53 52.9 53.1 53 52.8 53.2 53 52.9 53.1 53", "few": "53 53.1 52.9"} {
		for i, rate := range strings.Fields(rates) {
			dir := filepath.Join(set, fmt.Sprintf("run-%d", i+1))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(template, "RATE", rate)
			if err := os.WriteFile(filepath.Join(dir, "results.json"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// resultsTemplate returns the results of the script about compare.
func resultsTemplate(t *testing.T) string {
	t.Helper()
	script, err := txtar.ParseFile("testdata/script/compare.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range script.Files {
		if f.Name == "template" {
			return string(f.Data)
		}
	}
	t.Fatal("compare.txtar has no template")
	return ""
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestColours: a terminal gets verdicts, answers and errors in colour or bold. Nothing else does.
func TestColours(t *testing.T) {
	comparedSets(t)
	terminalEnv(t, "xterm", "", "C.UTF-8")
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"compare", "base", "slow"}, []string{"\x1b[1mslow is worse than ", "  \x1b[31mregressed\x1b[0m\n"}},
		{[]string{"compare", "slow", "base"}, []string{"\x1b[1mbase is better than ", "  \x1b[32mimproved\x1b[0m\n"}},
		{[]string{"compare", "base", "few"}, []string{"\x1b[1mNot decided ", "  \x1b[33minconclusive\x1b[0m\n"}},
		{[]string{"compare", "base", "no\x1b[31mw"}, []string{"\x1b[1;31meideticker:\x1b[0m compare: stat no?[31mw: "}},
		{nil, []string{"\n\n\x1b[1mAnswer a question\x1b[0m\n  run URL "}},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			code, coloured := onTerminal(t, 100, tc.args...)
			for _, want := range tc.want {
				if !strings.Contains(coloured, want) {
					t.Errorf("%q is not in %q", want, coloured)
				}
			}
			plain := escapes.ReplaceAllString(coloured, "")
			for _, env := range [][2]string{{"xterm", "1"}, {"dumb", ""}, {"", ""}} {
				terminalEnv(t, env[0], env[1], "C.UTF-8")
				if also, got := onTerminal(t, 100, tc.args...); got != plain || also != code {
					t.Errorf("TERM and NO_COLOR %q: %q, exit code %d; want %q, %d", env, got, also, plain, code)
				}
			}
			terminalEnv(t, "xterm", "", "C.UTF-8")
			t.Setenv("COLUMNS", "40") // not the width of a file
			var out bytes.Buffer
			if run(t.Context(), tc.args, nil, &out, &out); out.String() != plain {
				t.Errorf("a file gets %q, want %q", &out, plain)
			}
		})
	}
}

// TestNarrowTerminals: tables and lists fit a terminal, and have the same words in each width.
func TestNarrowTerminals(t *testing.T) {
	comparedSets(t)
	terminalEnv(t, "xterm", "", "C.UTF-8")
	if code := run(t.Context(), []string{"record", "-s", "synth:fps?frames=120&pace=fast&size=320x240&markers=1", "-o",
		"a.eid"}, nil, io.Discard, io.Discard); code != exitOK {
		t.Fatal(code)
	}
	bars := false
	for _, args := range [][]string{
		{"compare", "base", "slow", "--all"}, {"compare", "base", "few"}, {"analyze", "a.eid", "--all", "fps"},
		{"analyze", "a.eid", "fps"}, {"info", "a.eid"}, {"suite", "list"}, {},
	} {
		words := map[string]bool{}
		for _, width := range []int{100, 80, 40} {
			code, text := onTerminal(t, uint16(width), args...)
			text = escapes.ReplaceAllString(text, "")
			bar, text := afterProgress(t, text, width)
			bars = bars || bar
			if code != exitOK || text == "" {
				t.Errorf("%v: exit code %d: %s", args, code, text)
			}
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				if utf8.RuneCountInString(line) > width && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%v: %d columns are too many for %d: %s", args, utf8.RuneCountInString(line), width, line)
				}
			}
			for word := range strings.FieldsSeq(text) {
				if width == 100 {
					words[word] = true
				}
			}
			there := strings.Join(strings.Fields(text), " ")
			for word := range words {
				if word = strings.Trim(word, ":"); len(word) > 3 && len(word) < 30 && !strings.Contains(there, word) {
					t.Errorf("%v: %d columns have lost %q:\n%s", args, width, word, text)
				}
			}
		}
	}
	if !bars {
		t.Error("no command showed its progress")
	}
	terminalEnv(t, "xterm", "", "C")
	name := strings.Repeat("日本", 9) + ".eid"
	if err := os.Rename("a.eid", name); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{40, 80} {
		code, text := onTerminal(t, uint16(width), "verify", name)
		if bar, _ := afterProgress(t, text, width); code != exitOK || !bar || !strings.Contains(text, "...  ") {
			t.Errorf("exit code %d, progress: %v: %q", code, bar, text)
		}
	}
}

// afterProgress returns the text after lines of progress, and whether there are some. They must fit
// the width, since longer ones would stay.
func afterProgress(t *testing.T, text string, width int) (bar bool, after string) {
	t.Helper()
	end := strings.LastIndex(text, "\r") + 1
	for line := range strings.SplitSeq(text[:end], "\r") {
		if n := utf8.RuneCountInString(escapes.ReplaceAllString(line, "")); n > width {
			t.Errorf("a progress line of %d columns stays on a terminal of %d: %q", n, width, line)
		}
	}
	return end > 0, text[end:]
}

// TestOtherCharsets: a terminal whose locale is not UTF-8 gets ASCII, and nothing is lost.
func TestOtherCharsets(t *testing.T) {
	comparedSets(t)
	const other, utf = "-11.7 % (-11.8 to -11.5 %)", "−11.7 % (−11.8 to −11.5 %)"
	for locale, want := range map[string]string{"C": other, "de_DE.ISO-8859-1": other, "": other, "C.UTF-8": utf,
		"de_DE.utf8": utf} {
		terminalEnv(t, "xterm", "1", locale)
		t.Setenv("LC_CTYPE", "")
		t.Setenv("LANG", "")
		if _, text := onTerminal(t, 80, "compare", "base", "slow"); !strings.Contains(text, want+"  regressed\n") {
			t.Errorf("locale %q: %q is not in\n%s", locale, want, text)
		}
	}
	terminalEnv(t, "xterm", "1", "C")
	_, text := onTerminal(t, 80, "compare", "日本😀", "base")
	if want := `compare: stat \u65e5\u672c\U0001f600: `; !strings.Contains(text, want) {
		t.Errorf("%q is not in %q", want, text)
	}
	var out bytes.Buffer
	run(t.Context(), []string{"compare", "base", "slow"}, nil, &out, io.Discard)
	if !strings.Contains(out.String(), "−11.7 %") {
		t.Errorf("a file gets %q", &out)
	}
}
