package link

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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

	"github.com/eideticker/eideticker/deploy/built"
)

// bench is a machine with an interface, and a device at the other end of the cable: namespaces, and
// a pair of virtual Ethernet interfaces.
type bench struct {
	t           testing.TB
	box, device *Namespace // box is nil where it is the machine itself
	side        string     // of the machine
	deviceSide  string
}

const (
	boxSide    = "eth3"
	deviceSide = "eth0"
)

// newBench skips a test if privileges or a program are missing. Under CI it fails.
func newBench(t testing.TB) *bench {
	t.Helper()
	for _, program := range []string{"dnsmasq", "busybox", "curl"} {
		if _, err := findProgram(program, "", program); err != nil && os.Getenv("CI") != "true" {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	b := &bench{t: t, side: boxSide, deviceSide: deviceSide}
	for _, n := range []**Namespace{&b.box, &b.device} {
		var err error
		*n, err = NewNamespace("127.0.0.1")
		if no := (*PrivilegeError)(nil); errors.As(err, &no) && os.Getenv("CI") != "true" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { (*n).Close() })
	}
	there := -1
	b.in(b.device, func() (err error) { there, err = openNetwork(); return err })
	defer unix.Close(there)
	b.in(b.box, func() error {
		if err := setUp("lo"); err != nil {
			return err
		}
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer h.Close()
		if err := h.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: boxSide, MTU: MTU}, PeerName: deviceSide,
			PeerNamespace: netlink.NsFd(there)}); err != nil {
			return err
		}
		l, err := h.LinkByName(boxSide)
		if err != nil {
			return err
		}
		return errors.Join(
			h.AddrAdd(l, ownAddress()),
			h.LinkSetAlias(l, "to the upper shelf; third from left"),
			h.LinkSetUp(l))
	})
	b.in(b.device, func() error {
		start := func(h *netlink.Handle, l netlink.Link) error { return h.LinkSetUp(l) }
		return errors.Join(onInterface("lo", start), onInterface(deviceSide, start))
	})
	return b
}

// ownAddress is that of the box on the device's network before there is a segment.
func ownAddress() *netlink.Addr {
	return &netlink.Addr{IPNet: netOf(netip.MustParsePrefix("192.168.77.1/24"))}
}

func (b *bench) in(n *Namespace, f func() error) {
	b.t.Helper()
	if err := b.do(n, f); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) do(n *Namespace, f func() error) error {
	if n == nil {
		return f()
	}
	return n.Do(f)
}

// open makes a link, and the machine's interface its device's side.
func (b *bench) open(c Conditions, o SegmentOptions) (*Packet, *Segment) {
	b.t.Helper()
	p := openPacket(b.t, c)
	s, err := b.try(p, o)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return p, s
}

func (b *bench) try(p *Packet, o SegmentOptions) (s *Segment, err error) {
	if o.Interface == "" {
		o.Interface = b.side
	}
	o.Log = func(line string) { b.t.Log(line) }
	err = b.do(b.box, func() (err error) { s, err = p.OpenSegment(b.t.Context(), o); return err })
	return s, err
}

// state is what the machine's interface is.
func (b *bench) state() (n note, index int) {
	b.t.Helper()
	b.in(b.box, func() error {
		return onInterface(b.side, func(h *netlink.Handle, l netlink.Link) (err error) {
			index = l.Attrs().Index
			n, err = remember(h, l)
			return err
		})
	})
	return n, index
}

// isBack reports an interface that is not as it was.
func (b *bench) isBack(was note) {
	b.t.Helper()
	if is, _ := b.state(); is.String() != was.String() {
		b.t.Errorf("the interface is back as %q, and was %q", is.String(), was.String())
	}
}

// dhcp lets a real client request an address and configure the device with the answer.
func (b *bench) dhcp() {
	b.t.Helper()
	if _, err := os.Stat("/etc/resolv.conf"); err != nil {
		b.t.Fatalf("a namespace has one of its own only where the machine has one: %v", err)
	}
	script := filepath.Join(b.t.TempDir(), "script")
	const text = `#!/bin/sh
set -e
[ "$1" = bound ] || exit 0
ip addr add "$ip/$mask" dev "$interface"
ip route add default via "$router"
for d in $dns; do echo "nameserver $d"; done >/etc/resolv.conf
[ "$mtu" = 1500 ]
`
	built.Executable(b.t, script, text)
	if out, err := b.run("busybox", "udhcpc", "-f", "-q", "-n", "-t", "30", "-T", "1", "-O", "mtu", "-i", b.deviceSide,
		"-s", script); err != nil {
		b.t.Fatalf("%v: %s", err, out)
	}
}

