//go:build unix

package store

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/controller/session"
)

// TestPushedBesidePipe: a pipe in place of a run's file does not equal any run. The store does not
// wait for its writer.
func TestPushedBesidePipe(t *testing.T) {
	for _, name := range []string{runfolder.RecordingFile, session.RecordFile, result.FileName} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			m := run(0, 60)
			m.recording = true
			id := put(t, s, m)
			sent := zipped(t, s, id)
			file := filepath.Join(s.path(id), name)
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(file, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, known, err := s.Receive(background, bytes.NewReader(sent)); err != nil || known || got == id {
				t.Errorf("%s, known %v, %v", got, known, err)
			}
		})
	}
}
