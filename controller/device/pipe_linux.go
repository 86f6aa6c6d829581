package device

import (
	"errors"
	"io"
	"os"
)

// pipe leads to the developer tools of a browser. Nobody else can use it, unlike a port.
type pipe struct {
	theirs   [2]*os.File // from which the browser reads, to which it writes
	to, from *os.File
}

func newPipe() (*pipe, error) {
	theirIn, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirIn.Close(), to.Close())
	}
	return &pipe{[2]*os.File{theirIn, theirOut}, to, from}, nil
}

// Read implements [io.Reader].
func (p *pipe) Read(b []byte) (int, error) { return p.from.Read(b) }

// Write implements [io.Writer].
func (p *pipe) Write(b []byte) (int, error) { return p.to.Write(b) }

// given closes the browser's ends once it has them.
func (p *pipe) given() {
	if p != nil {
		_ = errors.Join(p.theirs[0].Close(), p.theirs[1].Close()) // the browser has its own
	}
}

func (p *pipe) close() {
	if p != nil {
		_ = errors.Join(p.to.Close(), p.from.Close()) // their other ends are gone
	}
}

// Pipe returns the connection to the developer tools of a Chromium that was started with Inspect.
// Messages are JSON and end with a zero byte. It ends with the browser; nil: there is none.
func (b *Browser) Pipe() io.ReadWriter {
	if b.pipe == nil {
		return nil
	}
	return b.pipe
}
