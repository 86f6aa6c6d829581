package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/video/media"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/built"
)

// TestRightsStay: capabilities that the program was started with stay its own, and what it starts
// inherits none. The program is the one that is shipped, and starts a script in place of
// eideticker-media, which notes the capabilities of both.
func TestRightsStay(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("it takes root to start a program with capabilities")
		}
		t.Skip("it takes root to start a program with capabilities")
	}
	t.Parallel()
	program, err := built.Program()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "eideticker-rights-*") // which everybody can enter, unlike the test's own
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	binary, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\ncat /proc/self/status > started\n" +
		"for task in /proc/$PPID/task/*/status; do cat $task; done > threads\n"
	own, helper := filepath.Join(dir, "eideticker"), filepath.Join(dir, "media")
	for path, content := range map[string]string{own: string(binary), helper: script,
		filepath.Join(dir, "a.mp4"): "none"} {
		built.Executable(t, path, content)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(own, "import", "a.mp4", "-o", "a.eid")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), media.Variable+"="+helper, "TMPDIR=/tmp", "HOME=/")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534},
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN}}
	out, _ := cmd.CombinedOutput() // it fails: the script decodes nothing
	field := func(file, name string) (values []string) {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, name+":\t"); ok {
				values = append(values, strings.TrimSpace(value))
			}
		}
		return values
	}
	const none, netAdmin = "0000000000000000", "0000000000001000"
	inherited := field("threads", "CapAmb")
	if len(inherited) < 2 {
		t.Errorf("%d threads\n%s", len(inherited), out)
	}
	for _, value := range inherited {
		if value != none {
			t.Errorf("a thread hands its capabilities on: %s", value)
		}
	}
	for _, value := range field("threads", "CapEff") {
		if value != netAdmin {
			t.Errorf("a thread has the capabilities %s, want %s", value, netAdmin)
		}
	}
	if value := strings.Join(field("started", "CapEff"), " "); value != none {
		t.Errorf("a program that was started has the capabilities %s", value)
	}
}

// asNobody has a test run again as a program of somebody who may do nothing but what is named.
func asNobody(t *testing.T, test string, caps ...uintptr) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+test+"$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), aloneEnv+"=1", "TMPDIR=/tmp", "HOME=/", session.LockVariable+"=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, AmbientCaps: caps}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: "+test) {
		t.Errorf("%v:\n%s", err, out)
	}
}
