package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input/adb/adbtest"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/link"
)

// behindBox is the environment variable of a test in the network of its own box. A run takes an
// interface from the network of its program.
const behindBox = "SESSION_TEST_BEHIND"

// inBox runs the test again as a program in a network namespace, the box. The test takes the
// result of that program. Browses reports whether it starts a browser.
func inBox(t *testing.T, browses bool) bool {
	t.Helper()
	if os.Getenv(behindBox) == t.Name() {
		return true
	}
	t.Parallel()
	if browses {
		takeTurn(t)
	}
	for _, program := range []string{"dnsmasq", "busybox", "chromium", "Xvfb"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") != "true" {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat("/etc/resolv.conf"); err != nil {
		t.Fatalf("a namespace has one of its own only where the machine has one: %v", err)
	}
	box, err := link.NewNamespace("127.0.0.1")
	if no := (*link.PrivilegeError)(nil); errors.As(err, &no) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	// X displays are found by sockets in /tmp, and numbered by who else is in the same network: a
	// display of the box would take the socket of one of this machine.
	if err := box.Do(func() error {
		return unix.Mount("box", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,size=1g")
	}); err != nil {
		t.Fatal(err)
	}
	// its file may be in the machine's /tmp
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), behindBox+"="+t.Name(), "TMPDIR=/tmp")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := box.Start(cmd); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	t.Logf("in the box's network:\n%s", &out)
	if err != nil || !strings.Contains(out.String(), "--- PASS: "+t.Name()) {
		t.Errorf("in the box's network: %v", err)
	}
	return false
}

// interfaceNow is what the box's interface is, in words.
func interfaceNow(t *testing.T) string {
	t.Helper()
	l, err := netlink.LinkByName(feeding)
	if err != nil {
		return err.Error()
	}
	all, err := netlink.AddrList(l, netlink.FAMILY_V4)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("up %v, %s, %v", l.Attrs().Flags&net.FlagUp != 0, l.Attrs().Alias, all)
}

// TestRunBehindAnInterface: a device behind an interface gets an address. It finds names and page
// over the link. The recording shows the page as late as the link allows. With EIDETICKER_SOAK
// there is a second run.
func TestRunBehindAnInterface(t *testing.T) {
	if testing.Short() {
		t.Skip("browsers take long to start")
	}
	if !inBox(t, true) {
		return
	}
	_, d := newTablet(t, true)
	was := interfaceNow(t)
	// large enough that a busy machine does not distort it
	const rtt = 400 * time.Millisecond
	runs := 1
	if os.Getenv("EIDETICKER_SOAK") != "" {
		runs = 2
	}
	for i := range runs {
		o := options(t, d)
		o.Test = readTest(t,
			"name: far\npage: /load.html\nmeasures: [speedindex]\nt0: navigation\n"+
				"network: {rtt: 400ms, down: 4Mbit, up: 1Mbit}\n")
		o.MaxLost, o.Seed, o.NoPictures, o.NoVideo = 0.9, 5, i > 0, true
		record, _, err := counted(t, o)
		log, _ := os.ReadFile(filepath.Join(o.Dir, LogFile))
		if err != nil || record.State != Passed {
			t.Fatalf("%s: %s, %v\n%s", record.State, record.Reason, err, log)
		}
		if now := interfaceNow(t); now != was {
			t.Errorf("the interface is back as %q, and was %q", now, was)
		}
		theFarRun(t, o, string(log), rtt)
	}
}

