package server

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/store"
)

// TestPicturesTakeMemory: a picture of a frame waits for memory. If none is free in time, the
// client gets an error to try again. Memory is returned after success and failure.
//
// Fault: Many pictures of large frames are requested at once
func TestPicturesTakeMemory(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	run := s.scene()
	path := "/api/v1/runs/" + run + "/frames/"
	s.api.pictures = newMemory(1000, 100*time.Millisecond) // less than a frame takes, which is made alone then
	if !s.api.pictures.TryAcquire(1) {
		t.Fatal("there is no memory")
	}
	if res, text := s.ask("GET", path+"0.png", ""); res.StatusCode != http.StatusServiceUnavailable ||
		res.Header.Get("Retry-After") == "" || !strings.Contains(text, "ask again later") {
		t.Errorf("%d %v %s", res.StatusCode, res.Header, text)
	}
	s.api.pictures.Release(1)
	// for the one before, which gives it back when its client has its answer already
	s.api.pictures.wait = daemontest.Patience
	for name, status := range map[string]int{"0.png": 200, "100000.png": 404, "0.png?region=9x9+9000+0": 400,
		"1.png": 200} {
		if res, text := s.ask("GET", path+name, ""); res.StatusCode != status {
			t.Errorf("%s: %d %.200s", name, res.StatusCode, text)
		}
	}
	s.Until("all memory to be given back", func() bool { // a client has its answer before that
		if !s.api.pictures.TryAcquire(1000) {
			return false
		}
		s.api.pictures.Release(1000)
		return true
	})
	s.api.pictures.wait = 100 * time.Millisecond
	for range heavyAtOnce { // others are at work
		s.api.heavy <- struct{}{}
	}
	if res, _ := s.ask("GET", path+"0.png", ""); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("beside what takes long: %d", res.StatusCode)
	}
}

// TestPicturesWaitApart: while a picture waits for memory, its recording is not open. Long
// operations have their turns. A recording is opened only with a turn, since a long one has all its
// frames in memory.
func TestPicturesWaitApart(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	run := s.scene()
	path := "/api/v1/runs/" + run + "/frames/0.png"
	s.api.pictures = newMemory(1000, daemontest.Patience)
	if !s.api.pictures.TryAcquire(1000) {
		t.Fatal("there is no memory")
	}
	status := make(chan int, 1)
	go func() {
		res, _ := s.ask("GET", path, "")
		status <- res.StatusCode
	}()
	s.api.pictures.Release(1) // as much as is asked for below
	s.Until("it to wait", func() bool {
		if s.api.pictures.TryAcquire(1) { // nobody waits yet
			s.api.pictures.Release(1)
			return false
		}
		return true
	})
	s.Until("its turn to be given back", func() bool { return len(s.api.heavy) == 0 })
	s.api.pictures.Release(999)
	if got := <-status; got != http.StatusOK {
		t.Errorf("when there is memory: %d", got)
	}

	dir, err := s.Store.Path(run)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, runfolder.RecordingFile), []byte("not to be opened"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.api.pictures.wait = 100 * time.Millisecond
	for range heavyAtOnce {
		s.api.heavy <- struct{}{}
	}
	if res, text := s.ask("GET", path, ""); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("without a turn: %d %s", res.StatusCode, text)
	}
}

// TestFrameMemory: of the largest frames that come from elsewhere one is made at once, and of usual
// ones many.
//
// Fault: Many pictures of large frames are requested at once
func TestFrameMemory(t *testing.T) {
	for _, tc := range []struct{ width, height, least, most int }{{8192, store.MaxPixels / 8192, 1, 1},
		{3840, 2160, 2, 10}, {1920, 1080, 10, 30}} {
		f, err := frame.NewFormat(frame.BGR4, tc.width, tc.height)
		if err != nil {
			t.Fatal(err)
		}
		l, err := frame.NewLayout(f)
		if err != nil {
			t.Fatal(err)
		}
		if n := int(pictureMemory / frameMemory(l)); n < tc.least || n > tc.most {
			t.Errorf("%d frames of %dx%d at once, want %d to %d", n, tc.width, tc.height, tc.least, tc.most)
		}
	}
}
