package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Fault: The agent of a board cannot record
func TestRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("correct horse battery staple"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"": "-token-file is missing", "/nowhere": "no such file",
		file: "chmod 600"} {
		err := run(t.Context(), "127.0.0.1:0", name, t.TempDir())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("token file %q: %v; want %s", name, err, want)
		}
	}
	for _, address := range []string{":4724", "0.0.0.0:4724", "[::]:4724"} {
		err := run(t.Context(), address, file, t.TempDir())
		if err == nil || !strings.Contains(err.Error(), "interface") {
			t.Errorf("address %s: %v", address, err)
		}
	}
}
