package x11

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// socketDir is where X servers of this machine listen.
const socketDir = "/tmp/.X11-unix"

// patience is how long a server may take to answer when nothing is being captured: on
// connecting and on closing.
const patience = 2 * time.Second

// address is a display of this machine, taken apart.
type address struct {
	number string
	screen int
}

// parseDisplay reads ":9", ":9.0" or "unix:9.0"; an empty string means $DISPLAY.
func parseDisplay(s string) (address, error) {
	if s == "" {
		if s = os.Getenv("DISPLAY"); s == "" {
			return address{}, errors.New("no display is named and DISPLAY is not set; " + advice(":9"))
		}
	}
	host, rest, ok := strings.Cut(s, ":")
	number, screen, hasScreen := strings.Cut(rest, ".")
	_, err := strconv.ParseUint(number, 10, 16)
	a := address{number: number}
	if hasScreen && err == nil {
		a.screen, err = strconv.Atoi(screen)
	}
	switch {
	case !ok || err != nil || a.screen < 0:
		return address{}, fmt.Errorf("bad display %q: want :N, such as :9", s)
	case host != "" && host != "unix":
		return address{}, fmt.Errorf("display %q is reached over the network, and pictures are taken through shared memory: name a display of this machine as :N", s)
	}
	return a, nil
}

// advice says which displays there are and how to get one.
func advice(wanted string) string {
	start := fmt.Sprintf(`start one with "Xvfb %s -screen 0 1280x720x24"`, wanted)
	if names := localDisplays(); len(names) > 0 {
		return "use one that is there (" + strings.Join(names, " ") + "), or " + start
	}
	return start
}

// dial connects to the display's socket. Servers also listen on an abstract one, for those who
// cannot see the folder.
func (a address) dial() (net.Conn, error) {
	path := filepath.Join(socketDir, "X"+a.number)
	conn, err := net.DialTimeout("unix", path, patience)
	if err != nil {
		if abstract, err2 := net.DialTimeout("unix", "@"+path, patience); err2 == nil {
			return abstract, nil
		}
	}
	return conn, err
}

// listens reports whether a server may be there. To a server, someone who leaves before the greeting was no client.
func (a address) listens() bool {
	conn, err := a.dial()
	if err != nil {
		return !errors.Is(err, syscall.ECONNREFUSED)
	}
	conn.Close()
	return true
}

// connection is an X connection whose socket can be given a deadline.
type connection struct {
	*xgb.Conn
	net    net.Conn
	setup  *xproto.SetupInfo
	screen *xproto.ScreenInfo
}

func connect(a address) (*connection, error) {
	// The library's log has one destination for the whole process, standard error by default. What it has to say
	// reaches us as errors of the calls that failed.
	xgb.Logger.SetOutput(io.Discard)
	socket, err := a.dial()
	if err != nil {
		return nil, fmt.Errorf("no X server answers at display :%s (%w); %s", a.number, err, advice(":"+a.number))
	}
	socket.SetDeadline(time.Now().Add(patience))
	x, err := xgb.NewConnNet(&greeter{Conn: socket, greeting: greeting(a.number)})
	if err != nil {
		socket.Close()
		return nil, fmt.Errorf("the X server at display :%s does not let us in: %w", a.number, err)
	}
	socket.SetDeadline(time.Time{})
	c := &connection{Conn: x, net: socket, setup: xproto.Setup(x)}
	if a.screen >= len(c.setup.Roots) {
		c.close()
		return nil, fmt.Errorf("display :%s has %d screens, there is no screen %d", a.number, len(c.setup.Roots), a.screen)
	}
	c.screen = &c.setup.Roots[a.screen]
	return c, nil
}

// server names the server's program: who wrote it, and its release.
func (c *connection) server() string {
	return fmt.Sprintf("%s, release %d", c.setup.Vendor, c.setup.ReleaseNumber)
}

// close ends the connection and waits for the library's goroutines, but not for a server that hangs.
func (c *connection) close() {
	c.net.SetDeadline(time.Now().Add(patience))
	c.Conn.Close()
	for {
		if e, err := c.WaitForEvent(); e == nil && err == nil {
			return
		}
	}
}

// greeter replaces the first thing that the library writes, its greeting, by one with the right cookie: given a
// socket it doesn't know which display the socket belongs to.
type greeter struct {
	net.Conn
	greeting []byte
}

func (g *greeter) Write(p []byte) (int, error) {
	if g.greeting == nil {
		return g.Conn.Write(p)
	}
	b := g.greeting
	g.greeting = nil
	if _, err := g.Conn.Write(b); err != nil {
		return 0, err
	}
	return len(p), nil
}

// greeting is the connection setup of X11 (X Window System Protocol, section 8): least significant byte first,
// protocol 11.0, authorization.
func greeting(display string) []byte {
	name, data := cookie(display)
	b := []byte{'l', 0, 11, 0, 0, 0}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(name)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(data)))
	b = append(b, 0, 0)
	for _, s := range [][]byte{name, data} {
		b = append(b, s...)
		b = append(b, make([]byte, (4-len(s)%4)%4)...)
	}
	return b
}

// cookie finds the display's authorization in the Xauthority file (Xau.h), or none.
func cookie(display string) (name, data []byte) {
	path := os.Getenv("XAUTHORITY")
	if path == "" {
		path = filepath.Join(os.Getenv("HOME"), ".Xauthority")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil
	}
	return findCookie(b, display)
}

// findCookie reads entries of family, address, display, name and data.
func findCookie(b []byte, display string) (name, data []byte) {
	const familyLocal, familyWild = 256, 65535
	host, _ := os.Hostname()
	for len(b) >= 2 {
		family := binary.BigEndian.Uint16(b)
		b = b[2:]
		var fields [4][]byte
		for i := range fields {
			if len(b) < 2 || len(b)-2 < int(binary.BigEndian.Uint16(b)) {
				return nil, nil
			}
			n := 2 + int(binary.BigEndian.Uint16(b))
			fields[i], b = b[2:n], b[n:]
		}
		here := family == familyWild || family == familyLocal && string(fields[0]) == host
		if here && (len(fields[1]) == 0 || string(fields[1]) == display) && string(fields[2]) == "MIT-MAGIC-COOKIE-1" {
			return fields[2], fields[3]
		}
	}
	return nil, nil
}
