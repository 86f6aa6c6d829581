package session

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input/adb"
)

func devices(t *testing.T, text string) *Devices {
	t.Helper()
	file := filepath.Join(t.TempDir(), "devices.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := FindDevices(file)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDevicesByName(t *testing.T) {
	all := devices(t, `
phone: {source: "v4l2:/dev/video0", input: "hid:/dev/hidg3", adb: any, browsers: [chrome]}
virtual: {source: x11, input: x11, browsers: [firefox]}
`)
	for name, host := range map[string]string{"phone": loopback, "virtual": loopback, "local": loopback} {
		d, err := all.Find(name)
		if err != nil || d.Name() != name {
			t.Fatalf("%s: %v, %v", name, d, err)
		}
		if got, err := pagesHost(d); err != nil || got != host {
			t.Errorf("%s finds pages at %q, %v", name, got, err)
		}
	}
	var unknown *device.UnknownError
	if _, err := all.Find("tv"); !errors.As(err, &unknown) ||
		!strings.HasSuffix(err.Error(), "there are phone, virtual, local") {
		t.Errorf("error %v", err)
	}
	for _, name := range []string{"phone", "virtual"} {
		d, err := all.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Open(t.Context(), Wanted{Browser: "lynx"}); err == nil ||
			!strings.Contains(err.Error(), "device "+name+` has no browser "lynx"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	bad := filepath.Join(t.TempDir(), "devices.yaml")
	if err := os.WriteFile(bad, []byte("phone: {source: \"vl42:/dev/video0\", input: none}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := FindDevices(bad); err == nil ||
		err.Error() != bad+`:1:17: unknown source "vl42"; did you mean v4l2?` {
		t.Errorf("error %v", err)
	}
}

func TestPagesAreServedWhereTheDeviceIs(t *testing.T) {
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	tried := false
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 {
			continue
		}
		d := described{device.Description{Name: "phone", Network: i.Name}}
		host, err := pagesHost(d)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			t.Errorf("%s: %q, %v", i.Name, host, err)
		}
		tried = true
	}
	if !tried {
		t.Fatal("this machine has no loopback")
	}
	if _, err := pagesHost(described{device.Description{Name: "phone", Network: "nothere0"}}); err == nil ||
		!strings.Contains(err.Error(), "device phone: network nothere0") {
		t.Errorf("error %v", err)
	}
	for want, addrs := range map[string][]string{
		"10.0.0.1": {"fe80::1/64", "2001:db8::1/64", "10.0.0.1/24"}, "2001:db8::1": {"fe80::1/64", "2001:db8::1/64"},
		"": {"fe80::1/64", "169.254.3.4/16"},
	} {
		var list []net.Addr
		for _, a := range addrs {
			ip, n, err := net.ParseCIDR(a)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, &net.IPNet{IP: ip, Mask: n.Mask})
		}
		if got, ok := reachable(list); got != want || ok != (want != "") {
			t.Errorf("of %q: %q, %v", addrs, got, ok)
		}
	}
}

// TestNamesAreNoLabels: where nothing starts browsers, none is asked for by name, since the same
// one would run under every name.
func TestNamesAreNoLabels(t *testing.T) {
	d, err := devices(t, "phone: {source: \"v4l2:/dev/video0\", input: \"hid:/dev/hidg-none\", network: lo}\n").Find(
		"phone")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(t.Context(), Wanted{Browser: "chrome"}); err == nil ||
		!strings.Contains(err.Error(),
			`device phone starts no browser "chrome": addresses are typed into the one that runs`) {
		t.Errorf("chrome: %v", err)
	}
	for _, running := range []string{"", device.Running} { // gets as far as its input, which is not there
		if _, err := d.Open(t.Context(), Wanted{Browser: running}); err == nil ||
			!strings.Contains(err.Error(), "/dev/hidg-none") {
			t.Errorf("%q: %v", running, err)
		}
	}
}

// TestDeviceThatDoesNotAnswer: nothing is left of one whose input is not there, and the error says
// which it is.
func TestDeviceThatDoesNotAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // so that nobody listens there
	t.Setenv("ANDROID_ADB_SERVER_PORT", port)
	all := devices(t, `
adb: {source: "v4l2:/dev/video0", input: adb, browsers: [chrome]}
hid: {source: "v4l2:/dev/video0", input: "hid:/dev/hidg-none", network: lo}
windows: {source: "v4l2:/dev/video0", input: "windows:127.0.0.1:1", network: lo}
desk: {source: "x11::54321", input: "x11::54321"}
`)
	for name, want := range map[string]string{"adb": "adb start-server", "hid": "/dev/hidg-none", "windows": "",
		"desk": ":54321"} {
		d, err := all.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := d.Open(t.Context(), Wanted{})
		if err == nil || !strings.HasPrefix(err.Error(), "device "+name+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

// TestDeviceThatIsSilent: a server that takes what it is asked and says nothing ends the run.
//
// Fault: A device, its agent or its adb server stops answering
func TestDeviceThatIsSilent(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts for it
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	s := &describedStage{
		ctx: t.Context(), device: device.Description{Name: "phone", Input: device.Input{Kind: device.InputADB}},
		server: adb.Server{Address: silent.Addr().String(), Patience: 50 * time.Millisecond},
	}
	if err := s.open(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "the adb server at "+s.server.Address+" did not answer within 50ms") {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestRunningOnADisplay: a running browser cannot be started, also on a display of this machine.
func TestRunningOnADisplay(t *testing.T) {
	s := &describedStage{ctx: t.Context(), name: device.Running,
		device: device.Description{Name: "desk", Input: device.Input{Kind: device.InputX11, Target: ":54321"}}}
	if _, err := s.Launch(t.Context(), "http://a.example/"); err == nil ||
		!strings.Contains(err.Error(), "nor an input to type with") {
		t.Error(err)
	}
}