// theFarRun holds a run's folder against what its line allows.
func theFarRun(t *testing.T, o Options, log string, rtt time.Duration) {
	t.Helper()
	dir := o.Dir
	raw, err := os.ReadFile(filepath.Join(dir, RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	var kept Record
	if err := json.Unmarshal(raw, &kept); err != nil {
		t.Fatal(err)
	}
	if n := kept.Network; n == nil || n.RTT.Asked != rtt || n.RTT.Got < rtt || n.Down.Asked != 4*link.Mbit ||
		n.Down.Got == 0 || n.Up.Got == 0 || n.Requests < 4 {
		t.Fatalf("run.json says of the network %+v", n)
	}
	if kept.Checks == 0 || len(kept.ChecksFailed) > 0 {
		t.Errorf("of %d checks %v failed", kept.Checks, kept.ChecksFailed)
	}
	file, err := result.Read(filepath.Join(dir, result.FileName))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(file.Windows[0].Results, func(r analyze.Result) bool { return r.Measure == "speedindex" })
	if i < 0 {
		t.Fatal("no speed index was measured")
	}
	first, ok := file.Windows[0].Results[i].Find("first_visual_change")
	if !ok || first.High < 3*rtt.Seconds()*1e3 {
		t.Errorf("the page is first seen after %v ms (%v to %v), which is less than three round trips", first.Value,
			first.Low, first.High)
	}
	t.Logf("first seen after %.0f ms; %+v", first.Value, *kept.Network)
	if !o.NoPictures {
		theWaterfall(t, "chromium", dir, &kept, file, rtt)
	}

	// The device made one address from the router's prefix, for the page. DHCP gave it the other one.
	f, err := os.Open(filepath.Join(dir, HARFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // was only read
	read, err := har.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	all := read.Log.Entries
	if len(all) != kept.Network.Requests {
		t.Fatalf("the HAR file has %d requests of %d", len(all), kept.Network.Requests)
	}
	if at := all[0].ServerIP; at != link.ServerAddress6.Addr().String() {
		t.Errorf("the page was asked for at %s", at)
	}
	asked := false
	for line := range strings.Lines(log) {
		if !strings.Contains(line, "msg=name ") || !strings.Contains(line, "name=page.test type=A result=answered") {
			continue
		}
		_, rest, _ := strings.Cut(line, "client=")
		client, err := netip.ParseAddrPort(strings.Trim(strings.Fields(rest)[0], `"`))
		if err != nil || !link.SegmentAddress.Contains(client.Addr()) {
			t.Errorf("a name was asked for by %v (%v)", client, err)
		}
		asked = true
	}
	if !asked || !strings.Contains(log, `msg="on the network" address=198.18.1.`) {
		t.Errorf("the log does not say that the device came onto the network and asked for the page's name:\n%s", log)
	}
}

// TestNobodyBehindTheInterface: a device that does not ask for an address fails its run with that
// reason. The box gets its interface back.
func TestNobodyBehindTheInterface(t *testing.T) {
	if !inBox(t, false) {
		return
	}
	p, d := newTablet(t, false)
	was := interfaceNow(t)
	o := options(t, d)
	o.Test, o.join = readTest(t,
		"name: far\npage: /load.html\nmeasures: [speedindex]\nt0: navigation\nnetwork: {rtt: 400ms}\n"),
		time.Millisecond
	record, _, err := counted(t, o)
	const want = "no device at eth3 has requested an address; is it on, and in this network? timeout after 1ms"
	if err != nil || record.State != Failed || record.Reason != want {
		t.Errorf("%s: %q, %v, want %q", record.State, record.Reason, err, want)
	}
	if now := interfaceNow(t); now != was {
		t.Errorf("the interface is back as %q, and was %q", now, was)
	}
	for _, c := range p.server.Commands() {
		if strings.Contains(c, "raw:am ") {
			t.Errorf("it was told %s", c)
		}
	}
}

// TestInterruptedBehindTheInterface: who stops a run that waits for its device has the interface
// back at once.
func TestInterruptedBehindTheInterface(t *testing.T) {
	if !inBox(t, false) {
		return
	}
	_, d := newTablet(t, false)
	was := interfaceNow(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var watching sync.WaitGroup
	watching.Go(func() {
		defer stop()
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if _, err := netlink.LinkByName(feeding); errors.As(err, new(netlink.LinkNotFoundError)) {
				return // it is taken
			}
		}
		t.Error("the interface is not taken")
	})
	o := options(t, d)
	o.Test = readTest(t, "name: far\npage: /load.html\nmeasures: [speedindex]\nt0: navigation\nnetwork: {rtt: 400ms}\n")
	record, _, err := Run(ctx, o)
	watching.Wait()
	if !errors.Is(err, context.Canceled) || record.State != Failed || record.Reason != "interrupted" {
		t.Errorf("%s: %q, %v", record.State, record.Reason, err)
	}
	if now := interfaceNow(t); now != was {
		t.Errorf("the interface is back as %q, and was %q", now, was)
	}
}

// TestADBBesideTheInterface: a device cannot have a network if adb reaches it by the interface of
// that network. With a cable or another route it can.
func TestADBBesideTheInterface(t *testing.T) {
	for serial, beside := range map[string]bool{
		"R58M123ABC": false, "usb:1-2": false, "emulator-5554": false, "192.0.2.1:5555": false,
		"[2001:db8::1]:5555": false,
		"127.0.0.1:5555":     true, "localhost:5555": true,
		"adb-R58M123ABC-abc123._adb-tls-connect._tcp": true, "adb-R58M123ABC-abc123._adb-tls-connect._tcp.": true,
		"adb-R58M123ABC._adb._tcp.local:5555": true,
	} {
		byFinger := device.Description{Name: "phone", Source: "v4l2:0",
			Input: device.Input{Kind: device.InputADB, Target: serial}, Network: "lo"}
		byKeys := device.Description{Name: "phone", Source: "v4l2:0",
			Input: device.Input{Kind: device.InputHID, Target: "/dev/hidg0"}, ADB: serial, Network: "lo"}
		byAgent := byKeys
		byAgent.Input = device.Input{Kind: device.InputAgent, Target: "192.0.2.2:7070"}
		for _, d := range []device.Description{byFinger, byKeys, byAgent} {
			err := controlledBeside(t.Context(), d)
			if strings.Contains(serial, "._tcp") { // nobody knows how that comes
				if err == nil || !errors.Is(err, errors.ErrUnsupported) ||
					!strings.Contains(err.Error(), "device phone: adb "+serial+" may use the interface") {
					t.Errorf("adb %q: %v", serial, err)
				}
				continue
			}
			if (err != nil) != beside || err != nil &&
				!strings.Contains(err.Error(), "device phone: its adb, "+serial+" is reached by the interface lo") {
				t.Errorf("adb %q: %v", serial, err)
			}
		}
	}
}

// TestTheOnlyADBBesideTheInterface: if adb knows one device only, its serial is read before the
// interface is taken.
func TestTheOnlyADBBesideTheInterface(t *testing.T) {
	const byHand = "192.0.2.1:5555"
	for attached, want := range map[string]string{
		serial + "\tdevice\n":                                   "",
		byHand + "\tdevice\n":                                   "",
		byHand + "\tdevice\n127.0.0.1:5555\toffline\n":          "",
		"127.0.0.1:5555\tdevice\n":                              "127.0.0.1:5555 is reached by the interface lo",
		"adb-R58M123ABC-abc123._adb-tls-connect._tcp\tdevice\n": "adb-tls-connect._tcp may use the interface",
		"":                          "device phone: adb: no usable device is attached; known: none",
		serial + "\tunauthorized\n": "allow debugging",
		serial + "\tdevice\n" + byHand + "\tdevice": "device phone: adb: several devices are attached: name one",
	} {
		_, port, err := net.SplitHostPort(adbtest.New(t, attached).Address())
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("ANDROID_ADB_SERVER_PORT", port)
		byKeys := device.Input{Kind: device.InputHID, Target: "/dev/hidg0"}
		for _, d := range []device.Description{{Input: device.Input{Kind: device.InputADB}},
			{Input: byKeys, ADB: "any"}} {
			d.Name, d.Source, d.Network = "phone", "v4l2:0", "lo"
			err := controlledBeside(t.Context(), d)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%q, %s, adb %q: %v, want %q", attached, d.Input, d.ADB, err, want)
			}
		}
	}
	nobody := device.Description{Name: "phone", Source: "v4l2:0",
		Input: device.Input{Kind: device.InputHID, Target: "/dev/hidg0"}, Network: "lo"}
	t.Setenv("ANDROID_ADB_SERVER_PORT", "1") // nobody is there, and nobody is asked
	if err := controlledBeside(t.Context(), nobody); err != nil {
		t.Errorf("without adb: %v", err)
	}
}
