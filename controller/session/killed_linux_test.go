package session

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/deploy/built"
)

// killedRun is the environment variable with the folder and the address of a run that is going to
// be killed.
const killedRun, killedPage = "SESSION_TEST_KILLED_RUN", "SESSION_TEST_KILLED_PAGE"

// atOnce is the number of parallel tests, unless -parallel states it. Scenes and lines mostly wait,
// so more tests run at a time than there are processors. [takeTurn] bounds those with browsers, of
// which most wait for their turn.
const atOnce = "30"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedRun); dir != "" {
		runToBeKilled(dir)
		return
	}
	flag.Parse()
	parallel := flag.Lookup("test.parallel")
	if parallel.Value.String() == parallel.DefValue {
		_ = parallel.Value.Set(atOnce) // a number
	}
	if err := built.Media(); err != nil {
		log.Fatal(err)
	}
	os.Exit(m.Run())
}

// runToBeKilled is a run that does not end by itself.
func runToBeKilled(dir string) {
	d, err := localDevice(filepath.Dir(dir))
	if err != nil {
		fmt.Println(err)
		return
	}
	test := soakTest(os.Getenv(killedPage))
	test.Timeout = 10 * time.Minute
	record, _, err := Run(context.Background(), Options{Test: test, Device: d, Browser: "chromium", Dir: dir,
		Program: "test", Progress: untold{}})
	fmt.Println(record.Reason, err) // it should not have come this far
}

// TestKilledRun: a killed program leaves no process and no display. Its recording opens. The next
// run removes its browser's folder.
//
// Fault: `kill -9` during a run
func TestKilledRun(t *testing.T) {
	needBrowsers(t, "chromium")
	s := newSoak(t, "chromium", `<!doctype html><title>killed</title><style>html { background: #0f0 }</style><script>
let n = 0
const next = () => {
	if (++n > 40) document.documentElement.style.background = n % 2 ? "#fff" : "#ccc"
	requestAnimationFrame(next)
}
requestAnimationFrame(next)</script>`)
	dir := filepath.Join(s.runs, "killed")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), killedRun+"="+dir, killedPage+"="+s.test.URL)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.until("the content is recorded", func() bool {
		log, err := os.ReadFile(filepath.Join(dir, LogFile))
		return err == nil && bytes.Contains(log, []byte("the content begins"))
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if said.Len() > 0 {
		t.Errorf("it said %q", said.String())
	}
	var now leftovers
	profiles := filepath.Join(s.world["TMPDIR"], "eideticker-browser-*")
	s.until("all that it had started is gone", func() bool {
		now = s.look()
		return len(now.processes) == 0 && now.displays == 0
	})
	left, err := filepath.Glob(profiles)
	if err != nil || len(left) != 1 || len(now.files) != 1 {
		t.Fatalf("%q are left, %v; want its browser's folder alone", now.files, err)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, RecordFile)); err != nil ||
		!bytes.Contains(raw, []byte(`"state": "running"`)) {
		t.Errorf("%s, %v", raw, err)
	}
	r, err := recording.Open(filepath.Join(dir, runfolder.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()                     // was only read
	old := time.Now().Add(-time.Hour) // of a folder that is younger somebody may still be about to lock it
	if err := os.Chtimes(left[0], old, old); err != nil {
		t.Fatal(err)
	}
	s.page.set(soakPage)
	s.run(0)
	if after := s.look(); len(after.files) > 0 {
		t.Errorf("%q are left when the next run is over", after.files)
	}
}

// until waits for something that takes its time.
func (s *soak) until(what string, is func() bool) {
	s.Helper()
	for end := time.Now().Add(5 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("five minutes are over and not yet: %s", what)
		}
	}
}
