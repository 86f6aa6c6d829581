package x11

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// address is a display's name, taken apart.
type address struct {
	host   string // empty for this machine
	number string
	screen int
}

// parseDisplay reads ":9", ":9.0", "unix:9" or "host:9".
func parseDisplay(s string) (address, error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return address{}, fmt.Errorf("bad display %.80q: want :N, such as :9", s)
	}
	number, screen, hasScreen := strings.Cut(s[i+1:], ".")
	a := address{host: strings.Trim(s[:i], "[]"), number: number}
	n, err := strconv.ParseUint(number, 10, 16)
	if hasScreen && err == nil {
		a.screen, err = strconv.Atoi(screen)
	}
	if err != nil || a.screen < 0 || n > 65535-basePort {
		return address{}, fmt.Errorf("bad display %.80q: want :N, such as :9", s)
	}
	if a.host == "unix" {
		a.host = ""
	}
	return a, nil
}

// basePort is the port of display 0.
const basePort = 6000

// dial connects to the display, and has the greeting with the right cookie ready: given a socket, the library does not know which display it belongs to.
func (a address) dial() (*wire, error) {
	network, where := "unix", "/tmp/.X11-unix/X"+a.number
	if a.host != "" {
		n, _ := strconv.Atoi(a.number)
		network, where = "tcp", net.JoinHostPort(a.host, strconv.Itoa(basePort+n))
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
	var ip net.IP
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		ip = tcp.IP
	}
	name, data := cookie(ip, a.number)
	return &wire{Conn: conn, greeting: greeting(name, data)}, nil
}

// greeting is the connection setup of X11 (X Window System Protocol, section 8): least significant byte first, protocol 11.0, authorization.
func greeting(name, data []byte) []byte {
	b := []byte{'l', 0, 11, 0, 0, 0}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(name)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(data)))
	b = append(b, 0, 0)
	for _, s := range [][]byte{name, data} {
		b = append(b, s...)
		b = append(b, make([]byte, -len(s)&3)...)
	}
	return b
}

// cookie finds a display's authorization in the Xauthority file, or none: then the server decides by who we are.
func cookie(ip net.IP, display string) (name, data []byte) {
	path := os.Getenv("XAUTHORITY")
	if path == "" {
		path = filepath.Join(os.Getenv("HOME"), ".Xauthority")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil
	}
	return findCookie(b, ip, display)
}

// findCookie reads the entries of an Xauthority file (Xau.h): family, address, display, name, data.
func findCookie(b []byte, ip net.IP, display string) (name, data []byte) {
	const magic = "MIT-MAGIC-COOKIE-1"
	const internet, internet6, local, wild = 0, 6, 256, 65535
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
		here := false
		switch family {
		case wild:
			here = true
		case local:
			here = string(fields[0]) == host && (ip == nil || ip.IsLoopback())
		case internet, internet6:
			here = ip != nil && ip.Equal(net.IP(fields[0]))
		}
		if here && (len(fields[1]) == 0 || string(fields[1]) == display) && string(fields[2]) == magic {
			return fields[2], fields[3]
		}
	}
	return nil, nil
}