// run runs a program on the device.
func (b *bench) run(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := b.device.Start(cmd); err != nil {
		return "", err
	}
	err := cmd.Wait()
	return strings.TrimSpace(out.String()), err
}

// servesHTTP answers everybody in a namespace with a word.
func servesHTTP(t testing.TB, n *Namespace, word string) {
	t.Helper()
	l, err := n.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, word) })}
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() { server.Close(); wg.Wait() })
}

// TestSegment: a device that requests an address gets one, and a way to the servers as slow as the
// link. It reaches the test world, and not the machine. Afterwards the machine has its interface
// back unchanged.
func TestSegment(t *testing.T) {
	b := newBench(t)
	was, _ := b.state()
	servesHTTP(t, b.box, "the machine")
	const rtt = 60 * time.Millisecond
	var c Conditions
	c.SetRTT(rtt)
	p, s := b.open(c, SegmentOptions{})
	servesHTTP(t, p.Server, "the rig")
	b.dhcp()
	lease, err := s.Await(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := b.run("ip", "-4", "-o", "addr", "show", "dev", deviceSide)
	if err != nil || !strings.Contains(addresses, lease.Address.String()+"/24") {
		t.Errorf("%+v was given, and the device has %s (%v)", lease, addresses, err)
	}
	for _, host := range []string{"198.18.0.1", "93.184.215.14", "192.168.77.1", "10.0.0.1"} {
		began := time.Now()
		if out, err := b.run("curl", "-sS", "--max-time", "120", "http://"+host+"/"); err != nil || out != "the rig" {
			t.Errorf("at %s there is %q (%v)", host, out, err)
		}
		if took := time.Since(began); took < 2*rtt {
			t.Errorf("%s answered after %v, which is less than two round trips", host, took)
		}
	}
	b.await6()
	for _, host := range []string{"2001:2::1", "2001:db8::1234"} {
		if out, err := b.run("curl", "-sS", "--max-time", "120", "http://["+host+"]/"); err != nil || out != "the rig" {
			t.Errorf("at %s there is %q (%v)", host, out, err)
		}
	}
	interfaces := ""
	b.in(p.Device, func() error {
		all, err := net.Interfaces()
		for _, i := range all {
			interfaces += i.Name + " "
		}
		return err
	})
	if interfaces != "lo "+tunName+" "+boxSide+" " {
		t.Errorf("between device and line there are %s", interfaces)
	}
	got, err := p.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.RTT.Least < rtt {
		t.Errorf("a round trip took %v", got.RTT.Least)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if is, _ := b.state(); is.String() != was.String() || is.alias != "to the upper shelf; third from left" ||
		len(is.addresses) != 1 || !is.up {
		t.Errorf("the interface is back as %q, and was %q", is.String(), was.String())
	}
}

// await6 waits until the device has made itself an address of what routers say, and a way out.
func (b *bench) await6() {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		a, _ := b.run("ip", "-6", "-o", "addr", "show", "dev", deviceSide, "scope", "global", "-tentative")
		r, _ := b.run("ip", "-6", "route", "show", "default")
		if strings.Contains(a, "2001:2:0:1:") && strings.Contains(r, deviceSide) {
			return
		}
	}
	a, _ := b.run("sh", "-c",
		"ip -6 addr; ip -6 route; grep . /proc/sys/net/ipv6/conf/eth0/accept_ra* "+
			"/proc/sys/net/ipv6/conf/*/forwarding /proc/sys/net/ipv6/conf/eth0/autoconf; "+
			"cat /proc/net/snmp6 | grep -v '\\b0$'")
	b.t.Fatalf("no router has told the device of an address:\n%s", a)
}

// TestSegments: each device has a segment of its own, with the same addresses, and none finds the
// other.
func TestSegments(t *testing.T) {
	var benches [2]*bench
	for i := range benches {
		b := newBench(t)
		benches[i] = b
		p, s := b.open(Conditions{}, SegmentOptions{})
		servesHTTP(t, p.Server, fmt.Sprint("rig ", i))
		b.dhcp()
		if _, err := s.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i, b := range benches {
		if out, err := b.run("curl", "-sS", "--max-time", "120", "http://198.18.0.1/"); err != nil ||
			out != fmt.Sprint("rig ", i) {
			t.Errorf("device %d finds %q (%v)", i, out, err)
		}
	}
}

// TestSegmentsRefused: what this machine needs itself is not taken, and stays as it is.
func TestSegmentsRefused(t *testing.T) {
	b := newBench(t)
	was, _ := b.state()
	p := openPacket(t, Conditions{})
	ip := func(args ...string) {
		t.Helper()
		cmd := exec.Command("ip", args...)
		var out bytes.Buffer
		cmd.Stderr = &out
		if err := b.box.Start(cmd); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("ip %q: %v: %s", args, err, out.String())
		}
	}
	for _, tc := range []struct {
		name, want string
		o          SegmentOptions
		do, undo   []string
	}{
		{"no such", "no interface eth9 on this machine; known: eth3", SegmentOptions{Interface: "eth9"}, nil,
			nil},
		{"no name", `"eth 3" is not a name`, SegmentOptions{Interface: "eth 3"}, nil, nil},
		{"loopback", "it is the loopback", SegmentOptions{Interface: "lo"}, nil, nil},
		{"default route", "it is this machine's way to all other networks, and taking it would cut the machine off",
			SegmentOptions{}, []string{"route", "add", "default", "via", "192.168.77.254"},
			[]string{"route", "del", "default"}},
		{"another route", "it is this machine's way to 10.1.0.0/16", SegmentOptions{},
			[]string{"route", "add", "10.1.0.0/16", "via", "192.168.77.254"}, []string{"route", "del", "10.1.0.0/16"}},
		{"small packets", "packets of up to 1400 bytes only", SegmentOptions{},
			[]string{"link", "set", boxSide, "mtu", "1400"}, []string{"link", "set", boxSide, "mtu", "1500"}},
		{"below another", "eth3.7 of this machine is on top of it", SegmentOptions{},
			[]string{"link", "add", "link", boxSide, "name", "eth3.7", "type", "macvlan"},
			[]string{"link", "del", "eth3.7"}},
		{"of the kernel's own", "it is one of the kernel's own (tuntap)", SegmentOptions{Interface: "eth4"},
			[]string{"tuntap", "add", "eth4", "mode", "tap"}, []string{"link", "del", "eth4"}},
		{"no wireless one", "it is not a wireless interface",
			SegmentOptions{AccessPoint: &AccessPoint{SSID: "rig", Passphrase: "correct horse"}}, nil, nil},
		{"no passphrase", "has 8 to 63 letters", SegmentOptions{AccessPoint: &AccessPoint{SSID: "rig"}}, nil, nil},
	} {
		if tc.do != nil {
			ip(tc.do...)
		}
		s, err := b.try(p, tc.o)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
		if s != nil {
			t.Fatalf("%s: it is taken", tc.name)
		}
		if tc.undo != nil {
			ip(tc.undo...)
		}
		if is, _ := b.state(); is.String() != was.String() {
			t.Errorf("%s: the interface is %q, and was %q", tc.name, is.String(), was.String())
		}
	}
	if _, err := b.try(p, SegmentOptions{}); err != nil {
		t.Fatal(err)
	}
	busy := (*busyInterfaceError)(nil)
	if _, err := b.try(openPacket(t, Conditions{}), SegmentOptions{}); !errors.As(err, &busy) ||
		!strings.Contains(err.Error(), "each device needs an interface of its own") {
		t.Errorf("a second device on one interface: %v", err)
	}
}

// TestSegmentServantDies: the caller gets an error when the address server ends.
func TestSegmentServantDies(t *testing.T) {
	b := newBench(t)
	p := openPacket(t, Conditions{})
	s, err := b.try(p, SegmentOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errors.New("a millisecond was long enough"))
	defer cancel()
	if _, err := s.Await(ctx); err == nil ||
		!strings.Contains(err.Error(), "no device at eth3 has requested an address") ||
		!strings.Contains(err.Error(), "long enough") {
		t.Errorf("without a device: %v", err)
	}
	if err := s.serving[0].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Await(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "dnsmasq, which serves the device's network, ended (signal: killed)") {
		t.Errorf("without dnsmasq: %v", err)
	}
	if err := s.Close(); err == nil {
		t.Error("closed without a word of it")
	}
	if is, _ := b.state(); !is.up || len(is.addresses) != 1 {
		t.Errorf("the interface is %q", is.String())
	}
}

// TestSegmentMissing: a program that is not installed is asked for before anything is changed.
func TestSegmentMissing(t *testing.T) {
	_, err := findProgram("nothing-is-called-so", "which gives devices their addresses", "a-package")
	missing := (*missingError)(nil)
	if !errors.As(err, &missing) ||
		!strings.Contains(err.Error(), "apt-get install --no-install-recommends a-package") {
		t.Error(err)
	}
}

// TestRestore: the next user of an interface restores it after a killed program, but not while it
// is in use.
func TestRestore(t *testing.T) {
	b := newBench(t)
	was, _ := b.state()
	killed := func() { // what the kernel gives back: down, without addresses, with the note
		b.in(b.box, func() error {
			return onInterface(boxSide, func(h *netlink.Handle, l netlink.Link) error {
				return errors.Join(h.LinkSetAlias(l, was.String()), h.AddrDel(l, ownAddress()), h.LinkSetDown(l))
			})
		})
	}
	killed()
	b.in(b.box, func() error {
		l, err := lockInterface(boxSide)
		if err != nil {
			return err
		}
		return errors.Join(RestoreInterface(boxSide), l.Close())
	})
	if is, _ := b.state(); is.up || len(is.addresses) != 0 {
		t.Errorf("somebody else's interface is changed: %q", is.String())
	}
	b.in(b.box, func() error { return RestoreInterface(boxSide) })
	b.isBack(was)
	killed()
	_, s := b.open(Conditions{}, SegmentOptions{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if is, _ := b.state(); is.String() != was.String() {
		t.Errorf("after another segment the interface is %q, and was %q", is.String(), was.String())
	}
	b.in(b.box, func() error { return RestoreInterface("nosuch") })
}

func TestLeases(t *testing.T) {
	for line, want := range map[string]Lease{
		"dnsmasq-dhcp: DHCPACK(eth3) 198.18.1.57 02:11:22:33:44:55 phone": {netip.MustParseAddr("198.18.1.57"),
			"02:11:22:33:44:55", "phone"},
		"dnsmasq-dhcp[7]: DHCPACK(wlan0) 198.18.1.10 02:11:22:33:44:55 ": {netip.MustParseAddr("198.18.1.10"),
			"02:11:22:33:44:55", ""},
		"dnsmasq-dhcp: DHCPOFFER(eth3) 198.18.1.57 02:11:22:33:44:55": {},
		"dnsmasq-dhcp: DHCPACK(eth3) 8.8.8.8 02:11:22:33:44:55":       {},
		"dnsmasq-dhcp: DHCPACK(eth3) x 02:11:22:33:44:55":             {},
	} {
		if got, ok := parseLease(line); got != want || ok != (want != Lease{}) {
			t.Errorf("%s: %+v %v", line, got, ok)
		}
	}
}

func FuzzLease(f *testing.F) {
	f.Add("dnsmasq-dhcp: DHCPACK(eth3) 198.18.1.57 02:11:22:33:44:55 phone")
	f.Add("dnsmasq-dhcp: DHCPACK(eth3) 198.18.1.999 02:11:22:33:44:55 ")
	f.Fuzz(func(t *testing.T, line string) {
		if l, ok := parseLease(line); ok && (!SegmentAddress.Contains(l.Address) || len(l.MAC) != 17 ||
			len(l.Name) > 4*255) {
			t.Errorf("%+v", l)
		}
	})
}

func FuzzNote(f *testing.F) {
	f.Add("eideticker-segment: up 192.168.77.1/24 fd00::1/64;to the upper shelf; third")
	f.Add("eideticker-segment: down;")
	f.Add("eideticker-segment:;")
	f.Fuzz(func(t *testing.T, s string) {
		n, err := parseNote(s)
		if err != nil {
			return
		}
		again, err := parseNote(n.String())
		if len(n.String()) <= maxNote && (err != nil || again.up != n.up || again.alias != n.alias ||
			!slices.Equal(again.addresses, n.addresses)) {
			t.Errorf("%q is read as %+v, and that as %+v (%v)", s, n, again, err)
		}
	})
}
