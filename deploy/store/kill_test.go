//go:build unix

package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/controller/session"
)

// TestMain is also the program that is killed.
func TestMain(m *testing.M) {
	if os.Getenv("STORE_TEST_STEP") != "" {
		die()
		return
	}
	os.Exit(m.Run())
}

// operations change files. Each is given the ID of a run, that of a set, and a file with an upload.
var operations = map[string]func(s *Store, run, set, upload string) error{
	"place":   func(s *Store, _, _, _ string) error { _, err := s.Place("x"); return err },
	"delete":  func(s *Store, run, _, _ string) error { return s.Delete(context.Background(), run) },
	"shorten": func(s *Store, _, set, _ string) error { return s.Delete(context.Background(), set+"~run-01") },
	"disband": func(s *Store, _, set, _ string) error { return s.Delete(context.Background(), set) },
	"pin":     func(s *Store, _, set, _ string) error { return s.Pin(context.Background(), set+"~run-02", true) },
	"unpin":   func(s *Store, _, set, _ string) error { return s.Pin(context.Background(), set+"~run-03", false) },
	"verdict": func(s *Store, run, set, _ string) error {
		return s.SetVerdict(context.Background(), set, verdict(stats.Improved, run))
	},
	"baseline": func(s *Store, run, _, _ string) error { return s.SetBaseline(context.Background(), "release", run) },
	"recover":  func(s *Store, _, _, _ string) error { _, err := s.Recover(context.Background()); return err },
	"receive": func(s *Store, _, _, upload string) error {
		f, err := os.Open(upload)
		if err != nil {
			return err
		}
		defer f.Close()
		_, _, err = s.Receive(context.Background(), f)
		return err
	},
	"rebuild": func(*Store, string, string, string) error { return nil }, // has happened when the store was opened
}

