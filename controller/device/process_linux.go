package device

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// markName is the environment variable by which a program's descendants are found.
const markName = "EIDETICKER_STARTED"

// How long a program that was asked to end may take. One that the kernel is to ask, too, has
// something to put away.
const (
	grace    = 3 * time.Second
	putsAway = time.Minute
)

// process is a program that was started, with everything that it starts.
type process struct {
	name   string // for errors
	cmd    *exec.Cmd
	mark   string // "EIDETICKER_STARTED=…" in its environment
	stderr *tail  // last lines it wrote
	grace  time.Duration
	done   chan struct{} // closed when it has ended and its descendants are gone
	err    error         // why it ended; read after done

	stop     chan struct{} // closed to end it
	stopOnce sync.Once
}

// start runs a command until it ends, ctx does, or close is called. die is what the kernel sends it
// if this process ends first. begin starts it; nil: cmd.Start.
func start(ctx context.Context, name string, cmd *exec.Cmd, die syscall.Signal, begin func(*exec.Cmd) error) (*process,
	error) {
	p := &process{
		name: name, cmd: cmd, mark: markName + "=" + newMark(), stderr: &tail{},
		grace: grace, done: make(chan struct{}), stop: make(chan struct{}),
	}
	if die == syscall.SIGTERM {
		p.grace = putsAway
	}
	cmd.Env = append(cmd.Env, p.mark)
	cmd.Stderr = p.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: die}
	// Helpers that outlive it may keep its stderr open; their output is not waited for.
	cmd.WaitDelay = time.Second
	started := make(chan error)
	if begin == nil {
		begin = (*exec.Cmd).Start
	}
	go p.run(ctx, begin, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// run starts the program and returns when it is gone. The parent death signal is sent when the
// *thread* that started the program ends. So that thread must be ours for as long.
func (p *process) run(ctx context.Context, begin func(*exec.Cmd) error, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := begin(p.cmd)
	started <- err
	if err != nil {
		return
	}
	defer close(p.done)
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		p.awaitExit()
	}()
	why := error(nil)
	select {
	case <-exited:
	case <-ctx.Done():
		why = context.Cause(ctx)
		p.ask(exited)
	case <-p.stop:
		why = os.ErrClosed
		p.ask(exited)
	}
	// Before the wait for the program, its id, which is the group's, cannot be reused.
	p.signal(syscall.SIGKILL)
	<-exited
	err = p.cmd.Wait()
	if p.err = why; why == nil {
		p.err = p.died(err)
	}
	endMarked(p.mark)
}

// awaitExit returns when the program has ended, and leaves it to be waited for.
func (p *process) awaitExit() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// ask gives the program some time to end by itself.
func (p *process) ask(exited <-chan struct{}) {
	p.signal(syscall.SIGTERM)
	t := time.NewTimer(p.grace)
	defer t.Stop()
	select {
	case <-exited:
	case <-t.C:
	}
}

// signal sends to the whole group; one that has just ended needs none.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// died describes a program that ended by itself.
func (p *process) died(err error) error {
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	how := "exit status 0"
	if err != nil {
		how = err.Error()
	}
	return fmt.Errorf("%s ended by itself: %s%s", p.name, how, p.stderr.said())
}

// close ends the program and waits until it and its descendants are gone.
func (p *process) close() {
	p.stopOnce.Do(func() { close(p.stop) })
	<-p.done
}

// tail keeps the end of what a program writes.
type tail struct {
	mu    sync.Mutex
	bytes []byte
}

const tailBytes = 8 << 10 // complaints of no interest may stand behind what matters

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes = append(t.bytes, b[max(0, len(b)-tailBytes):]...)
	if n := len(t.bytes); n > tailBytes {
		t.bytes = append(t.bytes[:0], t.bytes[n-tailBytes:]...)
	}
	return len(b), nil
}
