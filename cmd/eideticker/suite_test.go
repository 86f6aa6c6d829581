package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/site"
)

// TestStandardSuite: every standard test is good, its page is there, and it measures what its page
// is for.
func TestStandardSuite(t *testing.T) {
	all, err := suite.Tests(session.Known(), suite.Standard())
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]site.Page{}
	for _, p := range site.Pages() {
		pages[p.Path] = p
	}
	tested := map[string]bool{}
	var names []string
	for _, test := range all {
		names = append(names, test.Name)
		p, ours := pages[test.Page]
		tested[p.Name] = true
		switch {
		case len(test.Measures) == 0 || test.About == "":
			t.Errorf("%s does not say what it measures, or what it is about", test.Name)
		case test.Page != "" && !ours:
			t.Errorf("%s has the page %s, which is not there", test.Name, test.Page)
		case ours && (p.Cadence == site.CadenceInput || p.Cadence == site.CadenceWindow) != (len(test.Steps) > 0):
			t.Errorf("%s has %d steps, and its page's cadence is %s", test.Name, len(test.Steps), p.Cadence)
		case pings(test.Steps) != slices.Contains(test.Measures, "response"):
			t.Errorf("%s measures %v, and pings: %v", test.Name, test.Measures, pings(test.Steps))
		case p.Flip != nil && test.Measures[0] != "tearing", p.Checker != nil && test.Measures[0] != "checkerboard":
			t.Errorf("%s measures %v on the page %s", test.Name, test.Measures, p.Name)
		}
	}
	for _, name := range []string{
		"framerate", "framerate-css", "framerate-video", "framerate-webgl", "load", "window-open", "tearing-canvas",
		"checkerboard-pan", "zoom", "scroll", "typing", "pingpong", "hover",
	} {
		if !slices.Contains(names, name) {
			t.Errorf("unknown test %s", name)
		}
	}
	for _, name := range []string{"framerate", "load", "tearing-dom", "tearing-video", "checkerboard",
		"checkerboard-scroll", "zoom", "scroll", "typing", "pingpong", "hover"} {
		if !tested[name] {
			t.Errorf("no test is for the page %s", name)
		}
	}
}

func pings(steps []suite.Step) bool {
	return slices.ContainsFunc(steps, func(s suite.Step) bool {
		loop, ok := s.Action.(suite.Loop)
		_, ping := s.Action.(suite.Ping)
		return ping || ok && pings(loop.Steps)
	})
}

// TestSchemaNamesMeasures: the schema offers the measures there are.
func TestSchemaNamesMeasures(t *testing.T) {
	var schema struct {
		Defs struct {
			Measure struct {
				AnyOf []struct {
					Enum []string `json:"enum"`
				} `json:"anyOf"`
			} `json:"measure"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(suite.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	got, want := slices.Clone(schema.Defs.Measure.AnyOf[0].Enum), session.Known().Measures
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("the schema names %v, there are %v", got, want)
	}
}

// tutorial is the page that explains test files.
const tutorial = "../../docs/write-a-test.md"

// TestTutorial follows the tutorial: it writes the files, runs the commands, and compares the
// output.
func TestTutorial(t *testing.T) {
	doc, err := os.ReadFile(tutorial)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	commands := 0
	for i, block := range strings.Split(string(doc), "```") {
		if i%2 == 0 {
			continue // text
		}
		kind, body, _ := strings.Cut(block, "\n")
		switch kind {
		case "yaml":
			first, _, _ := strings.Cut(body, "\n")
			name, ok := strings.CutPrefix(first, "# ")
			if !ok || !suite.IsFile(name) {
				t.Fatalf("a file's first line is %q, and not its name", first)
			}
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(body), 0o644); err != nil {
				t.Fatal(err)
			}
		case "console":
			commands += follow(t, body)
		default:
			t.Errorf("a block of %q: neither a file nor commands", kind)
		}
	}
	if commands < 5 {
		t.Errorf("%d commands were found", commands)
	}
}

// follow runs the commands of a block, each of which begins with a dollar sign, and looks for the
// lines below it in what they print.
func follow(t *testing.T, block string) (commands int) {
	t.Helper()
	for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
		line, shown, _ := strings.Cut(part, "\n")
		line, into, redirected := strings.Cut(line, " > ")
		args := strings.Fields(line)
		if args[0] != "eideticker" {
			t.Fatalf("%s is not a command of ours", line)
		}
		commands++
		if args[1] == "run" {
			if !canRun() {
				t.Logf("%s: not tried: -short, or no Xvfb or chromium", line)
				continue
			}
			// how busy this machine is, and how fast, is not what is tested
			args = append(args, "--max-lost", "100%", "--retries", "5", "--no-video")
		}
		var out, errOut bytes.Buffer
		code := run(t.Context(), args[1:], strings.NewReader(""), &out, &errOut)
		if wrong := strings.Contains(shown, ".yaml:"); (code != exitOK) != wrong {
			t.Errorf("%s: exit code %d\n%s%s", line, code, &out, &errOut)
		}
		said := out.String() + errOut.String()
		for _, want := range strings.Split(strings.TrimSpace(shown), "\n") {
			if !strings.Contains(said, want) {
				t.Errorf("%s: it does not say %q, but\n%s", line, want, said)
			}
		}
		if redirected {
			if err := os.WriteFile(into, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return commands
}

// canRun reports whether a browser can be run here, as it must be under CI. With -short none is.
func canRun() bool {
	if testing.Short() {
		return false
	}
	_, display := exec.LookPath("Xvfb")
	_, browser := exec.LookPath("chromium")
	return display == nil && browser == nil || os.Getenv("CI") == "true"
}
