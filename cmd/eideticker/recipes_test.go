package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/eideticker/eideticker/deploy/built"
)

// recipes is where the recipes for CI are, and compareScript what all of them call.
const (
	recipes       = "../../deploy/ci"
	compareScript = "/usr/share/eideticker/ci/rig-compare"
	hostedRecipe  = "github-hosted.yml" // needs no rig
)

// codes are the exit codes of compare --fail-on-regression and of one that fails, and what the
// recipes say of them.
var codes = map[int]string{exitOK: "passed", exitFailure: "failed", exitRegression: "regressed",
	exitInconclusive: "inconclusive"}

// TestRecipes runs the shell of each recipe, with rig-compare ending in each way.
func TestRecipes(t *testing.T) {
	for _, tc := range []struct {
		file string
		// passes are the codes with which the job does not fail.
		passes []int
		says   string // of what is inconclusive
		token  string // with which the rig is asked
	}{
		{"github.yml", []int{exitOK, exitInconclusive}, "::warning title=Eideticker::Inconclusive", "secret"},
		{"gitlab.yml", []int{exitOK}, "", "secret"}, // allow_failure below
		{"taskcluster.yml", []int{exitOK, exitInconclusive}, "INCONCLUSIVE", "of .secret.token"},
	} {
		t.Run(tc.file, func(t *testing.T) {
			recipe := readRecipe(t, tc.file)
			script := scriptOf(t, recipe)
			for code, verdict := range codes {
				s := newStand(t)
				s.program("rig-compare", `mkdir -p "$OUT"
echo "$VERDICT" >"$OUT/verdict"
echo a table >"$OUT/comparison.txt"
echo "$1 $EIDETICKER_TOKEN" >"$LINES"; exit $CODE`)
				s.program("curl", `echo '{}'`)
				s.program("jq", `cat >/dev/null; echo "of $2"`)
				out, got := s.script(script, fmt.Sprintf("CODE=%d", code), "VERDICT="+verdict,
					"EIDETICKER_TOKEN=secret", "GITHUB_STEP_SUMMARY="+filepath.Join(s.dir, "summary"))
				want := code
				if slices.Contains(tc.passes, code) {
					want = 0
				}
				if got != want {
					t.Errorf("rig-compare ends with %d, and the job with %d, want %d: %s", code, got, want, out)
				}
				if said := strings.Contains(out, tc.says); tc.says != "" && said != (code == exitInconclusive) {
					t.Errorf("of exit code %d it says %s", code, out)
				}
				if called := s.read("lines"); called != "framerate "+tc.token+"\n" || strings.Contains(out, tc.token) {
					t.Errorf("it was called with %q, and says %s", called, out)
				}
				if tc.file == "github.yml" &&
					!strings.Contains(s.read("summary"), "Eideticker: "+verdict+"\n```\na table\n```") {
					t.Errorf("its summary is %q", s.read("summary"))
				}
			}
			if tc.file == "gitlab.yml" {
				job := recipe.(map[string]any)["eideticker"].(map[string]any)
				if got := fmt.Sprint(job["allow_failure"]); got != fmt.Sprintf("map[exit_codes:[%d]]",
					exitInconclusive) {
					t.Errorf("it allows %s", got)
				}
			}
		})
	}
}

// The shell of the recipe without a rig calls the program with flags that it has.
func TestHostedRecipe(t *testing.T) {
	var recipe struct {
		Jobs struct {
			Compare struct {
				Env   map[string]string
				Steps []struct{ Name, Run string }
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(recipes, hostedRecipe))
	if err == nil {
		err = yaml.Unmarshal(text, &recipe)
	}
	if err != nil {
		t.Fatal(err)
	}
	steps := recipe.Jobs.Compare.Steps
	i := slices.IndexFunc(steps, func(s struct{ Name, Run string }) bool {
		return strings.Contains(s.Run, "eideticker run")
	})
	if i < 0 {
		t.Fatal("no step runs eideticker")
	}
	for code := range codes {
		s := newStand(t)
		s.program("eideticker", `echo an answer >comment.md; printf '%s\n' "$@" >"$LINES"; exit $CODE`)
		out, got := s.script(steps[i].Run, fmt.Sprintf("CODE=%d", code), "PAGE="+recipe.Jobs.Compare.Env["PAGE"],
			"GITHUB_STEP_SUMMARY="+filepath.Join(s.dir, "summary"))
		want := code
		if code == exitInconclusive {
			want = exitOK
		}
		if warned := strings.Contains(out, "::warning"); got != want || warned != (code == exitInconclusive) {
			t.Errorf("run ends with %d, the job with %d, want %d: %s", code, got, want, out)
		}
		if s.read("summary") != "an answer\n" {
			t.Errorf("its summary is %q", s.read("summary"))
		}
		args := strings.Fields(s.read("lines"))
		if err := taken(args); err != nil || !slices.Contains(args, "change=change/public/index.html") {
			t.Errorf("the program does not take %q: %v", args, err)
		}
	}
}

// Where Taskcluster gives a ref, the rig is told of a branch, as by the others.
func TestTaskclusterBranch(t *testing.T) {
	script := scriptOf(t, readRecipe(t, "taskcluster.yml"))
	for given, want := range map[string]string{"refs/heads/main": "main", "refs/heads/a/b": "a/b", "refs/tags/v1": "v1",
		"feature": "feature", "feature/refs/heads/x": "feature/refs/heads/x"} {
		s := newStand(t)
		s.program("rig-compare", `echo "$BRANCH" >"$LINES"`)
		s.program("curl", `echo '{}'`)
		s.program("jq", `cat >/dev/null; echo "$2"`)
		if out, code := s.script(script, "BRANCH="+given); code != 0 || s.read("lines") != want+"\n" {
			t.Errorf("exit code %d, the branch of %s is %q: %s", code, given, s.read("lines"), out)
		}
	}
}

// readRecipe parses a recipe that is YAML.
func readRecipe(t *testing.T, name string) (recipe any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recipes, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalWithOptions(text, &recipe, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	return recipe
}

// scriptOf returns the one piece of shell in a recipe that calls rig-compare.
func scriptOf(t *testing.T, recipe any) string {
	t.Helper()
	scripts := scriptsIn(recipe)
	if len(scripts) != 1 {
		t.Fatalf("%d of its scripts call rig-compare", len(scripts))
	}
	return scripts[0]
}

// scriptsIn returns the shell in a recipe that calls rig-compare; lines of a list are one script.
func scriptsIn(recipe any) (all []string) {
	switch v := recipe.(type) {
	case string:
		if strings.Contains(v, compareScript) {
			all = append(all, v)
		}
	case []any:
		var lines []string
		for _, item := range v {
			line, ok := item.(string)
			if !ok {
				all = append(all, scriptsIn(item)...)
				continue
			}
			lines = append(lines, line)
		}
		if i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, compareScript) }); i >= 0 {
			if slices.Equal(lines[:i], []string{"/bin/sh", "-c"}) { // a command, not lines
				lines = lines[i:]
			}
			all = append(all, strings.Join(lines, "\n"))
		}
	case map[string]any:
		for _, item := range v {
			all = append(all, scriptsIn(item)...)
		}
	}
	return all
}

