package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/built"
)

// TestContainerfile compares the container image with the package: it installs what the package
// recommends for the demo, and its commands exist. The image itself is not built here.
func TestContainerfile(t *testing.T) {
	text := strings.ReplaceAll(string(read(t, "../../Containerfile")), "\\\n", " ")
	first, second, found := strings.Cut(text, "\nFROM docker.io/library/debian:bookworm-slim\n")
	if !found || !strings.Contains(first, "\nFROM docker.io/library/debian:bookworm AS build\n") {
		t.Fatalf("the stages are not as expected:\n%s", text)
	}

	// What it builds with is what the project builds with.
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(read(t, "../../go.mod")))
	if !strings.Contains(first, "golang:"+goVersion[1]+"-bookworm ") {
		t.Errorf("the first stage does not build with Go %s", goVersion[1])
	}
	deps := strings.Fields(string(read(t, "../../.ci/deps")))
	for _, name := range aptPackages(t, first) {
		if !slices.Contains(deps, name) {
			t.Errorf("the first stage installs %s, which .ci/deps does not", name)
		}
	}
	out, err := exec.Command(need(t, "make", "make"), "-C", "../..", "-n", "-o", "deps", "package").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "./deploy/deb -o out ") ||
		strings.Contains(string(out), ".ci/deps") {
		t.Errorf("make -o deps package: %v\n%s", err, out)
	}

	// The second stage has the package, so its dependencies, and for the demo its recommendations.
	info := (program{arch: "amd64"}).info("", "..", nil)
	var want []string
	for _, name := range info.Recommends {
		if name != "adb" { // for phones
			name, _, _ = strings.Cut(name, " | ")
			want = append(want, name)
		}
	}
	want = append(want, "/tmp/"+info.Name+".deb")
	got := aptPackages(t, second)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the second stage installs %q, want %q", got, want)
	}
	if !strings.Contains(second, "\nCOPY --from=build /eideticker.deb /tmp/eideticker.deb\n") ||
		!strings.Contains(first, " && mv out/eideticker_*.deb /eideticker.deb\n") {
		t.Error("the package does not reach the second stage")
	}
	command := append(words(t, second, "ENTRYPOINT"), words(t, second, "CMD")...)
	if !slices.Equal(command, []string{"eideticker", "demo", "-o", "/out"}) {
		t.Errorf("the command is %q", command)
	}
	if testing.Short() {
		return
	}
	path, err := built.Program()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path, append(command[1:], "--help")...).CombinedOutput(); err != nil {
		t.Errorf("%q: %v\n%s", command, err, out)
	}
	for _, ignored := range strings.Fields(string(read(t, "../../.dockerignore"))) {
		out, err := exec.Command("git", "ls-files", filepath.Join("../..", ignored)).Output()
		if err == nil && len(out) > 0 {
			t.Errorf(".dockerignore leaves out files of git, so the package would be marked as changed: %s", out)
		}
	}
}

// aptPackages returns what a stage installs.
func aptPackages(t *testing.T, stage string) []string {
	t.Helper()
	m := regexp.MustCompile(`apt-get install ([^&\n]+)`).FindStringSubmatch(stage)
	if m == nil {
		t.Fatalf("nothing is installed by\n%s", stage)
	}
	return slices.DeleteFunc(strings.Fields(m[1]), func(word string) bool { return strings.HasPrefix(word, "--") })
}

// words returns the words of an instruction in its JSON form.
func words(t *testing.T, stage, instruction string) (all []string) {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + instruction + ` (\[.*\])$`).FindStringSubmatch(stage)
	if m == nil || json.Unmarshal([]byte(m[1]), &all) != nil {
		t.Fatalf("there is no %s in\n%s", instruction, stage)
	}
	return all
}
