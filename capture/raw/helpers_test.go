package raw

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func random(seed uint64, n int) []byte {
	var key [32]byte
	key[0] = byte(seed)
	b := make([]byte, n)
	rand.NewChaCha8(key).Read(b)
	return b
}

func write(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// asStdin makes data standard input, as a pipe, for the length of the test. With hold the pipe
// stays open.
func asStdin(t *testing.T, data []byte, hold bool) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stdin
	os.Stdin = r
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Write(data)
		if !hold {
			w.Close()
		}
	}()
	t.Cleanup(func() {
		os.Stdin = before
		r.Close() // ends a write that waits
		<-done
		w.Close()
	})
}

// wantError says whether err holds each part, or is nil for an empty want.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", parts)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}
