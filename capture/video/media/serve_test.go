package media_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/eideticker/eideticker/capture/video/media"
	"github.com/eideticker/eideticker/deploy/built"
)

// child is a running eideticker-media, and what a test does in place of the program.
type child struct {
	*media.Conn
	cmd *exec.Cmd
	in  io.Closer
}

func start(t *testing.T) child {
	t.Helper()
	programs, err := built.Programs()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), programs[1])
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	return child{media.NewConn(out, in), cmd, in}
}

// request sends a job.
func (c child) request(t *testing.T, protocol int, job string, detail any) {
	t.Helper()
	b, err := json.Marshal(detail)
	if err == nil {
		err = c.WriteJSON(media.Job, media.Request{Protocol: protocol, Job: job, Detail: b})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// want reads the head of an answer.
func (c child) want(t *testing.T, kind media.Kind) {
	t.Helper()
	if got, _, err := c.Next(); err != nil || got != kind {
		t.Fatalf("message %q (error %v), want %q", got, err, kind)
	}
}

// Bug: the program is killed, or Ctrl-C ends it, while a video is encoded. No process and no half
// video stay.
func TestNothingStaysOfAGoneProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.mp4")
	c := start(t)
	c.request(t, 1, media.Encode, media.EncodeJob{Path: path, Width: 64, Height: 48, RateNum: 60, RateDen: 1,
		KeyInterval: 60})
	c.want(t, media.Info)
	if err := c.ReadJSON(new(struct{})); err != nil {
		t.Fatal(err)
	}
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} { // a terminal sends Ctrl-C to both
		if err := c.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		if err := errors.Join(c.Write(media.Slot), c.Flush()); err != nil {
			t.Fatalf("it is gone: %v", err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := c.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("it ended with %v, want exit code 1", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a video stays: %v", err)
	}
}

func TestServeRejects(t *testing.T) {
	dir := t.TempDir()
	job := media.EncodeJob{Path: filepath.Join(dir, "v.mp4"), Width: 64, Height: 48, RateNum: 60, RateDen: 1,
		KeyInterval: 60}
	odd, huge, rate := job, job, job
	odd.Width, huge.Width, rate.RateDen = 63, 1<<20, 0
	draw := func(h media.DrawHead, bytes int) func(child) error {
		return func(c child) error { return c.WriteHead(media.Draw, h, make([]byte, bytes)) }
	}
	for _, tc := range []struct {
		name     string
		protocol int
		job      string
		detail   any
		send     func(child) error // nil if the job is rejected
		want     string
	}{
		{"another protocol", 2, media.Encode, job, nil, "install both from one build"},
		{"unknown job", 1, "paint", job, nil, `unknown job "paint"`},
		{"odd size", 1, media.Encode, odd, nil, "video of 63x48 pixels"},
		{"huge size", 1, media.Encode, huge, nil, "video of 1048576x48 pixels"},
		{"no rate", 1, media.Encode, rate, nil, "no rate"},
		{"unexpected message", 1, media.Encode, job, func(c child) error { return c.Write(media.Info) },
			`unexpected message 'I'`},
		{"beyond the video", 1, media.Encode, job,
			draw(media.DrawHead{X: 60, Width: 8, Height: 1, FromWidth: 8, FromHeight: 1}, 24), "rectangle"},
		{"overflow", 1, media.Encode, job,
			draw(media.DrawHead{X: 1<<32 - 4, Width: 8, Height: 1, FromWidth: 8, FromHeight: 1}, 24), "rectangle"},
		{"too few pixels", 1, media.Encode, job, draw(media.DrawHead{Width: 8, Height: 1, FromWidth: 16, FromHeight: 1},
			24), "rectangle"},
		{"empty", 1, media.Encode, job, draw(media.DrawHead{}, 0), "rectangle"},
		{"no slots", 1, media.Encode, job, func(c child) error { return c.Write(media.End) }, "no frames"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := start(t)
			c.request(t, tc.protocol, tc.job, tc.detail)
			if tc.send != nil {
				c.want(t, media.Info)
				if err := errors.Join(c.ReadJSON(new(struct{})), tc.send(c), c.Flush()); err != nil {
					t.Fatal(err)
				}
			}
			c.want(t, media.Failed)
			var f media.Failure
			if err := c.ReadJSON(&f); err != nil || !strings.Contains(f.Text, tc.want) {
				t.Errorf("failure %q (error %v), want %q", f.Text, err, tc.want)
			}
			if err := c.cmd.Wait(); err == nil {
				t.Error("exit code 0")
			}
		})
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files %v stay (error %v)", left, err)
	}
}
