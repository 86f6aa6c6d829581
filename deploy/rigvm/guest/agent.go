//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/eideticker/eideticker/deploy/rigvm/internal/wire"
	"golang.org/x/sys/unix"
)

// server answers the host's calls.
type server struct {
	write sync.Mutex // one frame at a time
	port  io.Writer
	out   []byte // frame that is being written

	mu      sync.Mutex
	running map[uint32]func()      // by call; ends it early
	puts    map[uint32]chan []byte // used by serve alone; closed after the last byte
}

// agent loads the base modules, opens the port, greets the host and serves it. It returns when it
// cannot continue.
func agent() error {
	b, err := readBoot()
	if err != nil {
		return err
	}
	for _, path := range b.Modules {
		// A driver for missing hardware is harmless, and so is one that is loaded already.
		if err := load(path, ""); err != nil && !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	port, err := awaitPort("/sys/class/virtio-ports", "/dev", portTime)
	if err != nil {
		return err
	}
	s := &server{port: port, running: map[uint32]func(){}, puts: map[uint32]chan []byte{}}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err
	}
	greeting := wire.Greeting{Kernel: unix.ByteSliceToString(name.Release[:])}
	if b.Disk != "" {
		if err := mountDisk(b.Disk); err != nil {
			greeting.Error = err.Error()
		}
	}
	if err := s.sendJSON(0, wire.Hello, greeting); err != nil {
		return err
	}
	return s.serve(bufio.NewReaderSize(port, wire.MaxPayload))
}

// The driver asks the host for its ports after it was loaded: they appear later, on a machine that
// has ten times too much to do by more than ten seconds. The host gives up a guest that takes too
// long; this limit is for ports that never appear, so that it is known why.
const (
	portTime  = time.Minute
	portPause = 20 * time.Millisecond
)

// awaitPort looks for the port until it is there, or a time has passed.
func awaitPort(class, dev string, limit time.Duration) (*os.File, error) {
	for began := time.Now(); ; time.Sleep(portPause) {
		port, err := openPort(class, dev)
		if err == nil || time.Since(began) > limit {
			return port, err
		}
	}
}

// openPort finds the port by its name, since the guest has no udev to make a link. The file blocks,
// so that reads and writes need only that from the driver.
func openPort(class, folder string) (*os.File, error) {
	names, err := filepath.Glob(filepath.Join(class, "*/name"))
	if err != nil {
		return nil, err
	}
	for _, path := range names {
		name, err := os.ReadFile(path)
		if err != nil || strings.TrimSpace(string(name)) != wire.PortName {
			continue
		}
		dev := filepath.Join(folder, filepath.Base(filepath.Dir(path)))
		fd, err := unix.Open(dev, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", dev, err)
		}
		return os.NewFile(uintptr(fd), dev), nil
	}
	return nil, fmt.Errorf("virtio-serial port %q not found", wire.PortName)
}

func (s *server) serve(r io.Reader) error {
	frames := wire.NewReader(r)
	for {
		f, err := frames.Read()
		if err != nil {
			return fmt.Errorf("read from the host: %w", err)
		}
		switch f.Kind {
		case wire.Request:
			var c wire.Call
			if err := f.Unmarshal(&c); err != nil {
				return err
			}
			s.begin(f.Call, c)
		case wire.Data, wire.End:
			s.receive(f)
		case wire.Cancel:
			s.cancel(f.Call)
		default:
			return fmt.Errorf("frame of unknown kind %d", f.Kind)
		}
	}
}

// begin starts a call. A call that may take long runs in a goroutine that ends with a Done.
func (s *server) begin(id uint32, c wire.Call) {
	switch c.Op {
	case wire.Run:
		s.start(id, c)
	case wire.Put:
		chunks := make(chan []byte, putAhead)
		s.puts[id] = chunks
		go func() { s.done(id, s.put(id, c, chunks)) }()
	case wire.Get:
		go func() { s.done(id, s.get(id, c.Path)) }()
	case wire.Load:
		go func() { s.done(id, load(c.Path, c.Params)) }()
	case wire.Unload:
		go func() { s.done(id, unload(c.Path)) }()
	case wire.PowerOff:
		go func() { s.done(id, powerOff()) }()
	default:
		s.done(id, fmt.Errorf("unknown call %q", c.Op))
	}
}

// putAhead is how many frames may wait for a file that is written. So one that blocks, as a
// driver's may, does not keep other calls from being heard.
const putAhead = 64

// receive takes bytes of a file that the host puts.
func (s *server) receive(frame wire.Frame) {
	chunks := s.puts[frame.Call]
	switch {
	case chunks == nil:
	case frame.Kind == wire.Data:
		chunks <- bytes.Clone(frame.Payload)
	default:
		delete(s.puts, frame.Call)
		close(chunks)
	}
}

// put writes a file. It writes in place, since files of sysfs are written too.
func (s *server) put(id uint32, c wire.Call, chunks <-chan []byte) error {
	f, err := create(c.Path, os.FileMode(c.Mode))
	if err == nil {
		defer f.Close()
		s.cancelBy(id, func() { _ = f.Close() })
		defer s.forget(id)
	}
	for b := range chunks { // all, also after an error
		if err == nil {
			_, err = f.Write(b)
		}
	}
	if err == nil {
		err = f.Close()
	}
	return err
}

func create(path string, mode os.FileMode) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode.Perm())
}

// get sends a file to the host.
func (s *server) get(id uint32, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s.cancelBy(id, func() { _ = f.Close() })
	defer s.forget(id)
	out := stream{s, id, wire.Data}
	for buf := make([]byte, wire.MaxPayload); ; {
		n, err := f.Read(buf)
		if n > 0 {
			if _, err := out.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// cancelBy says how a call that has begun is ended early.
func (s *server) cancelBy(id uint32, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[id] = end
}

func (s *server) forget(id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, id)
}

// cancel ends a call early; it is answered all the same.
func (s *server) cancel(id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if end := s.running[id]; end != nil {
		end()
	}
}

// stream writes frames of one kind.
type stream struct {
	s    *server
	call uint32
	kind wire.Kind
}

func (w *stream) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), wire.MaxPayload)
		if err := w.s.frame(w.call, w.kind, rest[:n]); err != nil {
			return len(b) - len(rest), err
		}
		rest = rest[n:]
	}
	return len(b), nil
}

// done ends a call.
func (s *server) done(id uint32, err error) {
	var r wire.Reply
	if err != nil {
		r.Error = err.Error()
		var no syscall.Errno
		if errors.As(err, &no) {
			r.Errno = int(no)
		}
	}
	s.reply(id, r)
}

// reply ends a call. Without a way to the host there is nobody to tell, and serve ends too.
func (s *server) reply(id uint32, r wire.Reply) {
	if err := s.sendJSON(id, wire.Done, r); err != nil {
		fmt.Fprintln(os.Stderr, "rigvm:", err)
	}
}

func (s *server) sendJSON(id uint32, kind wire.Kind, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(b) > wire.MaxPayload {
		return fmt.Errorf("reply of %d bytes is too long", len(b))
	}
	return s.frame(id, kind, b)
}

func (s *server) frame(id uint32, kind wire.Kind, payload []byte) error {
	s.write.Lock()
	defer s.write.Unlock()
	s.out = wire.Append(s.out[:0], id, kind, payload)
	if _, err := s.port.Write(s.out); err != nil {
		return fmt.Errorf("write to the host: %w", err)
	}
	return nil
}
