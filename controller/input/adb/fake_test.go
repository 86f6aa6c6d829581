package adb

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// fake is an adb server with devices. It speaks the real protocol, of which wire_test.go holds bytes that a real one sent.
type fake struct {
	t        *testing.T
	listener net.Listener
	attached string // as host:devices answers
	// shells are what a device does with commands; the first whose name begins the command is taken.
	shells []command

	mu    sync.Mutex
	open  map[net.Conn]bool
	heard []string // commands
	wg    sync.WaitGroup
}

type command struct {
	name string
	run  func(s *session) (exit byte)
}

// session is a shell command's side on the device.
type session struct {
	conn net.Conn
	r    *bufio.Reader
}

func (s *session) packet(kind byte, data []byte) {
	b := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(data)))
	_, _ = s.conn.Write(append(b, data...)) // the other side may have gone
}

func (s *session) say(text string) byte {
	s.packet(packetStdout, []byte(text))
	return 0
}

// hear returns what was given to the command; false at its end.
func (s *session) hear() ([]byte, bool) {
	var head [5]byte
	if _, err := io.ReadFull(s.r, head[:]); err != nil {
		return nil, false
	}
	b := make([]byte, binary.LittleEndian.Uint32(head[1:]))
	_, err := io.ReadFull(s.r, b)
	return b, err == nil && head[0] == packetStdin
}

func say(text string) func(*session) byte { return func(s *session) byte { return s.say(text) } }
func exit(code byte) func(*session) byte  { return func(*session) byte { return code } }

// cat gives back what it gets.
func cat(s *session) byte {
	for {
		b, ok := s.hear()
		if !ok {
			return 0
		}
		s.packet(packetStdout, b)
	}
}

func newFake(t *testing.T, attached string, shells ...command) *fake {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t, listener: l, attached: attached, shells: shells, open: map[net.Conn]bool{}}
	f.wg.Go(f.serve)
	t.Cleanup(func() {
		_ = l.Close()
		f.unplug()
		f.wg.Wait()
	})
	return f
}

func (f *fake) server() Server { return Server{f.listener.Addr().String()} }

func (f *fake) serve() {
	for {
		c, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.open[c] = true
		f.mu.Unlock()
		f.wg.Go(func() {
			f.talk(c)
			_ = c.Close()
			f.mu.Lock()
			delete(f.open, c)
			f.mu.Unlock()
		})
	}
}

// unplug ends every connection, as a server does when the device goes.
func (f *fake) unplug() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attached = ""
	for c := range f.open {
		_ = c.Close()
	}
}

func (f *fake) commands() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.heard...)
}

func (f *fake) talk(c net.Conn) {
	r := bufio.NewReader(c)
	serial := ""
	for {
		request, ok := readRequest(r)
		if !ok {
			return
		}
		f.mu.Lock()
		attached := f.attached
		f.heard = append(f.heard, request)
		f.mu.Unlock()
		fail := func(why string) { fmt.Fprintf(c, "FAIL%04x%s", len(why), why) }
		switch {
		case request == "host:devices":
			fmt.Fprintf(c, "OKAY%04x%s", len(attached), attached)
			return
		case strings.HasPrefix(request, "host:transport:"):
			serial = strings.TrimPrefix(request, "host:transport:")
			if !strings.Contains(attached, serial+"\t") {
				fail(fmt.Sprintf("device '%s' not found", serial))
				return
			}
			fmt.Fprint(c, "OKAY")
		case serial != "" && strings.HasPrefix(request, "shell,v2,raw:"):
			fmt.Fprint(c, "OKAY")
			f.shell(c, r, strings.TrimPrefix(request, "shell,v2,raw:"))
			return
		default:
			fail("unknown host service")
			return
		}
	}
}

func (f *fake) shell(c net.Conn, r *bufio.Reader, line string) {
	s := &session{c, r}
	code := byte(127)
	for _, known := range f.shells {
		if strings.HasPrefix(line, known.name) {
			code = known.run(s)
			break
		}
	}
	if code == 127 {
		s.packet(packetStderr, []byte("sh: "+line+": not found\n"))
	}
	s.packet(packetExit, []byte{code})
}

func readRequest(r *bufio.Reader) (string, bool) {
	var digits [4]byte
	if _, err := io.ReadFull(r, digits[:]); err != nil {
		return "", false
	}
	n, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil {
		return "", false
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r, b)
	return string(b), err == nil
}
