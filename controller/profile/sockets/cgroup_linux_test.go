//go:build linux && (amd64 || arm64)

package sockets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestCgroupsNeedNoMountPoint(t *testing.T) {
	var missing *MissingError
	switch err := Check(); {
	case errors.As(err, &missing) && (missing.Kernel || os.Getenv("CI") != "true"):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	f, err := mountCgroups()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	parent, err := ownCgroup(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), "")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(parent, fmt.Sprintf("eideticker-test-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(filepath.Join(dir, "cgroup.procs")); err != nil {
		t.Error(err)
	}
	if err := os.Remove(dir); err != nil {
		t.Error(err)
	}
	// Groups of a process that was killed are removed, those of others remain.
	killed := filepath.Join(parent, prefix+"99999999-1")
	own := filepath.Join(parent, fmt.Sprintf(prefix+"%d-0", os.Getpid()))
	for _, path := range []string{killed, own} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	removeOld(parent)
	if _, err := os.Stat(killed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("group of a killed process: %v", err)
	}
	if err := os.Remove(own); err != nil {
		t.Error(err)
	}
}

func TestPathsOfMountsHaveCodes(t *testing.T) {
	for in, want := range map[string]string{"/sys": "/sys", `/a\040b\134`: `/a b\`, `/x\9`: `/x\9`, `\04`: `\04`} {
		if got := unescape(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
