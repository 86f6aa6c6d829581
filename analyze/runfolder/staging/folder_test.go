package staging

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

// TestMain is also the program that TestOrphans kills.
func TestMain(m *testing.M) {
	if path := os.Getenv("STAGING_TEST_BEGIN"); path != "" {
		f, err := Begin(path)
		if os.Getenv("STAGING_TEST_TEMP") != "" {
			f, err = Temp(filepath.Base(path))
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(f.Dir(), "a"), []byte("left"), 0o644)
		}
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString("begun\n")
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or its parent has gone
		return
	}
	os.Exit(m.Run())
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries := analyzetest.Must(os.ReadDir(dir))(t)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func write(t *testing.T, path, text string) {
	t.Helper()
	analyzetest.Check(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestAllOrNothing(t *testing.T) {
	base := t.TempDir()
	path := filepath.Join(base, "deep", "er", "run")
	f, err := Begin(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(f.Dir(), "a"), "1")
	if err := f.Finish(errors.New("no room")); err == nil || err.Error() != "no room" {
		t.Errorf("failed: %v", err)
	}
	if left := names(t, base); len(left) > 0 {
		t.Errorf("a failure leaves %v", left)
	}
	for _, text := range []string{"1", "2"} {
		f = analyzetest.Must(Begin(path))(t)
		write(t, filepath.Join(f.Dir(), "a"), text)
		analyzetest.Check(t, f.Finish(nil))
		if b, err := os.ReadFile(filepath.Join(path, "a")); err != nil || string(b) != text {
			t.Errorf("a is %q, %v; want %q", b, err, text)
		}
		if got := names(t, path); !slices.Equal(got, []string{"a"}) {
			t.Errorf("the folder has %v", got)
		}
	}
	if got := names(t, filepath.Dir(path)); !slices.Equal(got, []string{"run"}) {
		t.Errorf("beside it stand %v", got)
	}
}

// Fault: A run folder cannot be written, or contains other files
func TestWhatCannotBeIsToldAtOnce(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	write(t, file, "")
	for path, want := range map[string]string{file: "not a folder", filepath.Join(file, "run"): "not a directory"} {
		if _, err := Begin(path); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if got := names(t, base); !slices.Equal(got, []string{"file"}) {
		t.Errorf("left: %v", got)
	}
}

// TestOrphans: what a killed program leaves is taken away by the next, and what a living one is at
// is not.
//
// Fault: `kill -9` while a run folder is written
func TestOrphans(t *testing.T) {
	base := t.TempDir()
	path := filepath.Join(base, "run")
	kill := begun(t, "STAGING_TEST_BEGIN="+path)
	other := filepath.Join(base, ".run.backup") // none of ours
	analyzetest.Check(t, os.Mkdir(other, 0o755))
	f, err := Begin(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(t, base); len(got) != 3 {
		t.Errorf("with two at work there are %v", got)
	}
	analyzetest.Check(t, f.Finish(nil))
	kill()
	f = analyzetest.Must(Begin(path))(t)
	analyzetest.Check(t, f.Finish(nil))
	if got := names(t, base); !slices.Equal(got, []string{".run.backup", "run"}) {
		t.Errorf("left: %v", got)
	}
}

// TestTemp: a program removes the temporary folders of killed ones, but not those of living ones.
//
// Fault: `kill -9` while a site is recorded
func TestTemp(t *testing.T) {
	base := t.TempDir()
	t.Setenv("TMPDIR", base)
	kill := begun(t, "STAGING_TEST_BEGIN="+filepath.Join(t.TempDir(), "x"), "STAGING_TEST_TEMP=1")
	for _, living := range []int{2, 1} {
		f := analyzetest.Must(Temp("x"))(t)
		if got := names(t, base); len(got) != living {
			t.Errorf("there are %v, want %d", got, living)
		}
		analyzetest.Check(t, f.Abandon())
		kill()
	}
	if got := names(t, base); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}

// begun starts a program that has begun a folder. The function kills it.
func begun(t *testing.T, environment ...string) (kill func()) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), environment...)
	out := analyzetest.Must(c.StdoutPipe())(t)
	in := analyzetest.Must(c.StdinPipe())(t)
	t.Cleanup(func() { _ = in.Close() })
	analyzetest.Check(t, c.Start())
	analyzetest.Must(out.Read(make([]byte, 6)))(t)
	return sync.OnceFunc(func() {
		if err := c.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = c.Wait() // says that it was killed
	})
}
