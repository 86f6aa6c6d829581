package staging

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	for _, content := range []string{"first", "second, which is longer", "3"} {
		analyzetest.Check(t, WriteFile(path, []byte(content), 0o640))
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content {
			t.Fatalf("%q, %v, want %q", got, err, content)
		}
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm()&0o777 != 0o640 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	analyzetest.Check(t, os.Mkdir(filepath.Join(dir, "taken"), 0o755))
	if err := WriteFile(filepath.Join(dir, "taken"), nil, 0o600); err == nil {
		t.Error("a folder was overwritten")
	}
	if got := names(t, dir); len(got) != 2 {
		t.Errorf("left behind: %v", got)
	}
}

// TestCleanFile: what a killed writer has left goes, and nothing else.
func TestCleanFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.json", ".a.json.123", ".a.json.4567", ".a.json.old", ".a.json.", ".b.json.123",
		"a.json.123"} {
		analyzetest.Check(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	analyzetest.Check(t, os.Mkdir(filepath.Join(dir, ".a.json.89"), 0o755))
	left, err := os.CreateTemp(dir, prefix("a.json")+"*") // as WriteFile does
	if err != nil || left.Close() != nil {
		t.Fatal(err)
	}
	CleanFile(filepath.Join(dir, "a.json"))
	got := names(t, dir)
	slices.Sort(got)
	if want := []string{".a.json.", ".a.json.89", ".a.json.old", ".b.json.123", "a.json", "a.json.123"}; !slices.Equal(
		got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	CleanFile(filepath.Join(dir, "none", "a.json")) // there is nothing
}
