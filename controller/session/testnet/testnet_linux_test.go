package testnet

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/built"
	"github.com/eideticker/eideticker/netsim/dns"
	"github.com/eideticker/eideticker/netsim/link"
)

// namespace makes one of the test's own, which is the machine or the device.
func namespace(t *testing.T) *link.Namespace {
	t.Helper()
	n, err := link.NewNamespace("127.0.0.1")
	if no := (*link.PrivilegeError)(nil); errors.As(err, &no) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

// run runs a program in a namespace.
func run(t *testing.T, n *link.Namespace, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := n.Start(cmd); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	return strings.TrimSpace(out.String()), err
}

func must(t *testing.T, n *link.Namespace, name string, args ...string) {
	t.Helper()
	if out, err := run(t, n, name, args...); err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
}

// cable joins two namespaces by a pair of virtual Ethernet interfaces: eth3 of the machine, eth0 of
// the device.
func cable(t *testing.T, box, device *link.Namespace) {
	t.Helper()
	inside := exec.Command("sleep", "1000")
	if err := device.Start(inside); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inside.Process.Kill(); _ = inside.Wait() }()
	must(t, box, "ip", "link", "add", "eth3", "type", "veth", "peer", "name", "eth0", "netns",
		strconv.Itoa(inside.Process.Pid))
	must(t, box, "ip", "link", "set", "eth3", "up")
	must(t, device, "ip", "link", "set", "eth0", "up")
}

const dhcpScript = `#!/bin/sh
set -e
[ "$1" = bound ] || exit 0
ip addr add "$ip/$mask" dev "$interface"
ip route add default via "$router"
for d in $dns; do echo "nameserver $d"; done >/etc/resolv.conf
`

// TestSegment: a device behind an interface gets an address and finds a page by its name over the
// link. Other names are refused. The machine gets its interface back.
func TestSegment(t *testing.T) {
	for _, program := range []string{"dnsmasq", "busybox", "curl", "ip"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") != "true" {
			t.Skip(err)
		}
	}
	if _, err := os.Stat("/etc/resolv.conf"); err != nil {
		t.Fatalf("a namespace has one of its own only where the machine has one: %v", err)
	}
	box, device := namespace(t), namespace(t)
	cable(t, box, device)
	const rtt = 80 * time.Millisecond
	var c link.Conditions
	c.SetRTT(rtt)
	var mu sync.Mutex
	var asked []dns.Query
	var n *Network
	err := box.Do(func() (err error) {
		n, err = Open(Options{Conditions: c, Seed: 1, Names: []string{"*.test"},
			Segment: &link.SegmentOptions{Interface: "eth3"}, Asked: func(q dns.Query) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, q)
			}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := n.Listen("80")
	if err != nil {
		t.Fatal(errors.Join(err, n.Close()))
	}
	server := &http.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "for "+r.Host) })}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	closed := sync.OnceFunc(func() {
		server.Close()
		serving.Wait()
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	defer closed()
	if out, err := run(t, box, "ip", "link", "show", "eth3"); err == nil {
		t.Errorf("the machine has the interface still: %s", out)
	}
	script := filepath.Join(t.TempDir(), "script")
	built.Executable(t, script, dhcpScript)
	must(t, device, "busybox", "udhcpc", "-f", "-q", "-n", "-t", "30", "-T", "1", "-i", "eth0", "-s", script)
	lease, err := n.Await(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if out, err := run(t, device, "curl", "-4", "-sS", "--max-time", "120", "http://page.test/"); err != nil ||
		out != "for page.test" {
		t.Errorf("the page is %q (%v)", out, err)
	}
	if took := time.Since(began); took < 3*rtt {
		t.Errorf("it came after %v: a name, a connection and a page take three round trips", took)
	}
	if out, err := run(t, device, "curl", "-4", "-sS", "--max-time", "120", "http://elsewhere.example/"); err == nil {
		t.Errorf("a page of elsewhere is %q", out)
	}
	mu.Lock()
	has := func(name string, result dns.Result) bool {
		return slices.ContainsFunc(asked, func(q dns.Query) bool {
			return q.Name == name && q.Result == result && strings.HasPrefix(q.Client, lease.Address.String()+":")
		})
	}
	if !has("page.test", dns.Answered) || !has("elsewhere.example", dns.Refused) {
		t.Errorf("device %s has asked for %+v", lease.Address, asked)
	}
	mu.Unlock()
	closed()
	if out, err := run(t, box, "ip", "link", "show", "eth3"); err != nil || !strings.Contains(out, ",UP") {
		t.Errorf("the interface is back as %q (%v)", out, err)
	}
}

// TestNoSegment: a refused interface leaves no network behind.
func TestNoSegment(t *testing.T) {
	box := namespace(t)
	err := box.Do(func() error {
		_, err := Open(Options{Names: []string{"*.test"}, Segment: &link.SegmentOptions{Interface: "eth3"}})
		return err
	})
	if err == nil || !strings.Contains(err.Error(),
		"make the test network: no interface eth3 on this machine") {
		t.Error(err)
	}
}
