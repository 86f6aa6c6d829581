package adb

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/controller/input"
)

// Kinds of a shell's packets, from shell_protocol.h.
const (
	packetStdin  = 0
	packetStdout = 1
	packetStderr = 2
	packetExit   = 3
)

const (
	maxPacket = 1 << 20 // of a device
	maxSaid   = 1 << 20 // of a command's output that is kept
	maxLeft   = 1 << 16 // that waits for a connection which takes nothing
)

// shell is a command that runs on the device and is talked to. One goroutine writes, another one
// reads.
type shell struct {
	c    *conn
	mu   sync.Mutex // of writes
	ctx  context.Context
	left []byte // what could not be written yet
}

// shell starts a command. It runs until the connection ends, which it does with ctx.
func (d *Device) shell(ctx context.Context, command string) (*shell, error) {
	starting, cancel := d.limited(ctx, command)
	defer cancel()
	c, err := d.server.dial(starting)
	if err != nil {
		return nil, err
	}
	for _, request := range []string{"host:transport:" + d.Serial, "shell,v2,raw:" + command} {
		if err := c.ask(request); err != nil {
			c.close()
			return nil, ended(starting, gone(err))
		}
	}
	if !c.stop() { // it was closed just now
		c.close()
		return nil, context.Cause(starting)
	}
	c.stop = context.AfterFunc(ctx, func() { _ = c.Close() })
	return &shell{c: c, ctx: ctx}, nil
}

// gone marks errors that say that the device is not there any more.
func gone(err error) error {
	var refused *refusedError
	if errors.As(err, &refused) &&
		(strings.Contains(refused.Reason, "not found") || strings.Contains(refused.Reason, "offline") ||
			strings.Contains(refused.Reason, "closed")) {
		return fmt.Errorf("%w: %w", input.ErrGone, err)
	}
	return err
}

// write gives bytes to the command, within its patience. What ctx cuts off goes before the bytes of
// the next write, so that packets stay whole.
func (s *shell) write(ctx context.Context, b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.left) > maxLeft {
		return fmt.Errorf("%w: it takes nothing any more", input.ErrGone)
	}
	s.left = append(s.left, packetStdin)
	s.left = binary.LittleEndian.AppendUint32(s.left, uint32(len(b)))
	s.left = append(s.left, b...)
	if err := s.c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return ended(s.ctx, fmt.Errorf("%w: %w", input.ErrGone, err))
	}
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cut)
		_ = s.c.SetWriteDeadline(time.Now()) // fails when the connection is closed: then so does the write
	})
	n, err := s.c.Write(s.left)
	if !stop() {
		<-cut // or it would cut the next write
	}
	s.left = append(s.left[:0], s.left[n:]...)
	if err != nil {
		return ended(ctx, ended(s.ctx, fmt.Errorf("%w: %w", input.ErrGone, err)))
	}
	return nil
}

// read returns the next packet; io.EOF when the command has ended with a packet that says so.
func (s *shell) read() (kind byte, data []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(s.c.r, head[:]); err != nil {
		return 0, nil, ended(s.ctx, fmt.Errorf("%w: %w", input.ErrGone, err))
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > maxPacket {
		return 0, nil, fmt.Errorf("adb: a packet of %d bytes: the device does not speak the shell's protocol", n)
	}
	data = make([]byte, n)
	if _, err := io.ReadFull(s.c.r, data); err != nil {
		return 0, nil, ended(s.ctx, fmt.Errorf("%w: %w", input.ErrGone, err))
	}
	return head[0], data, nil
}

func (s *shell) close() { s.c.close() }

// Device is an Android device.
type Device struct {
	Serial string
	server Server
}

// limited returns a context for one exchange with the device.
func (d *Device) limited(ctx context.Context, asked string) (context.Context, context.CancelFunc) {
	return d.server.limited(ctx, "device "+d.Serial, asked)
}

// Find returns a device: the one with a serial number, or the only one if it is "".
func (s Server) Find(ctx context.Context, serial string) (*Device, error) {
	all, err := s.Devices(ctx)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(all, serial)
	if err != nil {
		return nil, err
	}
	return &Device{chosen, s}, nil
}

// exitError says that a command on the device has failed.
type exitError struct {
	Command string
	Code    int
	Said    string // on its error output
}

func (e *exitError) Error() string {
	return fmt.Sprintf("%.100q on the device ended with %d: %.300s", e.Command, e.Code, strings.TrimSpace(e.Said))
}

// Run runs a command in the device's shell and returns what it says on its output. A device that
// does not answer within the server's patience counts as gone.
func (d *Device) Run(ctx context.Context, command string) (string, error) {
	ctx, cancel := d.limited(ctx, command)
	defer cancel()
	s, err := d.shell(ctx, command)
	if err != nil {
		return "", err
	}
	defer s.close()
	return s.answer(command)
}

// Pipe runs a command that reads bytes and then ends, such as "cmd package install -S SIZE". The
// context limits its time. It returns as Run does.
func (d *Device) Pipe(ctx context.Context, command string, from io.Reader) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := d.shell(ctx, command)
	if err != nil {
		return "", err
	}
	defer s.close()
	buffer := make([]byte, maxLeft)
	for {
		n, err := io.ReadFull(from, buffer)
		switch {
		case n == 0 && errors.Is(err, io.EOF):
			return s.answer(command)
		case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
			return "", err
		}
		head := binary.LittleEndian.AppendUint32([]byte{packetStdin}, uint32(n))
		if _, err := s.c.Write(append(head, buffer[:n]...)); err != nil {
			// It may have ended before it had all.
			_ = s.c.SetReadDeadline(time.Now().Add(patience))
			if said, why := s.answer(command); errors.As(why, new(*exitError)) {
				return said, why
			}
			return "", ended(ctx, fmt.Errorf("%w: %w", input.ErrGone, err))
		}
	}
}

// answer reads until the command has ended.
func (s *shell) answer(command string) (string, error) {
	var said, complained bytes.Buffer
	for {
		kind, data, err := s.read()
		if err != nil {
			return "", fmt.Errorf("%.100q: %w", command, err)
		}
		switch kind {
		case packetStdout:
			keep(&said, data)
		case packetStderr:
			keep(&complained, data)
		case packetExit:
			if len(data) < 1 || data[0] != 0 {
				code := -1
				if len(data) > 0 {
					code = int(data[0])
				}
				return said.String(), &exitError{command, code, complained.String()}
			}
			return said.String(), nil
		}
	}
}

func keep(b *bytes.Buffer, data []byte) {
	b.Write(data[:min(len(data), maxSaid-min(maxSaid, b.Len()))])
}

// Quote makes one word of the device's shell of a text.
func (*Device) Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
