package session

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input/adb/adbtest"
	"github.com/eideticker/eideticker/deploy/built"
	"github.com/eideticker/eideticker/netsim/link"
)

const (
	feeding = "eth3" // the box's interface
	fed     = "eth0" // the device's
)

// tablet is a device at the other end of a cable. It asks for an address when the cable is plugged
// in. Intents start its browser, and its screen is recorded.
type tablet struct {
	t       *testing.T
	network *link.Namespace
	server  *adbtest.Server
	display *device.Display
	script  string // of the DHCP client
	asks    bool   // for addresses

	mu      sync.Mutex
	browser *device.Browser
	began   exec.Cmd // the browser
	handing sync.WaitGroup
}

// newTablet returns a device behind an interface of the test's network, and its entry in a devices
// file.
func newTablet(t *testing.T, asks bool) (*tablet, Device) {
	t.Helper()
	p := &tablet{t: t, asks: asks, script: filepath.Join(t.TempDir(), "dhcp")}
	var err error
	if p.network, err = link.NewNamespace("127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.network.Close() })
	if err := p.wire(); err != nil {
		t.Fatal(err)
	}
	p.attend()
	if p.display, err = device.StartDisplay(t.Context(), device.DisplayOptions{Width: 640, Height: 360}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.end(), p.display.Close()); err != nil {
			t.Error(err)
		}
	})
	shells := []adbtest.Command{
		{Name: "dumpsys battery", Run: adbtest.Say(said(t, "battery"))},
		{Name: "am start", Run: p.view},
		{Name: "am force-stop", Run: func(s *adbtest.Session) byte {
			if err := p.end(); err != nil {
				t.Error(err)
			}
			return 0
		}},
	}
	p.server = adbtest.New(t, serial+"\tdevice\n",
		slices.Concat(shells, phoneSays(t), adbtest.NewPhone(nil).Shells("uinput"))...)
	_, port, err := net.SplitHostPort(p.server.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("ANDROID_ADB_SERVER_PORT", port)
	d, err := devices(t, fmt.Sprintf(
		"tablet: {source: \"x11:%s?fps=60&cursor=0\", input: \"adb:%s\", network: %s, browsers: [chrome]}\n",
		p.display.Name(), serial, feeding)).Find("tablet")
	if err != nil {
		t.Fatal(err)
	}
	return p, d
}

// wire lays the cable.
func (p *tablet) wire() error {
	there := -1
	err := p.network.Do(func() (err error) {
		there, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return err
	}
	defer unix.Close(there)
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: feeding, MTU: link.MTU}, PeerName: fed,
		PeerNamespace: netlink.NsFd(there)}); err != nil {
		return err
	}
	up := func(names ...string) error {
		for _, name := range names {
			l, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			if err := netlink.LinkSetUp(l); err != nil {
				return err
			}
		}
		return nil
	}
	l, err := netlink.LinkByName(feeding)
	if err != nil {
		return err
	}
	return errors.Join(
		netlink.AddrAdd(l, &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(192, 168, 77, 1).To4(),
			Mask: net.CIDRMask(24, 32)}}),
		netlink.LinkSetAlias(l, "to the tablet"),
		up("lo", feeding),
		p.network.Do(func() error { return up("lo", fed) }))
}

const dhcpScript = `#!/bin/sh
set -e
case "$1" in
deconfig) busybox ip -4 addr flush dev "$interface" ;;
bound)
	busybox ip addr add "$ip/$mask" dev "$interface"
	busybox ip route add default via "$router"
	for d in $dns; do echo "nameserver $d"; done >/etc/resolv.conf ;;
esac
`

// attend has a DHCP client ask for an address whenever the cable is plugged in, until the test
// ends.
func (p *tablet) attend() {
	built.Executable(p.t, p.script, dhcpScript)
	updates, stop := make(chan netlink.LinkUpdate, 16), make(chan struct{})
	if err := p.network.Do(func() error {
		return netlink.LinkSubscribeWithOptions(updates, stop, netlink.LinkSubscribeOptions{ListExisting: true})
	}); err != nil {
		p.t.Fatal(err)
	}
	var attending sync.WaitGroup
	attending.Go(func() {
		asked := func() {}
		for u := range updates {
			if u.Attrs().Name != fed {
				continue
			}
			asked() // a cable that is pulled and plugged in at once may be told of as one that is in
			if asked = func() {}; u.Attrs().RawFlags&unix.IFF_LOWER_UP != 0 {
				asked = p.ask()
			}
		}
		asked()
	})
	p.t.Cleanup(func() {
		close(stop)
		attending.Wait()
	})
}

// ask begins to ask for an address; what it returns ends that.
func (p *tablet) ask() (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.asks {
		return func() {}
	}
	cmd := exec.Command("busybox", "udhcpc", "-f", "-q", "-t", "100", "-T", "1", "-i", fed, "-s", p.script)
	if err := p.network.Start(cmd); err != nil {
		p.t.Errorf("ask for an address: %v", err)
		return func() {}
	}
	return func() {
		_ = cmd.Process.Kill() // it may have ended long ago
		_ = cmd.Wait()
	}
}

// view goes to the address of an intent: the first starts the browser, and those after it are
// handed over to it, as a desktop hands addresses over. It answers before the browser has a window,
// as devices do.
func (p *tablet) view(s *adbtest.Session) byte {
	m := intent.FindStringSubmatch(s.Line)
	if m == nil {
		return s.Say("Error: no address\n")
	}
	p.mu.Lock()
	go func() {
		defer p.mu.Unlock() // the test's end waits for this
		if err := p.show(m[1]); err != nil {
			p.t.Errorf("show %s: %v", m[1], err)
		}
	}()
	return s.Say("Starting: Intent { act=android.intent.action.VIEW }\n")
}

func (p *tablet) show(address string) (err error) {
	if p.browser == nil {
		if err := p.routed(); err != nil {
			return err
		}
		p.browser, err = device.StartBrowser(p.t.Context(), device.BrowserOptions{Display: p.display, Name: "chromium",
			URL: address, Start: func(cmd *exec.Cmd) error {
				p.began = exec.Cmd{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir}
				return p.network.Start(cmd)
			}})
		return err
	}
	cmd := p.began
	cmd.Args = append(slices.Clone(cmd.Args[:len(cmd.Args)-1]), address)
	if err := p.network.Start(&cmd); err != nil {
		return err
	}
	p.handing.Go(func() { _ = cmd.Wait() }) // ends with the browser at the latest
	return nil
}

// routed waits until the device has an address from a router advertisement. Devices do so before
// they use a network.
func (p *tablet) routed() error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var all []netlink.Addr
		err := p.network.Do(func() error {
			l, err := netlink.LinkByName(fed)
			if err == nil {
				all, err = netlink.AddrList(l, netlink.FAMILY_V6)
			}
			return err
		})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(all, func(a netlink.Addr) bool {
			at, _ := netip.AddrFromSlice(a.IP)
			return a.Flags&unix.IFA_F_TENTATIVE == 0 && link.SegmentAddress6.Contains(at)
		}) {
			return nil
		}
	}
	return errors.New("no router has told the device of an address")
}

// end ends the browser.
func (p *tablet) end() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.browser == nil {
		return nil
	}
	err := p.browser.Close()
	p.handing.Wait()
	p.browser = nil
	return err
}
