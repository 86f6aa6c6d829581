// Package adbtest replaces an adb server and an Android device in tests. The server speaks the real
// protocol: package adb's tests have bytes that a real one sent.
package adbtest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Kinds of a shell's packets, from shell_protocol.h.
const (
	stdin  = 0
	stdout = 1
	stderr = 2
	ended  = 3
)

// Server is an adb server with devices.
type Server struct {
	listener net.Listener
	attached string // as host:devices answers
	// shells are what a device does with commands; the first whose name begins the command is
	// taken.
	shells []Command

	mu       sync.Mutex
	open     map[net.Conn]bool
	heard    []string // commands
	reversed map[string]string
	wg       sync.WaitGroup
}

// Command is what a device does with a command.
type Command struct {
	Name string // the line begins with it
	Run  func(s *Session) (exit byte)
}

// Session is a shell command's side on the device.
type Session struct {
	Line string // the command with its arguments
	conn net.Conn
	r    *bufio.Reader
}

// Write sends raw bytes instead of a packet.
func (s *Session) Write(b []byte) { _, _ = s.conn.Write(b) } // the other side may have gone

// Packet sends what the command says: kind 1 is its output, 2 its error output.
func (s *Session) Packet(kind byte, data []byte) {
	b := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(data)))
	s.Write(append(b, data...))
}

// Say writes to the output, and ends well.
func (s *Session) Say(text string) byte {
	s.Packet(stdout, []byte(text))
	return 0
}

// Hear returns the command's input; false at its end.
func (s *Session) Hear() ([]byte, bool) {
	var head [5]byte
	if _, err := io.ReadFull(s.r, head[:]); err != nil {
		return nil, false
	}
	b := make([]byte, binary.LittleEndian.Uint32(head[1:]))
	_, err := io.ReadFull(s.r, b)
	return b, err == nil && head[0] == stdin
}

// Say is a command that says something.
func Say(text string) func(*Session) byte { return func(s *Session) byte { return s.Say(text) } }

// exit is a command that ends.
func exit(code byte) func(*Session) byte { return func(*Session) byte { return code } }

// cat gives back what it gets.
func cat(s *Session) byte {
	for {
		b, ok := s.Hear()
		if !ok {
			return 0
		}
		s.Packet(stdout, b)
	}
}

// New serves until the test ends. attached is as host:devices answers: "SERIAL\tdevice\n".
func New(t *testing.T, attached string, shells ...Command) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &Server{listener: l, attached: attached, shells: shells, open: map[net.Conn]bool{},
		reversed: map[string]string{}}
	f.wg.Go(f.serve)
	t.Cleanup(func() {
		_ = l.Close()
		f.Unplug()
		f.wg.Wait()
	})
	return f
}

// Address is where it listens.
func (f *Server) Address() string { return f.listener.Addr().String() }

func (f *Server) serve() {
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

// Unplug ends every connection, as a server does when the device goes.
func (f *Server) Unplug() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attached = ""
	clear(f.reversed) // they go with the device
	for c := range f.open {
		_ = c.Close()
	}
}

// Plug attaches devices again.
func (f *Server) Plug(attached string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attached = attached
}

// Reversed is where ports of the device lead: "tcp:8080" to "tcp:8080".
func (f *Server) Reversed() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.reversed)
}

// Commands are the requests that were heard.
func (f *Server) Commands() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.heard...)
}

func (f *Server) talk(c net.Conn) {
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
		case serial != "" && strings.HasPrefix(request, "reverse:"):
			fmt.Fprint(c, "OKAY") // the device's service is there
			if why := f.reverse(strings.TrimPrefix(request, "reverse:")); why != "" {
				fail(why)
			} else {
				fmt.Fprint(c, "OKAY") // and has done it
			}
			return
		default:
			fail("unknown host service")
			return
		}
	}
}

// reverse does as a device's service for ports does, and returns why it does not.
func (f *Server) reverse(request string) (why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if from, found := strings.CutPrefix(request, "killforward:"); found {
		if f.reversed[from] == "" {
			return "listener '" + from + "' not found"
		}
		delete(f.reversed, from)
		return ""
	}
	pair, found := strings.CutPrefix(request, "forward:norebind:")
	from, to, cut := strings.Cut(pair, ";")
	switch {
	case !found || !cut:
		return "unknown reverse service"
	case f.reversed[from] != "":
		return "cannot rebind existing socket"
	}
	f.reversed[from] = to
	return ""
}

func (f *Server) shell(c net.Conn, r *bufio.Reader, line string) {
	s := &Session{Line: line, conn: c, r: r}
	code := byte(127)
	for _, known := range f.shells {
		if strings.HasPrefix(line, known.Name) {
			code = known.Run(s)
			break
		}
	}
	if code == 127 {
		s.Packet(stderr, []byte("sh: "+line+": not found\n"))
	}
	s.Packet(ended, []byte{code})
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
