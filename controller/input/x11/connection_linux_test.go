package x11

import (
	"bufio"
	"encoding/binary"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/eideticker/eideticker/controller/input"
)

// TestEnvironment: no name is the name in DISPLAY.
func TestEnvironment(t *testing.T) {
	t.Setenv("DISPLAY", "")
	if _, err := Open(""); err == nil || !strings.Contains(err.Error(), "DISPLAY is not set") {
		t.Errorf("no display: %v", err)
	}
	display := startDisplay(t).Name()
	t.Setenv("DISPLAY", display)
	if i := openDriver(t, "").Info(); i.Driver != "x11" || i.Realism != input.System ||
		!strings.HasPrefix(i.Device, "display "+display+", 320x200, ") {
		t.Errorf("%+v", i)
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

// TestAuthority: a server with access control accepts us with its cookie, by its socket and over
// the network. Without the cookie it does not.
func TestAuthority(t *testing.T) {
	startDisplay(t) // there is a server to start
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/auth"
	if err := os.WriteFile(path, entry(256, host, "", "MIT-MAGIC-COOKIE-1", "0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "64x48x24", "-listen", "tcp", "-noreset", "-auth",
		path)
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // should the test crash
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	number, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	display := ":" + strings.TrimSpace(number)
	for _, name := range []string{display, display + ".0", "127.0.0.1" + display} {
		t.Setenv("XAUTHORITY", path)
		d := openDriver(t, name)
		do(t, d, input.Move{X: 3, Y: 4})
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		t.Setenv("XAUTHORITY", os.DevNull)
		if _, err := Open(name); err == nil || !strings.Contains(err.Error(), "does not let us in") {
			t.Errorf("%s without the cookie: %v", name, err)
		}
	}
	t.Setenv("XAUTHORITY", path)
	if _, err := Open(display + ".3"); err == nil || !strings.Contains(err.Error(), "no screen 3") {
		t.Errorf("a screen that there is not: %v", err)
	}
}
