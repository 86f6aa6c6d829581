package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/eideticker/eideticker/controller/session"
)

// diskSize is that of a disk that is soon full.
const diskSize = 8 << 20

// TestFullDisk: on a full disk runs are found and can be deleted. Runs that do not fit are rejected
// with the reason and leave nothing. With free space, all works again. A child mounts the disk in
// name spaces of its own.
//
// Fault: The disk is full
func TestFullDisk(t *testing.T) {
	if os.Getenv("STORE_TEST_DISK") != "" {
		onFullDisk(t)
		return
	}
	c := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	c.Env = append(os.Environ(), "STORE_TEST_DISK="+t.TempDir())
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	out, err := c.CombinedOutput()
	var refused *os.PathError
	var errno syscall.Errno
	if (errors.As(err, &refused) || errors.As(err, &errno)) && os.Getenv("CI") != "true" {
		t.Skipf("this system makes no name spaces for users: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: TestFullDisk") {
		t.Errorf("%v: %s", err, out)
	}
}

func onFullDisk(t *testing.T) {
	dir := os.Getenv("STORE_TEST_DISK")
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize)); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	var all []string
	for i := range 5 {
		m := run(i, 60)
		m.recording = i < 2
		all = append(all, put(t, s, m))
	}
	var upload bytes.Buffer
	if err := s.Zip(background, all[0], &upload); err != nil {
		t.Fatal(err)
	}
	fill(t, filepath.Join(dir, "filler"))
	checkFull(t, s, upload.Bytes(), all)
	if err := s.Delete(background, all[1]); err != nil {
		t.Fatalf("delete: %v", err)
	}
	all = slices.Delete(all, 1, 2)
	slices.Reverse(all)
	if got := ids(t, s, Query{}); !slices.Equal(got, all) {
		t.Errorf("after deleting: %v, want %v", got, all)
	}
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	if changed, err := s.Reconcile(background, nil); err != nil || changed > 0 {
		t.Errorf("%d folders are not as the index has them, %v", changed, err)
	}
	put(t, s, run(9, 60))
	if got := ids(t, s, Query{}); len(got) != 5 {
		t.Errorf("with room again: %v", got)
	}
}

// checkFull: operations that need space leave no half results, and others work.
func checkFull(t *testing.T, s *Store, upload []byte, all []string) {
	t.Helper()
	if _, _, err := s.Receive(background, bytes.NewReader(upload)); !errors.Is(err, ErrNoSpace) {
		t.Errorf("receive: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(s.dir, uploadsDir)); err != nil || len(left) > 0 {
		t.Errorf("uploads: %v, %v", left, err)
	}
	if err := s.SetBaseline(background, "release", all[0]); !errors.Is(err, ErrNoSpace) {
		t.Errorf("baseline: %v", err)
	}
	if base, err := s.Baselines(); err != nil || len(base) > 0 {
		t.Errorf("baselines: %v, %v", base, err)
	}
	if got := ids(t, s, Query{}); len(got) != len(all) {
		t.Errorf("listed: %v", got)
	}
	if r, err := s.Get(background, all[3]); err != nil || r.State != session.Passed {
		t.Errorf("get: %+v, %v", r, err)
	}
	if _, free, err := s.Space(); err != nil || free > 1<<16 {
		t.Errorf("free: %d, %v", free, err)
	}
}

// fill writes until nothing more goes.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1 << 16, 1 << 12, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	_ = f.Close() // it is full
}
