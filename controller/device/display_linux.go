package device

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// DisplayOptions say what display to start; the zero value is 1280x720.
type DisplayOptions struct {
	Width, Height int // pixels
}

// Display is a virtual X display of 24 bits a pixel.
type Display struct {
	name          string
	width, height int
	process       *process
	root          *screen // holds the server's access list as it was set

	closeOnce sync.Once
}

// StartDisplay starts Xvfb on a number that is free, and returns when it takes connections. It
// ends with ctx, with Close, or with this process.
func StartDisplay(ctx context.Context, o DisplayOptions) (*Display, error) {
	if o.Width == 0 && o.Height == 0 {
		o.Width, o.Height = 1280, 720
	}
	if o.Width < 16 || o.Height < 16 || o.Width > 1<<14 || o.Height > 1<<14 {
		return nil, fmt.Errorf("start display: size %dx%d: must be 16x16 to 16384x16384", o.Width, o.Height)
	}
	path, err := find("xvfb", "Xvfb")
	if err != nil {
		return nil, err
	}
	ready, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start display: %w", err)
	}
	defer ready.Close()
	// With -noreset the server keeps its access list when its last client leaves.
	cmd := exec.Command(path, "-displayfd", "3", "-screen", "0", fmt.Sprintf("%dx%dx24", o.Width, o.Height),
		"-nolisten", "tcp", "-noreset", "-dpi", "96", "-s", "0")
	cmd.Env = os.Environ()
	cmd.ExtraFiles = []*os.File{write}
	// A terminated server removes its socket and lock; a killed one cannot.
	p, err := start(ctx, "Xvfb", cmd, syscall.SIGTERM, nil)
	_ = write.Close() // the server has its own; ours would keep the pipe open after its death
	if err != nil {
		return nil, err
	}
	number, err := readNumber(ctx, ready)
	if err != nil {
		return nil, p.failed("start display", err)
	}
	d := &Display{name: ":" + number, width: o.Width, height: o.Height, process: p}
	if d.root, err = openScreen(d.name); err == nil {
		err = d.root.onlyThisUser()
	}
	if err != nil {
		if d.root != nil {
			d.root.close()
		}
		return nil, p.failed("start display", err)
	}
	return d, nil
}

// failed ends a process that did not become what it should, and says why.
func (p *process) failed(what string, err error) error {
	select {
	case <-p.done:
		return fmt.Errorf("%s: %w", what, p.err)
	default:
	}
	p.close()
	return fmt.Errorf("%s: %w%s", what, err, p.stderr.said())
}

// readNumber reads the display number that the server writes once it is ready. The read ends with
// the server, because its end of the pipe is the last one.
func readNumber(ctx context.Context, r *os.File) (string, error) {
	stop := context.AfterFunc(ctx, func() { _ = r.Close() })
	defer stop()
	line, err := bufio.NewReader(io.LimitReader(r, 32)).ReadString('\n')
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("read the display number of the X server: %w", err)
	}
	line = strings.TrimSpace(line)
	if _, err := strconv.ParseUint(line, 10, 16); err != nil {
		return "", fmt.Errorf("read the display number of the X server: unexpected %q", line)
	}
	return line, nil
}

// Name returns the display's name as in DISPLAY: ":99".
func (d *Display) Name() string { return d.name }

// ended returns why the process ended, or nil while it runs.
func (p *process) ended() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Close ends the display and waits until it has ended. It is idempotent.
func (d *Display) Close() error {
	d.closeOnce.Do(d.root.close)
	d.process.close()
	return nil
}
