package builds

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/config"
)

// TestCheck: names of builds are checked before a schedule runs, without a trace in the data
// directory. An index of another machine is not read.
func TestCheck(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	folder := config.Feed{Kind: config.FeedFolder, Dir: dir}
	check := func(c config.Feed, build, want string) {
		t.Helper()
		got := ""
		if err := Check(t.Context(), "main", data, c, build); err != nil {
			got = err.Error()
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("build %q: %q, want %q", build, got, want)
		}
	}
	check(folder, "", "feed main has no usable build yet")
	for _, name := range []string{"v1.0", "v2.0"} {
		program := filepath.Join(dir, name, "firefox", "firefox")
		if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	check(folder, "", "")
	check(folder, "v1.0", "")
	check(folder, "v1", "") // as a job's browser
	check(folder, "v2.1", "feed main has no build v2.1 yet; did you mean v2.0?")
	check(config.Feed{Kind: config.FeedFolder, Dir: dir + "x"}, "", "feed main cannot be read: open "+dir+"x")
	remote := config.Feed{Kind: config.FeedLines, URL: "https://192.0.2.1/builds.jsonl"}
	check(remote, "v9", "")
	if entries, err := os.ReadDir(data); len(entries) > 0 || err != nil {
		t.Errorf("the data directory has %v, %v", entries, err)
	}
}
