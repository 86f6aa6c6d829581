package media

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	// Variable is the environment variable with the path of eideticker-media. It replaces the
	// search.
	Variable = "EIDETICKER_MEDIA"
	// Program is the name of the program.
	Program = "eideticker-media"
	// patience bounds the wait for a process that was killed.
	patience = 10 * time.Second
)

// Find returns the path of eideticker-media: from [Variable], else beside this program, else in
// PATH. The error wraps errors.ErrUnsupported.
func Find() (string, error) {
	if path := os.Getenv(Variable); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			return "", unsupported("%s=%s does not name a program", Variable, path)
		}
		return path, nil
	}
	name := Program
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if own, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(own); err == nil {
			own = real
		}
		path := filepath.Join(filepath.Dir(own), name)
		if _, err := exec.LookPath(path); err == nil {
			return path, nil
		}
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return "", unsupported("%s was not found; install it beside eideticker with make build or the package", Program)
}

func unsupported(format string, args ...any) error {
	return &Failure{Text: fmt.Sprintf(format, args...), Unsupported: true}
}

// Process is a running eideticker-media. It belongs to one goroutine, except for Kill.
type Process struct {
	*Conn
	cmd   *exec.Cmd
	in    io.WriteCloser
	said  tail
	ended error // why it ended; set by wait
	over  bool
	once  sync.Once
}

// Start starts eideticker-media with a job. Close must be called.
func Start(job string, detail any) (*Process, error) {
	path, err := Find()
	if err != nil {
		return nil, err
	}
	d, err := json.Marshal(detail)
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.Command(path)}
	p.cmd.Stderr, p.cmd.WaitDelay = &p.said, patience
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, unsupported("start %s: %v", path, err)
	}
	p.Conn = NewConn(out, p.in)
	if err := p.WriteJSON(Job, Request{Protocol: protocol, Job: job, Detail: d}); err != nil {
		return nil, errors.Join(p.failure(err), p.Close())
	}
	return p, nil
}

// Answer reads the head of the next message, which is of one of the kinds that are wanted.
// Otherwise the error says why the process failed.
func (p *Process) Answer(want ...Kind) (kind Kind, length int64, err error) {
	kind, length, err = p.Next()
	if err != nil {
		return 0, 0, p.failure(err)
	}
	for _, w := range want {
		if kind == w {
			return kind, length, nil
		}
	}
	if kind != Failed {
		return 0, 0, fmt.Errorf("%s: unexpected message %q", Program, kind)
	}
	f := new(Failure)
	if err := p.ReadJSON(f); err != nil {
		return 0, 0, p.failure(err)
	}
	return 0, 0, f
}

// Failed returns the error that the process reports where writing to it fails with err.
func (p *Process) Failed(err error) error {
	if _, _, reported := p.Answer(); errors.As(reported, new(*Failure)) {
		return reported
	}
	return p.failure(err)
}

// failure says why the process is silent.
func (p *Process) failure(err error) error {
	p.wait()
	if text := p.said.last(); text != "" {
		return fmt.Errorf("%s failed: %s", Program, text)
	}
	if p.ended != nil {
		return fmt.Errorf("%s failed: %v", Program, p.ended)
	}
	return fmt.Errorf("%s failed: %v", Program, err) // not wrapped: the end of a pipe is not the end of a file
}

// Kill ends the process at once. Several goroutines may call it.
func (p *Process) Kill() {
	p.once.Do(func() { _ = p.cmd.Process.Kill() }) // it may have ended
}

func (p *Process) wait() {
	if !p.over {
		p.over = true
		_ = p.in.Close() // which ends it
		defer time.AfterFunc(patience, p.Kill).Stop()
		p.ended = p.cmd.Wait()
	}
}

// Close kills the process and waits for it. It is idempotent.
func (p *Process) Close() error {
	p.Kill()
	p.wait()
	return nil
}

// tail keeps the last bytes that a process writes to its standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	const most = 1 << 12
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = append(t.text[:0], t.text[max(0, len(t.text)-most):]...)
	return len(b), nil
}

// last returns the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.text), "?")), "\n")
	return lines[len(lines)-1]
}
