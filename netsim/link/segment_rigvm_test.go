//go:build linux && rigvm

package link

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// holdEnv has this program hold a segment of an interface until it is killed.
const holdEnv = "LINK_TEST_HOLD"

func TestMain(m *testing.M) {
	if name := os.Getenv(holdEnv); name != "" {
		fmt.Fprintln(os.Stderr, hold(name))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func hold(name string) error {
	p, err := OpenPacket(Conditions{}, 1)
	if err != nil {
		return err
	}
	if _, err := p.OpenSegment(context.Background(), SegmentOptions{Interface: name}); err != nil {
		return err
	}
	fmt.Println("held")
	select {}
}

// newVMBench uses the VM as the machine. move moves the device's interface to its place.
func newVMBench(t *testing.T, side, deviceSide string, move func(l netlink.Link, to int) error) *bench {
	t.Helper()
	if err := os.WriteFile("/etc/resolv.conf", []byte("nameserver 127.0.0.1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, side: side, deviceSide: deviceSide}
	var err error
	if b.device, err = NewNamespace("127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.device.Close() })
	there := -1
	b.in(b.device, func() (err error) { there, err = openNetwork(); return err })
	defer unix.Close(there)
	l, err := netlink.LinkByName(deviceSide)
	if err != nil {
		t.Fatal(err)
	}
	if err := move(l, there); err != nil {
		t.Fatal(err)
	}
	return b
}

// fetch asks the servers for a page, at an address.
func (b *bench) fetch(host string) (string, error) {
	c, err := b.device.Dial(b.t.Context(), "tcp", net.JoinHostPort(host, "80"))
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return "", err
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

// TestSegmentCable: a network card returns to the machine when its user was killed. The next user
// restores its state.
func TestSegmentCable(t *testing.T) {
	b := newVMBench(t, "eth0", "eth1", func(l netlink.Link, to int) error { return netlink.LinkSetNsFd(l, to) })
	b.in(b.device, func() error {
		l, err := netlink.LinkByName("eth1") // asked by this thread
		if err != nil {
			return err
		}
		return netlink.LinkSetUp(l)
	})
	l, err := netlink.LinkByName("eth0")
	if err != nil {
		t.Fatal(err)
	}
	own := ownAddress()
	if err := errors.Join(netlink.AddrAdd(l, own), netlink.LinkSetUp(l)); err != nil {
		t.Fatal(err)
	}
	was, _ := b.state()

	holder := exec.Command("/proc/self/exe")
	holder.Env = append(os.Environ(), holdEnv+"=eth0")
	holder.Stderr = os.Stderr
	said, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "held\n" {
		t.Fatalf("the holder says %q (%v)", line, err)
	}
	b.dhcp()
	if _, err := netlink.LinkByName("eth0"); err == nil {
		t.Fatal("the machine has the interface still")
	}
	if err := b.tries(); !strings.Contains(fmt.Sprint(err), "each device needs an interface of its own") {
		t.Errorf("while another one has it: %v", err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // it was killed
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := netlink.LinkByName("eth0"); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the kernel does not give the interface back: %v", err)
		}
	}
	for _, comm := range programsRunning(t) {
		if comm == "dnsmasq" {
			t.Error("dnsmasq outlives who has started it")
		}
	}
	if is, _ := b.state(); is.up || len(is.addresses) != 0 || !noted(is.alias) {
		t.Errorf("the kernel gives back %q", is.String())
	}
	if err := RestoreInterface("eth0"); err != nil {
		t.Fatal(err)
	}
	if is, _ := b.state(); is.String() != was.String() {
		t.Errorf("the interface is %q, and was %q", is.String(), was.String())
	}

	b.run("busybox", "ip", "addr", "flush", "dev", "eth1")
	p, s := b.open(Conditions{}, SegmentOptions{})
	servesHTTP(t, p.Server, "the rig")
	b.dhcp()
	if out, err := b.fetch("93.184.215.14"); err != nil || out != "the rig" {
		t.Errorf("there is %q (%v)", out, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b.isBack(was)
}

// tries returns why a segment cannot be had.
func (b *bench) tries() error {
	p, err := OpenPacket(Conditions{}, 1)
	if err != nil {
		return err
	}
	s, err := b.try(p, SegmentOptions{})
	if err == nil {
		err = errors.Join(errors.New("it can be had"), s.Close())
	}
	return errors.Join(err, p.Close())
}

func programsRunning(t *testing.T) (names []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		if text, err := os.ReadFile(path); err == nil {
			names = append(names, strings.TrimSpace(string(text)))
		}
	}
	return names
}

// TestSegmentAccessPoint: a device without a cable finds the network by its name and joins with the
// passphrase. It has the link only. The radio returns to the machine afterwards.
func TestSegmentAccessPoint(t *testing.T) {
	b := newVMBench(t, "wlan0", "wlan1", func(l netlink.Link, to int) error {
		radio, err := radioOf(l.Attrs().Index)
		if err != nil || radio == nil {
			return fmt.Errorf("wlan1 is of radio %v: %w", radio, err)
		}
		return moveRadio(*radio, to)
	})
	if err := b.tries(); !strings.Contains(fmt.Sprint(err),
		"it is a wireless interface: say what its network is called") {
		t.Errorf("without a name: %v", err)
	}
	was, _ := b.state()
	ap := &AccessPoint{SSID: `the rig's "network" é`, Passphrase: `correct "horse" #battery`}
	p, s := b.open(Conditions{}, SegmentOptions{AccessPoint: ap})
	servesHTTP(t, p.Server, "the rig")
	network := filepath.Join(t.TempDir(), "network")
	if err := os.WriteFile(network, fmt.Appendf(nil, "network={\n\tssid=%x\n\tpsk=\"%s\"\n}\n", ap.SSID, ap.Passphrase),
		0o600); err != nil {
		t.Fatal(err)
	}
	// It keeps its user, and ends with the namespace.
	path, err := findProgram("wpa_supplicant", "", "")
	if err != nil {
		t.Fatal(err)
	}
	supplicant := exec.Command(path, "-i", "wlan1", "-D", "nl80211", "-c", network)
	out, err := supplicant.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.device.Start(supplicant); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = supplicant.Process.Kill(); _ = supplicant.Wait() })
	in, ended := make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Fprintln(os.Stderr, lines.Text())
			if strings.Contains(lines.Text(), "CTRL-EVENT-CONNECTED") {
				in <- true
			}
		}
	}()
	select {
	case <-in:
	case <-ended:
		t.Fatal("wpa_supplicant has ended")
	case <-time.After(2 * time.Minute):
		t.Fatal("the device does not get in")
	}
	b.dhcp()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := s.Await(ctx); err != nil {
		t.Error(err)
	}
	if out, err := b.fetch("93.184.215.14"); err != nil || out != "the rig" {
		t.Errorf("there is %q (%v)", out, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b.isBack(was)
}