// buildbotStep is what a step is made with.
type buildbotStep struct {
	Kind  string
	Named struct {
		Command  []string
		DecodeRC map[int]int
		Env      map[string]any
	}
}

// TestBuildbotRecipe has Python read the recipe, with classes in Buildbot's place that note what
// they are made with.
func TestBuildbotRecipe(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	const program = `
import json, sys, types
class Step:
    def __init__(self, kind): self.kind = kind
    def __call__(self, *words, **named): return {"kind": self.kind, "words": words, "named": named}
class All:
    def __getattr__(self, kind): return Step(kind)
class Factory(All):
    def __init__(self): self.steps = []
    def addStep(self, step): self.steps.append(step)
util = All(); util.BuildFactory = Factory
plugins = types.ModuleType("buildbot.plugins"); plugins.steps, plugins.util = All(), util
results = types.ModuleType("buildbot.process.results"); results.SUCCESS, results.WARNINGS, results.FAILURE = 0, 1, 2
for name, module in {"buildbot": None, "buildbot.process": None, "buildbot.plugins": plugins,
                     "buildbot.process.results": results}.items():
    sys.modules[name] = module or types.ModuleType(name)
told = {}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), told)
print(json.dumps(told["factory"]("framerate").steps))
`
	out, err := exec.CommandContext(t.Context(), python, "-B", "-c", program,
		filepath.Join(recipes, "buildbot.py")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var steps []buildbotStep
	if err := json.Unmarshal(out, &steps); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	i := slices.IndexFunc(steps, func(s buildbotStep) bool { return s.Kind == "ShellCommand" })
	if i < 0 {
		t.Fatalf("it has no command: %s", out)
	}
	got := steps[i].Named
	if !slices.Equal(got.Command, []string{compareScript, "framerate"}) || got.Env["RIG"] == nil ||
		got.Env["EIDETICKER_TOKEN"] == nil {
		t.Errorf("it calls %q with %v", got.Command, got.Env)
	}
	if fmt.Sprint(got.DecodeRC) != fmt.Sprint(map[int]int{exitOK: 0, exitRegression: 2, exitInconclusive: 1}) {
		t.Errorf("exit codes mean %v", got.DecodeRC)
	}
}

// stand is a folder in which shell runs with programs of the test's own.
type stand struct {
	t   *testing.T
	dir string
}

func newStand(t *testing.T) stand {
	t.Helper()
	s := stand{t, t.TempDir()}
	if err := os.Mkdir(filepath.Join(s.dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s stand) program(name, shell string) {
	s.t.Helper()
	built.Executable(s.t, filepath.Join(s.dir, "bin", name), "#!/bin/sh\n"+shell+"\n")
}

// run returns what a program says, and its exit code.
func (s stand) run(program string, args []string, environ ...string) (string, int) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), program, args...)
	cmd.Dir = s.dir
	cmd.Env = append([]string{"PATH=" + filepath.Join(s.dir, "bin") + ":/usr/bin:/bin", "OUT=out",
		"LINES=" + filepath.Join(s.dir, "lines")}, environ...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// script runs the shell of a recipe, with the stand's own program for rig-compare.
func (s stand) script(shell string, environ ...string) (string, int) {
	s.t.Helper()
	shell = strings.ReplaceAll(shell, compareScript, filepath.Join(s.dir, "bin", "rig-compare"))
	return s.run("/bin/sh", []string{"-e", "-c", shell}, environ...)
}

func (s stand) read(name string) string {
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Error(err)
	}
	return string(b)
}