// die carries out an operation until it comes to a step, and kills the process there.
func die() {
	s, err := Open(context.Background(), Options{Dir: os.Getenv("STORE_TEST_DIR"), step: func(name string) {
		if name == os.Getenv("STORE_TEST_STEP") {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}})
	if err == nil {
		err = operations[os.Getenv("STORE_TEST_DO")](s, os.Getenv("STORE_TEST_RUN"), os.Getenv("STORE_TEST_SET"),
			os.Getenv("STORE_TEST_UPLOAD"))
	}
	os.Stderr.WriteString("the step was not reached: " + errorText(err) + "\n")
	os.Exit(1)
}

func errorText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

// killed is a data directory on which operations are tried.
type killed struct{ dir, run, set, broken, upload string }

// copy is the same in another folder.
func (k *killed) copy(t *testing.T) *killed {
	t.Helper()
	c := *k
	c.dir = filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(c.dir, os.DirFS(k.dir)); err != nil {
		t.Fatal(err)
	}
	s := open(t, c.dir)
	_, err := s.Reconcile(background, nil) // the files' times are others
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return &c
}

func newKilled(t *testing.T) *killed {
	k := &killed{dir: t.TempDir()}
	s := open(t, k.dir)
	withRecording := run(0, 60)
	withRecording.recording = true
	k.run = put(t, s, withRecording)
	k.set = putSet(t, s, 10, 60, 61, 62)
	var packed bytes.Buffer
	err := errors.Join(s.Zip(background, k.run, &packed), s.Pin(background, k.set+"~run-03", true),
		s.SetBaseline(background, "release", k.set))
	if err != nil {
		t.Fatal(err)
	}
	k.upload = filepath.Join(t.TempDir(), "upload.zip")
	if err := os.WriteFile(k.upload, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := run(20, 0).with(func(r *session.Record) { r.State, r.Device = session.Running, "killed-in-a-test" })
	broken.recording = true
	k.broken = put(t, s, broken)
	recorded := filepath.Join(s.path(k.broken), runfolder.RecordingFile)
	if err := os.Rename(recorded, recorded+".part-3"); err != nil { // it kept the last seconds
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return k
}

// prepare does what must be before an operation.
func (k *killed) prepare(t *testing.T, operation string) {
	t.Helper()
	var err error
	switch operation {
	case "rebuild":
		err = os.Remove(filepath.Join(k.dir, IndexFile))
	case "disband": // pinned runs and baselines stay
		s := open(t, k.dir)
		err = errors.Join(s.Pin(background, k.set+"~run-03", false), s.SetBaseline(background, "release", ""),
			s.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// steps returns the steps of an operation, found by carrying it out.
func (k *killed) steps(t *testing.T, operation string) (names []string) {
	t.Helper()
	k = k.copy(t)
	k.prepare(t, operation)
	s, err := Open(background, Options{Dir: k.dir, step: func(name string) { names = append(names, name) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(operations[operation](s, k.run, k.set, k.upload), s.Close()); err != nil {
		t.Fatal(err)
	}
	return names
}

// TestKilledAtEachStep: wherever the program is killed, the operation has happened or has not.
// Index and folders agree.
//
// Fault: `kill -9` while a run is deleted, received or pinned, or the index is written
func TestKilledAtEachStep(t *testing.T) {
	whole := newKilled(t)
	for operation := range operations {
		t.Run(operation, func(t *testing.T) {
			names := whole.steps(t, operation)
			if len(names) == 0 {
				t.Fatal("there is no step at which it could be killed")
			}
			for _, step := range names {
				k := whole.copy(t)
				k.prepare(t, operation)
				k.kill(t, operation, step)
				k.check(t, operation, step)
			}
		})
	}
}

func (k *killed) kill(t *testing.T, operation, step string) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "STORE_TEST_DO="+operation, "STORE_TEST_STEP="+step, "STORE_TEST_DIR="+k.dir,
		"STORE_TEST_RUN="+k.run, "STORE_TEST_SET="+k.set, "STORE_TEST_UPLOAD="+k.upload)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%s: %v: %s", step, err, out)
	}
}

func (k *killed) check(t *testing.T, operation, step string) {
	t.Helper()
	s := open(t, k.dir)
	defer s.Close()
	had := ids(t, s, Query{})
	// the run that says it is running is always looked at
	if changed, err := s.Reconcile(background, nil); changed > 1 || err != nil {
		t.Errorf("%s: %d folders are not as the index has them, %v", step, changed, err)
	}
	if now := ids(t, s, Query{}); !slices.Equal(had, now) {
		t.Errorf("%s: listed were %v, there are %v", step, had, now)
	}
	for _, dir := range []string{trashDir, uploadsDir} {
		if left, err := os.ReadDir(filepath.Join(k.dir, dir)); err != nil || len(left) > 0 {
			t.Errorf("%s: %s holds %v, %v", step, dir, left, err)
		}
	}
	for _, id := range had {
		r, err := s.Get(background, id)
		if err != nil || r.State == unreadable {
			t.Errorf("%s: %s is %s: %s, %v", step, id, r.State, r.Reason, err)
		}
	}
	if base, err := s.Baseline(background, "release"); operation != "disband" &&
		(err != nil || base != k.run && base != k.set) {
		t.Errorf("%s: the baseline is %q, %v", step, base, err)
	}
	k.checkCount(t, operation, step, len(had))
	if _, err := s.Recover(background); err != nil {
		t.Errorf("%s: recover: %v", step, err)
	}
	if left := ids(t, s, Query{State: session.Running}); len(left) > 0 {
		t.Errorf("%s: still running: %v", step, left)
	}
	if files, err := filepath.Glob(filepath.Join(s.path(k.broken), "*.eid*")); err != nil || len(files) != 1 ||
		filepath.Base(files[0]) != runfolder.RecordingFile {
		t.Errorf("%s: of the last seconds that were kept there are %v, %v", step, files, err)
	}
	if _, err := s.Place("after"); err != nil {
		t.Errorf("%s: %v", step, err)
	}
}

// checkCount: there are five runs, one more or less after some operations.
func (k *killed) checkCount(t *testing.T, operation, step string, n int) {
	t.Helper()
	may := map[string][]int{"delete": {5, 4}, "shorten": {5, 4}, "disband": {5, 2}, "receive": {5, 6}}[operation]
	if may == nil {
		may = []int{5}
	}
	if !slices.Contains(may, n) {
		t.Errorf("%s: there are %d runs, want one of %v", step, n, may)
	}
}
