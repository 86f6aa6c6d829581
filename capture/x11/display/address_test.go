package display

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestParse(t *testing.T) {
	for s, want := range map[string]Address{
		":9": {"", "9", 0}, ":9.1": {"", "9", 1}, "unix:9": {"", "9", 0}, "unix:9.0": {"", "9", 0},
		":65000": {"", "65000", 0},
		"host:0": {"host", "0", 0}, "[::1]:3.2": {"::1", "3", 2},
	} {
		if a, err := Parse(s); err != nil || a != want {
			t.Errorf("%q: %v, %v", s, a, err)
		}
	}
	for _, s := range []string{"", "9", ":", ":x", ":-1", ":9.", ":9.x", ":9.-1", ":70000", "host:65000", "host"} {
		if a, err := Parse(s); err == nil {
			t.Errorf("%q: %v", s, a)
		}
	}
}

// entry is one of an Xauthority file.
func entry(family uint16, fields ...string) []byte {
	b := binary.BigEndian.AppendUint16(nil, family)
	for _, f := range fields {
		b = binary.BigEndian.AppendUint16(b, uint16(len(f)))
		b = append(b, f...)
	}
	return b
}

func TestFindCookie(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	const magic = "MIT-MAGIC-COOKIE-1"
	var file []byte
	for _, e := range [][]byte{
		entry(256, "elsewhere", "9", magic, "wrong host"), entry(256, host, "8", magic, "wrong display"),
		entry(256, host, "9", "XDM-AUTHORIZATION-1", "wrong kind"),
		entry(256, host, "9", magic, "right"), entry(0, "\x0a\x01\x02\x03", "9", magic, "far"),
		entry(65535, "", "", magic, "for all"),
	} {
		file = append(file, e...)
	}
	for _, tc := range []struct {
		ip            net.IP
		display, want string
	}{{nil, "9", "right"}, {net.IPv4(127, 0, 0, 1), "9", "right"}, {net.IPv4(10, 1, 2, 3), "9", "far"},
		{net.IPv4(10, 1, 2, 4), "9", "for all"}, {nil, "7", "for all"}} {
		if _, data := findCookie(file, tc.ip, tc.display); string(data) != tc.want {
			t.Errorf("%v, display %s: %q, want %q", tc.ip, tc.display, data, tc.want)
		}
	}
	for n := range file { // cut anywhere
		findCookie(file[:n], nil, "9")
	}
}

// TestGreeting: the first write is replaced by the greeting with the cookie. Later writes pass
// unchanged.
func TestGreeting(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(path, entry(256, host, "9", "MIT-MAGIC-COOKIE-1", "secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, file, want string }{
		{"with a cookie", path,
			"l\x00\x0b\x00\x00\x00\x12\x00\x06\x00\x00\x00MIT-MAGIC-COOKIE-1\x00\x00secret\x00\x00"},
		{"without a file", filepath.Join(t.TempDir(), "none"), "l\x00\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("XAUTHORITY", tc.file)
			mine, theirs := net.Pipe()
			defer theirs.Close()
			wrote := make(chan error, 1)
			go func() {
				defer mine.Close()
				g := &greeter{Conn: mine, display: "9"}
				for _, s := range []string{"what a library says", "request"} {
					if n, err := g.Write([]byte(s)); err != nil || n != len(s) {
						wrote <- err
						return
					}
				}
				wrote <- nil
			}()
			got, err := io.ReadAll(theirs)
			if e := <-wrote; e != nil || err != nil {
				t.Fatal(e, err)
			}
			if string(got) != tc.want+"request" {
				t.Errorf("got %q", got)
			}
		})
	}
}
