package session

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/built"
)

// launcher is a canvas with a program that is profiled. A stopped program paints nothing.
type launcher struct{ *canvas }

func (l launcher) Open(ctx context.Context, w Wanted) (Stage, error) {
	s, err := l.canvas.Open(ctx, w)
	if err != nil {
		return nil, err
	}
	return &launched{canvasStage: s.(*canvasStage), wanted: w, ended: make(chan struct{})}, nil
}

type launched struct {
	*canvasStage
	wanted Wanted
	cmd    *exec.Cmd
	ended  chan struct{}
}

func (s *launched) Launch(ctx context.Context, address string) (timeline.Interval, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s.cmd = exec.Command("sleep", "1000")
	s.cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := s.wanted.Profile.Start(nil)(s.cmd); err != nil {
		return timeline.Interval{}, err
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	if strings.Contains(s.cmd.Path, "uftrace") {
		return timeline.At(timeline.Monotonic().Now()), nil
	}
	return s.canvasStage.Launch(ctx, address)
}

func (s *launched) Ended() <-chan struct{} { return s.ended }

func (s *launched) Close() error {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = unix.Kill(-s.cmd.Process.Pid, unix.SIGKILL)
		<-s.ended
	}
	return s.canvasStage.Close()
}

// TestProfilerStopsTheBrowser: a run whose profiler hangs or crashes the browser fails by the
// profiler. With auto, the run takes the next way.
func TestProfilerStopsTheBrowser(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	const hang = 300 * time.Millisecond
	for name, tc := range map[string]struct {
		script, native, reason, note string
		hang                         time.Duration
	}{
		"hung":    {"kill -STOP $$", "imports", "no progress for 300ms before its content, by the profiler", "", hang},
		"crashed": {"exit 3", "imports", "the program ended before its content, by the profiler", "", time.Minute},
		"auto": {"kill -STOP $$", suite.ProfileAuto, "", "by the profiler; use samples; the next way is taken",
			hang},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("perf"); err != nil && os.Getenv("CI") != "true" {
				t.Skip(err)
			}
			built.Executable(t, filepath.Join(bin, "uftrace"), "#!/bin/sh\n"+tc.script+"\n")
			o := canvasOptions(t, Variant{})
			test := *o.Test
			test.Profile = suite.Profile{Native: tc.native}
			dir := filepath.Join(t.TempDir(), "run")
			record, _, err := counted(t, Options{Test: &test, Device: launcher{newCanvas(t)}, Dir: dir,
				MaxLost: 1, NoVideo: true, NoPictures: true, Progress: untold{}, hang: tc.hang})
			notes := strings.Join(record.Notes, "\n")
			want := Failed
			if tc.reason == "" {
				want = Passed
			}
			if err != nil || record.State != want || !strings.Contains(record.Reason, tc.reason) ||
				!strings.Contains(notes, tc.note) {
				t.Fatalf("%+v, %v", record, err)
			}
			if want == Failed {
				return
			}
			info, err := activity.ReadInfo(filepath.Join(dir, activity.TracesDir, "native"))
			if err != nil || info.Way != activity.WaySamples ||
				!strings.Contains(info.Why, "imports: the program made no progress") {
				t.Errorf("%+v, %v", info, err)
			}
		})
	}
}

// TestStrictRunNeedsItsEngines: without the engine, such a run fails at once.
func TestStrictRunNeedsItsEngines(t *testing.T) {
	d := newCanvas(t)
	t.Setenv("PATH", t.TempDir())
	for strict, want := range map[bool]State{true: Failed, false: Passed} {
		o := canvasOptions(t, Variant{})
		test := *o.Test
		test.Profile = suite.Profile{Native: suite.ProfileSamples, Strict: strict}
		record, _, err := counted(t, Options{Test: &test, Device: d, Dir: filepath.Join(t.TempDir(), "run"),
			MaxLost: 1, NoVideo: true, NoPictures: true, Progress: untold{}})
		said := record.Reason + strings.Join(record.Notes, "\n")
		if err != nil || record.State != want || strings.Count(said, "run sudo apt install linux-perf") != 1 ||
			record.Environment[result.EnvProfile] != "" && strict {
			t.Errorf("strict %t: %+v, %v", strict, record, err)
		}
	}
	if state := unfinished(t.Context(), errors.Join(errIncomplete)); state != Rejected {
		t.Errorf("a run without all records is %s", state)
	}
}

// TestUntrustedProfile: an untrusted test samples and traces its own browser, within bounds.
func TestUntrustedProfile(t *testing.T) {
	const most = 256 << 20
	for want, p := range map[string]suite.Profile{
		"":                                   {Native: suite.ProfileSamples, Sockets: true, Rate: 1000, Limit: most},
		"use samples or js":                  {Native: suite.ProfileAuto},
		"1000 samples per second and 256MiB": {Native: suite.ProfileSamples, Rate: 1001},
		"up to 1000 samples per second":      {Sockets: true, Limit: most + 1},
	} {
		err := CheckUntrustedProfile(&suite.Test{Profile: p})
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for profile, allowed := range map[string]bool{"js": true, "samples,js,sockets": true, "functions": false,
		"imports,js": false} {
		p, err := suite.ParseProfile(profile)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckUntrustedProfile(&suite.Test{Profile: p}); (err == nil) != allowed {
			t.Errorf("%s: %v", profile, err)
		}
	}
}
