// Package display finds X displays: it parses a display's name, and finds its server's address and
// cookie. The X library can find them too. But it keeps its sockets to itself, and only a socket's
// deadline ends the wait for a server that hangs.
package display

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// SocketDir is where X servers of this machine listen.
const SocketDir = "/tmp/.X11-unix"

// basePort is the port of display 0 where servers listen to the network.
const basePort = 6000

// Address is a display's name, taken apart.
type Address struct {
	Host   string // empty for this machine
	Number string
	Screen int
}

// Parse reads ":9", ":9.0", "unix:9" or "host:9".
func Parse(s string) (Address, error) {
	bad := fmt.Errorf("bad display %.80q: want :N, such as :9", s)
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return Address{}, bad
	}
	number, screen, hasScreen := strings.Cut(s[i+1:], ".")
	a := Address{Host: strings.Trim(s[:i], "[]"), Number: number}
	if a.Host == "unix" {
		a.Host = ""
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if hasScreen && err == nil {
		a.Screen, err = strconv.Atoi(screen)
	}
	if err != nil || a.Screen < 0 || a.Host != "" && n > 65535-basePort {
		return Address{}, bad
	}
	return a, nil
}

// Dial connects to the display's server, waiting at most patience. The connection is for
// xgb.NewConnNet. Given a socket, the library does not know the display, so its greeting lacks the
// cookie. The connection replaces that greeting by one with the right cookie.
func (a Address) Dial(patience time.Duration) (net.Conn, error) {
	network, where := "unix", filepath.Join(SocketDir, "X"+a.Number)
	if a.Host != "" {
		n, err := strconv.Atoi(a.Number)
		if err != nil {
			return nil, err
		}
		network, where = "tcp", net.JoinHostPort(a.Host, strconv.Itoa(basePort+n))
	}
	conn, err := net.DialTimeout(network, where, patience)
	if err != nil && network == "unix" {
		// Servers also listen on an abstract socket, for those who cannot see the folder.
		if abstract, e := net.DialTimeout(network, "@"+where, patience); e == nil {
			conn, err = abstract, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return &greeter{Conn: conn, display: a.Number}, nil
}
