//go:build linux

package rigvm

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/eideticker/eideticker/deploy/rigvm/internal/wire"
)

// Command is a program to run in the guest, as root.
type Command struct {
	Path   string    // in the guest, or a name that busybox has
	Args   []string  // without the program's name
	Env    []string  // added to PATH and HOME
	Dir    string    // "" is /
	Stdin  io.Reader // read to its end before the program starts; may be nil
	Stdout io.Writer // gets the output as it comes; may be nil. It must not wait for another call to this VM
	Stderr io.Writer // the same for standard error
}

// Result is what became of a program.
type Result struct {
	Stdout, Stderr []byte // the first maxOutput bytes of each
	Truncated      bool   // there was more
	ExitCode       int    // 128+n if signal n ended it
}

// maxOutput bounds what a Result keeps of either output. The writers of a Command get everything.
const maxOutput = 8 << 20

// Run runs a program and waits for its end. An exit code other than 0 is not an error. If ctx ends
// first, the program and its process group are killed. A Result that comes with an error has the
// output up to then.
func (vm *VM) Run(ctx context.Context, c Command) (Result, error) {
	q := wire.Call{Op: wire.Run, Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir}
	if c.Stdin != nil {
		q.Stdin = vm.temporary("stdin")
		if err := vm.put(ctx, c.Stdin, q.Stdin, 0o600); err != nil {
			return Result{}, fmt.Errorf("send standard input of %s: %w", c.Path, err)
		}
	}
	stdout, stderr := capture{also: c.Stdout}, capture{also: c.Stderr}
	reply, err := vm.do(ctx, q, func(kind wire.Kind, b []byte) {
		switch kind {
		case wire.Stdout:
			stdout.add(b)
		case wire.Stderr:
			stderr.add(b)
		}
	}, nil)
	r := Result{Stdout: stdout.bytes(), Stderr: stderr.bytes(), ExitCode: reply.ExitCode, Truncated: stdout.more ||
		stderr.more}
	if err == nil {
		err = stdout.err
	}
	if err == nil {
		err = stderr.err
	}
	if err != nil {
		return r, fmt.Errorf("run %s: %w", c.Path, err)
	}
	return r, nil
}

// temporary returns the name of a file in the guest that no other call uses.
func (vm *VM) temporary(what string) string {
	vm.mu.Lock()
	defer vm.mu.Unlock()
	vm.last++
	return fmt.Sprintf("/run/rigvm-%s-%d", what, vm.last)
}

// capture keeps the beginning of an output and hands all of it on.
type capture struct {
	also io.Writer
	buf  bytes.Buffer
	more bool
	err  error // of also, the first
}

func (c *capture) add(b []byte) {
	if c.also != nil && c.err == nil {
		_, c.err = c.also.Write(b)
	}
	room := min(len(b), maxOutput-c.buf.Len())
	c.buf.Write(b[:room])
	c.more = c.more || room < len(b)
}

func (c *capture) bytes() []byte { return bytes.Clone(c.buf.Bytes()) }
