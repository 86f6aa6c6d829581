package link

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/timeline"
)

// openPacket skips a test without the necessary privileges. Under CI it fails.
func openPacket(t testing.TB, c Conditions) *Packet {
	t.Helper()
	p, err := OpenPacket(c, 1)
	if no := (*PrivilegeError)(nil); errors.As(err, &no) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// echo answers every packet of UDP in the servers' namespace.
func echo(t testing.TB, p *Packet) {
	t.Helper()
	c, err := p.Server.ListenPacket("udp4", ":7")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		b := make([]byte, MTU)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			if _, err := c.WriteTo(b[:n], from); err != nil {
				return
			}
		}
	}()
}

// TestPacketRTT: a packet never arrives before its time. On a quiet machine, half of them are
// little later.
func TestPacketRTT(t *testing.T) {
	t.Parallel() // it waits
	for _, rtt := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond} {
		p := openPacket(t, Conditions{Down: Direction{Delay: rtt / 2}, Up: Direction{Delay: rtt / 2}})
		echo(t, p)
		c, err := p.Device.Dial(t.Context(), "udp4", "198.18.0.1:7")
		if err != nil {
			t.Fatal(err)
		}
		for try := 1; ; try++ {
			var took []time.Duration
			b := make([]byte, 64)
			for range 31 {
				began := time.Now()
				if _, err := c.Write(b); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Read(b); err != nil {
					t.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			least, median, most := took[0], took[len(took)/2], took[len(took)-1]
			t.Logf("%v asked: %v, median %v, %v", rtt, least, median, most)
			if late := median > 2*rtt; least < rtt || late && try == busyTries {
				t.Errorf("a round trip took %v to %v, median %v, want at least %v and not much more", least, most,
					median, rtt)
			} else if late {
				continue
			}
			break
		}
		c.Close()
	}
}

// TestPacketRate: TCP gets what the rate leaves after headers, by one connection or many, and no
// more.
func TestPacketRate(t *testing.T) {
	p := openPacket(t, Conditions{Down: Direction{Rate: 5 * Mbit, Delay: 10 * time.Millisecond},
		Up: Direction{Rate: 1 * Mbit, Delay: 10 * time.Millisecond}})
	l, err := p.Server.Listen("tcp4", ":80")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const size = 1 << 20
	go accepts(l, func(c net.Conn) { _, _ = c.Write(make([]byte, size)) })
	download := func() (rate float64) {
		began := time.Now()
		// whoever that is: all the world ends at the rig
		c, err := p.Device.Dial(t.Context(), "tcp4", "93.184.215.14:80")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if n, err := io.Copy(io.Discard, c); err != nil || n != size {
			t.Fatal(n, err)
		}
		return size * 8 / time.Since(began).Seconds()
	}
	ceiling := 5e6 * 1448 / 1500
	for try := 1; ; try++ {
		got := download()
		t.Logf("%.3f Mbit/s, of %.3f at most after headers", got/1e6, ceiling/1e6)
		if got > ceiling*1.001 || got < ceiling/2 && try == busyTries {
			t.Errorf("goodput of %.3f Mbit/s, want up to %.3f", got/1e6, ceiling/1e6)
		} else if got < ceiling/2 {
			continue
		}
		break
	}
	down, up := p.Counts()
	if down.Bytes < size || up.Packets == 0 {
		t.Errorf("%+v down, %+v up", down, up)
	}
}

// TestPacketPrograms: a program in the device's namespace has the link, no other way out, and only
// our names. It has the machine's files unchanged.
func TestPacketPrograms(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	if err := os.WriteFile(filepath.Join(tmp, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := openPacket(t, Conditions{})
	cmd := exec.Command("sh", "-c",
		"cat /etc/resolv.conf; echo in TMPDIR: $(ls $TMPDIR).; ls /sys/class/net 2>/dev/null; cat /proc/net/dev")
	var out strings.Builder
	cmd.Stdout = &out
	if err := p.Device.Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if !strings.Contains(text, "nameserver 198.18.0.1") || !strings.Contains(text, "link0:") ||
		!strings.Contains(text, "in TMPDIR: there.\n") || strings.Contains(text, "eth0:") {
		t.Errorf("a program in the namespace sees\n%s", text)
	}
	host, err := os.ReadFile("/etc/resolv.conf")
	if err == nil && strings.Contains(string(host), "198.18.0.1") {
		t.Error("the machine's own resolv.conf is changed")
	}
	if _, err := net.InterfaceByName(tunName); err == nil {
		t.Error("the machine's own network has the link's interface")
	}
}

// TestPacketEndsPrograms: a program started behind a link ends with it.
func TestPacketEndsPrograms(t *testing.T) {
	p := openPacket(t, Conditions{})
	cmd := exec.Command("sleep", "1000")
	if err := p.Device.Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Success() {
		t.Errorf("it ended with %v", err)
	}
	if err := p.Device.Start(exec.Command("true")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("another one: %v", err)
	}
}

// TestPacketProbe: a probe finds the configured values.
func TestPacketProbe(t *testing.T) {
	t.Parallel() // it waits
	for _, name := range []string{"none", "cable", "3g", "dsl"} {
		profile, _ := ProfileNamed(name)
		probed(t, profile, openPacket(t, profile.Conditions).Probe)
	}
}

// TestPacketPatience: late packets are not lost. Patience begins when all are sent.
func TestPacketPatience(t *testing.T) {
	p := openPacket(t, Conditions{})
	in, err := p.Device.probe(unix.SOCK_DGRAM, unix.IPPROTO_UDP, probePort)
	if err != nil {
		t.Fatal(err)
	}
	defer in.close()
	out, err := p.Server.probe(unix.SOCK_DGRAM, unix.IPPROTO_UDP, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.close()
	const patience = 10 * time.Millisecond
	sent := make(chan error, 1)
	time.AfterFunc(20*patience, func() { sent <- out.send([]byte{7}, DeviceAddress.Addr()) })
	got := 0
	enough := func([]byte, int64) bool { got++; return true }
	over := make(chan struct{})
	if err := in.receive(t.Context(), over, patience, enough); err != nil || got != 1 {
		t.Errorf("%d have come, and %v", got, err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	close(over)
	if err := in.receive(t.Context(), over, patience, enough); err != nil || got > 1 {
		t.Errorf("after all were sent %d came, and %v", got-1, err)
	}
}

// TestCarrierMemory: small packets on their way are counted with the memory that they take.
func TestCarrierMemory(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	clock := timeline.Monotonic()
	pipe, err := newPipe(Direction{Delay: time.Minute}, 1, streamDown, clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	c := &carrier{in: fds[0], out: -1, pipe: pipe, clock: clock, flows: newFlows(), beside: &bypass{}}
	c.bytes = maxOnWay - 2*cap(c.buffer()) + 1 // there is room for one
	for want := range uint64(2) {
		if _, err := unix.Write(fds[1], make([]byte, 20)); err != nil {
			t.Fatal(err)
		}
		if !c.take() || c.counts().LostInQueue != want || c.way.len() != 1 {
			t.Errorf("%+v, %d are on their way", c.counts(), c.way.len())
		}
	}
}

// TestNamespaceMounts: what the machine unmounts is gone in a namespace too, and what a namespace
// mounts is not the machine's.
func TestNamespaceMounts(t *testing.T) {
	dir := t.TempDir()
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // not given back: it is in other namespaces then
		result <- func() error {
			if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
				return refused("be a machine of its own", err)
			}
			// As systemd has it.
			if err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
				unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""),
				unix.Mount("disk", dir, "tmpfs", 0, "")); err != nil {
				return err
			}
			const own = "/proc/thread-self/ns/mnt"
			machine, err := unix.Open(own, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(machine)
			if err := enter("198.18.0.1"); err != nil {
				return err
			}
			namespace, err := unix.Open(own, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(namespace)
			if err := unix.Setns(machine, unix.CLONE_NEWNS); err != nil {
				return err
			}
			if names, err := os.ReadFile("/etc/resolv.conf"); err == nil &&
				strings.Contains(string(names), "198.18.0.1") {
				return errors.New("the machine's own resolv.conf is changed")
			}
			if err := errors.Join(unix.Unmount(dir, 0), unix.Setns(namespace, unix.CLONE_NEWNS)); err != nil {
				return err
			}
			if names, err := os.ReadFile("/etc/resolv.conf"); err == nil &&
				!strings.Contains(string(names), "198.18.0.1") {
				return errors.New("the namespace has the machine's resolv.conf")
			}
			mounts, err := os.ReadFile("/proc/thread-self/mounts")
			if err == nil && strings.Contains(string(mounts), dir) {
				return errors.New("what the machine has unmounted is still in the namespace")
			}
			return err
		}()
	}()
	err := <-result
	if no := (*PrivilegeError)(nil); errors.As(err, &no) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
