package built

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestExecutableIsNotInherited: no process starts while a program is open for writing. The program
// is a pipe here, so it is open until this test has read it.
func TestExecutableIsNotInherited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	content := strings.Repeat("#!/bin/sh\n", 1<<17) // more than a pipe takes
	written := make(chan struct{})
	go func() {
		defer close(written)
		Executable(t, path, content)
	}()
	f, err := os.Open(path) // waits for the writer
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // was only read
	if syscall.ForkLock.TryLock() {
		syscall.ForkLock.Unlock()
		t.Error("a process could start while the program is open")
	}
	got, err := io.ReadAll(f)
	if err != nil || string(got) != content {
		t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
	}
	<-written
	if !syscall.ForkLock.TryLock() {
		t.Fatal("no process can start afterwards")
	}
	syscall.ForkLock.Unlock()
}
