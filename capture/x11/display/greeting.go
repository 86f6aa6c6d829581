package display

import (
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
)

// greeter replaces the first write by a greeting.
type greeter struct {
	net.Conn
	display string
	greeted bool
}

func (g *greeter) Write(p []byte) (int, error) {
	if g.greeted {
		return g.Conn.Write(p)
	}
	g.greeted = true
	var ip net.IP
	if tcp, ok := g.RemoteAddr().(*net.TCPAddr); ok {
		ip = tcp.IP
	}
	if _, err := g.Conn.Write(greeting(cookie(ip, g.display))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// greeting is the connection setup of X11 (X Window System Protocol, section 8): least significant
// byte first, protocol 11.0, authorization.
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

// cookie finds a display's authorization in the Xauthority file, or none: then the server decides
// by who we are. The address is nil for a server of this machine.
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

// findCookie reads the entries of an Xauthority file (Xau.h): family, address and display; name and
// data of the cookie.
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
