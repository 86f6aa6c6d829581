//go:build !cgo

package video

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestWithoutCgo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mp4")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}
