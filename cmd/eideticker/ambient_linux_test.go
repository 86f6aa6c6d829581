package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAmbientHelper is what TestRightsStay runs as somebody else.
func TestAmbientHelper(t *testing.T) {
	if os.Getenv(aloneEnv) == "" {
		return // it is not asked
	}
	keepRights()
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(tasks) < 2 {
		t.Fatal(tasks, err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil || !strings.Contains(string(text), "CapAmb:\t0000000000000000") {
			t.Errorf("a thread hands its capabilities on (%v):\n%s", err, text)
		}
		if !strings.Contains(string(text), "CapEff:\t0000000000001000") {
			t.Errorf("a thread has lost its own:\n%s", text)
		}
	}
	text, err := exec.Command("cat", "/proc/self/status").Output()
	if err != nil || !strings.Contains(string(text), "CapEff:\t0000000000000000") {
		t.Errorf("a program that was started has capabilities (%v):\n%s", err, text)
	}
}

// TestRightsStay: capabilities that the program was started with stay its own, and what it starts inherits none.
func TestRightsStay(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("it takes root to start a program with capabilities")
		}
		t.Skip("it takes root to start a program with capabilities")
	}
	asNobody(t, "TestAmbientHelper", unix.CAP_NET_ADMIN)
}

// asNobody has a test run again as a program of somebody who may do nothing but what is named.
func asNobody(t *testing.T, test string, caps ...uintptr) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+test+"$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), aloneEnv+"=1", "TMPDIR=/tmp", "HOME=/")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, AmbientCaps: caps}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: "+test) {
		t.Errorf("%v:\n%s", err, out)
	}
}
