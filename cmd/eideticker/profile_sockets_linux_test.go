package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/controller/profile/sockets"
)

// TestProfileOfSockets: the waits of a program for its sockets are printed. A missing engine is a
// warning, or an error with --strict.
func TestProfileOfSockets(t *testing.T) {
	var missing *sockets.MissingError
	if err := sockets.Check(); errors.As(err, &missing) && (missing.Kernel || os.Getenv("CI") != "true") {
		t.Skip(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		time.Sleep(time.Second) // curl waits for it, on a busy machine too
	}))
	defer server.Close()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir()) // without perf
	dir := filepath.Join(t.TempDir(), "out")
	args := []string{"--sockets", "-o", dir, "--", curl, "-s", server.URL}
	code, _, errOut := command(t, append([]string{"profile", "--strict"}, args...)...)
	if code != exitFailure || !strings.Contains(errOut, "run sudo apt install linux-perf") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	code, out, errOut := command(t, append([]string{"profile"}, args...)...)
	if code != exitOK || !strings.Contains(errOut, "run sudo apt install linux-perf") {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	if _, err := os.Stat(filepath.Join(dir, activity.TracesDir, "sockets", activity.IndexFile)); err != nil {
		t.Error(err)
	}
	code, again, errOut := command(t, "profile", dir)
	for _, text := range []string{out, again} {
		if code != exitOK || !strings.Contains(text, "poll waited ") || !strings.Contains(text, "then woke") {
			t.Errorf("exit code %d: %s\n%s", code, errOut, text)
		}
	}
	for _, args := range [][]string{{"--strict"}, {"--trace-limit", "1GiB"}} {
		code, _, errOut := command(t, append([]string{"run", "framerate"}, args...)...)
		if code != exitUsage || !strings.Contains(errOut, "--strict and --trace-limit need a profile") {
			t.Errorf("%v: exit code %d: %s", args, code, errOut)
		}
	}
}
