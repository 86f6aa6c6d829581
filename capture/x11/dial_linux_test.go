package x11

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/capture/x11/display"
)

func TestRefuses(t *testing.T) {
	server := startServer(t, "320x200x24")
	shallow := startServer(t, "320x200x16")
	for _, tc := range []struct {
		name, display, params string
		want                  []string
	}{
		{"unknown parameter", server.display, "area=1", []string{`"area"`, "region cursor fps"}},
		{"bad region", server.display, "region=9", []string{"WxH+X+Y"}},
		{"region outside", server.display, "region=320x200+1+0", []string{"320x200+1+0", "which is 320x200"}},
		{"bad cursor", server.display, "cursor=no", []string{`"no"`, "0 or 1"}},
		{"bad fps", server.display, "fps=-1", []string{`frame rate "-1"`}},
		{"no such display", ":64999", "", []string{"no X server answers at display :64999", `"Xvfb :64999`,
			server.display}},
		{"no number", "nine", "", []string{`"nine"`, ":N"}},
		{"another machine", "example.org:0", "", []string{"example.org:0", "network"}},
		{"no such screen", server.display + ".3", "", []string{"1 screens", "screen 3"}},
		{"16 bits", shallow.display, "", []string{"depth 16", "0xf800", "depth 24"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := Open(tc.display, query(t, tc.params))
			if s != nil {
				t.Error("got a source")
			}
			for _, want := range append(tc.want, "x11:"+tc.display) {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("error %v, want %q", err, want)
				}
			}
		})
	}
	t.Setenv("DISPLAY", "")
	if _, err := Open("", nil); err == nil || !strings.Contains(err.Error(), "DISPLAY is not set") {
		t.Errorf("no display: %v", err)
	}
	t.Setenv("DISPLAY", server.display)
	s, err := Open("", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := s.Run(t.Context(), nil, nil); err == nil {
		t.Error("a closed source runs")
	}
}

func TestDisplays(t *testing.T) {
	server := startServer(t, "320x200x24")
	for _, d := range Displays() {
		if d.Name == server.display {
			if !strings.Contains(d.Server, ", release ") {
				t.Errorf("the server is %q", d.Server)
			}
			d.Server = ""
			if d != (Display{Name: server.display, Width: 320, Height: 200, Depth: 24}) {
				t.Errorf("%+v", d)
			}
			return
		}
	}
	t.Errorf("%s is not listed", server.display)
}

// A server that was killed leaves its socket behind. It is neither listed nor recommended.
func TestDeadDisplays(t *testing.T) {
	server := startServer(t, "320x200x24")
	server.cmd.Process.Kill()
	server.cmd.Wait()
	number := strings.TrimPrefix(server.display, ":")
	t.Cleanup(func() { // as the next server of that number would
		os.Remove(display.SocketDir + "/X" + number)
		os.Remove("/tmp/.X" + number + "-lock")
	})
	if _, err := os.Stat(display.SocketDir + "/X" + number); err != nil {
		t.Fatalf("the test is not about anything: %v", err)
	}
	if slices.Contains(localDisplays(), server.display) {
		t.Errorf("%s is listed", server.display)
	}
}

// An X server with access control lets us in by the cookie of its display.
func TestAuthority(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	const magic, secret = "MIT-MAGIC-COOKIE-1", "0123456789abcdef"
	b := []byte{1, 0, 0, byte(len(host))}
	b = append(b, host...)
	b = append(b, 0, 0, 0, byte(len(magic)))
	b = append(b, magic...)
	b = append(b, 0, byte(len(secret)))
	b = append(b, secret...)
	path := t.TempDir() + "/auth"
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	server := startServer(t, "64x48x24", "-auth", path)
	t.Setenv("XAUTHORITY", path)
	server.open(t, "")
	t.Setenv("XAUTHORITY", "/dev/null")
	if _, err := Open(server.display, nil); err == nil || !strings.Contains(err.Error(), "refuses the connection") {
		t.Errorf("without the cookie: %v", err)
	}
}
