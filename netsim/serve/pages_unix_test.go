//go:build unix

package serve

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestFolderWithAPipe: a pipe is skipped, without waiting for a writer.
func TestFolderWithAPipe(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte("page"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.html"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		p, err := Folder(dir, nil)
		if err == nil {
			if files, _ := p.Count(); files != 1 {
				t.Errorf("%d files are served", files)
			}
		}
		read <- err
	}()
	select {
	case err := <-read:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("a pipe is waited for")
	}
}
