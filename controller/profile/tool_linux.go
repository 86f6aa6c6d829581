package profile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/timeline"
)

// patience is the longest wait for an answer of a tool, on a busy machine.
const patience = 20 * time.Second

// tool is a program that records until it is stopped. It may end before.
type tool struct {
	name   string
	cmd    *exec.Cmd
	output tail
	ended  chan struct{}
	err    error         // after ended
	at     timeline.Time // after ended
}

// startTool starts a program on a thread of its own, for the program ends with that thread.
func startTool(cmd *exec.Cmd) (*tool, error) {
	t := &tool{name: cmd.Args[0], cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &t.output, &t.output
	cmd.WaitDelay = time.Second
	// Its own group keeps it from the terminal's interrupts, so that it can finish its file.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			t.err = cmd.Wait()
			t.at = timeline.Monotonic().Now()
			close(t.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", t.name, err)
	}
	return t, nil
}

// over reports whether it has ended.
func (t *tool) over() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

// end ends it: by ask, which may be nil, then by signals.
func (t *tool) end(ctx context.Context, ask func()) {
	for _, step := range []func(){ask, func() { t.signal(unix.SIGTERM) }, func() { t.signal(unix.SIGKILL) }} {
		if step == nil {
			continue
		}
		step()
		timer := time.NewTimer(patience)
		select {
		case <-t.ended:
			timer.Stop()
			return
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
	<-t.ended
}

func (t *tool) signal(s syscall.Signal) { _ = t.cmd.Process.Signal(s) }

// said returns the last line that it printed.
func (t *tool) said() string { return t.output.last() }

// tail keeps the end of what a program prints. Its last writer has ended when it is read.
type tail struct{ text []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	if n := len(t.text) - 8<<10; n > 0 {
		t.text = append(t.text[:0], t.text[n:]...)
	}
	return len(b), nil
}

// last returns the first line about a permission, else about an error, or the last one.
func (t *tail) last() string {
	lines := bytes.Split(bytes.TrimSpace(bytes.ReplaceAll(t.text, []byte("\r"), []byte("\n"))), []byte("\n"))
	line := lines[len(lines)-1]
search:
	for _, word := range []string{"permission", "error", "fail"} {
		for _, l := range lines {
			if bytes.Contains(bytes.ToLower(l), []byte(word)) {
				line = l
				break search
			}
		}
	}
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("Error:")))
	return strings.ToValidUTF8(string(line[:min(len(line), 200)]), "?")
}

// try runs a command to its end and returns the reason of its failure.
func try(ctx context.Context, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PERF_CONFIG=/dev/null")
	var output tail
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return errors.New(cmp.Or(output.last(), err.Error()))
	}
	return nil
}
