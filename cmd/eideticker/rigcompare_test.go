package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/config"
)

// TestRigCompare runs what the recipes call with a program in our place, which notes its command
// lines: they are ones that ours takes.
func TestRigCompare(t *testing.T) {
	script, err := filepath.Abs(filepath.Join(recipes, "rig-compare"))
	if err != nil {
		t.Fatal(err)
	}
	for base, more := range map[string][]string{"monday": {"BRANCH=a branch", "REVISION=4f2c1a9", "BASE=monday",
		"REPEAT=6"}, "release": nil} {
		for code, want := range codes {
			s := newStand(t)
			s.program("eideticker", `for word; do printf '%s\n' "$word"; done >>"$LINES"
echo >>"$LINES"
case $1 in run) for word; do test "$last" != --output || mkdir "$word"; last=$word; done ;;
compare) echo a table; exit $CODE ;; esac`)
			out, got := s.run(script, []string{"framerate"},
				append(more, fmt.Sprintf("CODE=%d", code), "RIG=https://rig-01.example.org:8430")...)
			if got != code || !strings.Contains(out, "a table") {
				t.Errorf("compare ends with %d, and the script with %d: %s", code, got, out)
			}
			if verdict := s.read("out/verdict"); verdict != want+"\n" {
				t.Errorf("of exit code %d the verdict is %q, want %q", code, verdict, want)
			}
			lines := strings.Split(strings.TrimSuffix(s.read("lines"), "\n\n"), "\n\n")
			if len(lines) != 3 {
				t.Fatalf("it calls the program %d times, want run, pull, compare: %q", len(lines), lines)
			}
			if made := strings.Split(lines[0], "\n"); made[len(made)-1] != "out/new" {
				t.Errorf("the runs are written to another folder than out/new: %q", made)
			}
			for i, command := range []string{"run", "pull " + base, "compare --base out/base out/new"} {
				args := strings.Split(lines[i], "\n")
				if !strings.HasPrefix(strings.Join(args, " ")+" ", command+" ") {
					t.Errorf("call %d is %q, want %s", i, args, command)
				}
				if err := taken(args); err != nil {
					t.Errorf("the program does not take %q: %v", args, err)
				}
			}
		}
	}
	// Where a run fails, or leaves no folder, nothing is compared.
	s := newStand(t)
	s.program("eideticker", `echo "$1" >>"$LINES"`)
	if out, code := s.run(script, []string{"framerate"}, "RIG=http://127.0.0.1:8430"); code == 0 ||
		s.read("lines") != "run\n" || !strings.Contains(out, "the rig has made no run") ||
		s.read("out/verdict") != "failed\n" {
		t.Errorf("a run without a folder: exit code %d, calls %q: %s", code, s.read("lines"), out)
	}
	s = newStand(t)
	s.program("eideticker", `echo "$1" >>"$LINES"; exit 1`)
	if _, code := s.run(script, []string{"framerate"}, "RIG=http://127.0.0.1:8430"); code != exitFailure ||
		s.read("lines") != "run\n" || s.read("out/verdict") != "failed\n" {
		t.Errorf("a run that fails: exit code %d, calls %q, verdict %q", code, s.read("lines"), s.read("out/verdict"))
	}
	if out, code := newStand(t).run(script, []string{"framerate"}); code == 0 ||
		!strings.Contains(out, "RIG is the address") {
		t.Errorf("without a rig: exit code %d, %s", code, out)
	}
}

// TestHubCompare does so for the recipe of a fleet.
func TestHubCompare(t *testing.T) {
	script, err := filepath.Abs(filepath.Join(recipes, "hub-compare"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tests := range [][]string{{"http://a/", "http://b/"}, {"scroll"}} {
		for code, want := range codes {
			s := newStand(t)
			s.program("eideticker", `for word; do printf '%s\n' "$word"; done >>"$LINES"; echo a table; exit $CODE`)
			out, got := s.run(script, tests, fmt.Sprintf("CODE=%d", code), "HUB=https://hub.example.org:8430",
				"NEEDS=model=pixel7", "JOB=s-ci-4f2c1a9", "FAIL_IF=fps.framerate < 55", "BRANCH=a branch")
			if got != code || !strings.Contains(out, "a table") || s.read("out/verdict") != want+"\n" {
				t.Errorf("run ends with %d, and the script with %d, %q: %s", code, got, s.read("out/verdict"), out)
			}
			args := strings.Split(strings.TrimSuffix(s.read("lines"), "\n"), "\n")
			if err := taken(args); err != nil || slices.Contains(args, "out/comment.md") != (len(tests) > 1) ||
				!slices.Contains(args, "--fail-if=fps.framerate < 55") {
				t.Errorf("the program does not take %q: %v", args, err)
			}
		}
	}
	if out, code := newStand(t).run(script, []string{"framerate"}); code == 0 ||
		!strings.Contains(out, "HUB is the address") {
		t.Errorf("without a hub: exit code %d, %s", code, out)
	}
}

// taken says whether the program's parser takes a command line.
func taken(args []string) error {
	exited := false
	parser, err := newParser(io.Discard, io.Discard, func(int) { exited = true })
	if err != nil {
		return err
	}
	if _, err = parser.Parse(args); err == nil && exited {
		err = errors.New("it only prints help")
	}
	return err
}

// A recipe that calls what is not there, or takes another flag, is noticed.
func TestTakenCatches(t *testing.T) {
	for _, args := range [][]string{{"compare", "--base", "a", "b", "--fail-on-regresion"}, {"nothing"},
		{"compare", "--help"}} {
		if taken(args) == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

// TestDeployCommand compares the command line of the package's service with the parser.
func TestDeployCommand(t *testing.T) {
	unit, err := os.ReadFile("../../deploy/box/eideticker.service")
	if err != nil {
		t.Fatal(err)
	}
	start := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/eideticker (.+)$`).FindStringSubmatch(string(unit))
	if start == nil {
		t.Fatal("the unit starts nothing")
	}
	if err := taken(strings.Fields(start[1])); err != nil {
		t.Errorf("the program does not take %q: %v", start[1], err)
	}
}

// TestDeployHosts compares the name of docs/install-a-box.md with that of docs/ci.md.
func TestDeployHosts(t *testing.T) {
	text, err := os.ReadFile("../../docs/install-a-box.md")
	if err != nil {
		t.Fatal(err)
	}
	ci, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	snippet := regexp.MustCompile("(?s)```toml\n(.*?)```").FindStringSubmatch(string(text))
	called := regexp.MustCompile(`RIG=https://([^:]+):(\d+)`).FindStringSubmatch(string(ci))
	if snippet == nil || called == nil {
		t.Fatal("it configures nothing, or calls no rig")
	}
	conf, err := config.Load(writeConfig(t, snippet[1]), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if _, port, err := net.SplitHostPort(conf.Listen); err != nil || port != called[2] ||
		!slices.Contains(conf.Access.Hosts, called[1]) || !conf.NeedsToken() {
		t.Errorf("%s is called, and the rig listens at %s and is known by %q", called[0], conf.Listen,
			conf.Access.Hosts)
	}
}
