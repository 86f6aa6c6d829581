package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/built"
)

func TestDebianVersion(t *testing.T) {
	for _, tc := range []struct{ of, want string }{
		{"v1.2.3", "1.2.3"},
		{"v1.2.3+dirty", "1.2.3+dirty"},
		{"v1.2.3-rc.1", "1.2.3~rc.1"},
		{"v1.2.4-0.20261121201556-474a843212a6", "1.2.4~0.20261121201556.474a843212a6"},
		{"v0.0.0-20261121201556-474a843212a6+dirty", "0.0.0~20261121201556.474a843212a6+dirty"},
		{"(devel)", ""}, {"", ""}, {"v1.2", ""}, {"v1.2.3-", ""}, {"1.2.3", ""}, {"v1.2.3 ", ""}, {"v1.2.3-a_b", ""},
		{"v1.2.3-\n", ""},
	} {
		got, err := debianVersion(tc.of)
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%q is %q, %v; want %q", tc.of, got, err, tc.want)
		}
	}
}

// dpkg orders versions as Go does.
func TestVersionsAreOrdered(t *testing.T) {
	dpkg := need(t, "dpkg", "dpkg")
	order := []string{
		"v0.0.0-20261121201556-474a843212a6", "v0.0.0-20261121201556-474a843212a6+dirty",
		"v0.0.0-20270101000000-000000000000",
		"v1.0.0-rc.1", "v1.0.0-rc.2", "v1.0.0", "v1.0.1-0.20270301000000-474a843212a6", "v1.0.1", "v1.10.0",
	}
	for i := range order[1:] {
		older, errOlder := debianVersion(order[i])
		newer, errNewer := debianVersion(order[i+1])
		if errOlder != nil || errNewer != nil {
			t.Fatal(errOlder, errNewer)
		}
		if out, err := exec.Command(dpkg, "--compare-versions", older, "lt", newer).CombinedOutput(); err != nil ||
			len(out) > 0 {
			t.Errorf("%s is not before %s: %v %s", older, newer, err, out)
		}
	}
}

func TestSubstvar(t *testing.T) {
	got, err := parseSubstvar("shlibs:Pre-Depends=\nshlibs:Depends=libc6 (>= 2.34), libgcc-s1 (>= 3.0)\n")
	if err != nil || !slices.Equal(got, []string{"libc6 (>= 2.34)", "libgcc-s1 (>= 3.0)"}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"", "shlibs:Depends=\n", "something else"} {
		if got, err := parseSubstvar(bad); err == nil {
			t.Errorf("%q is read as %q", bad, got)
		}
	}
}

// A file that is not our program is refused, and leaves no output.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	programs, err := built.Programs()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "want two arguments"},
		{[]string{text}, "want two arguments"},
		{[]string{filepath.Join(dir, "missing"), text}, "no such file"},
		{[]string{text, text}, "build information"},
		{[]string{os.Args[0], os.Args[0]}, "-buildvcs=true"}, // a test's program has no version
		{[]string{programs[1], programs[1]}, "build it with CGO_ENABLED=0"},
		{[]string{programs[0], programs[0]}, "build it with CGO_ENABLED=1"},
	} {
		out := filepath.Join(dir, "out")
		err := command(t.Context(), append([]string{"-o", out, "-from", ".."}, tc.args...))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %q", tc.args, err, tc.want)
		}
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("%q: the folder was made", tc.args)
		}
	}
}

// need finds a program. Without it the test is skipped on a developer's machine, and fails in CI.
func need(t *testing.T, name, pkg string) string {
	t.Helper()
	// some are in root's path only
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin") {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	message := name + " is not installed: apt-get install --no-install-recommends " + pkg
	if os.Getenv("CI") == "true" {
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}
