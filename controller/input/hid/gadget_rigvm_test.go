//go:build linux && rigvm

package hid

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/evdev"
	"github.com/eideticker/eideticker/controller/input/internal/hosttest"
)

// TestUnplugged: a cable that is pulled in the middle of a touch. The device is gone, and when it
// is back nothing is held.
func TestUnplugged(t *testing.T) {
	d := plugIn(t, options())
	host := hosts(t, 3)
	hosttest.Do(t, d, input.TouchDown{Finger: 0, X: 10, Y: 10}, input.TouchDown{Finger: 7, X: 20, Y: 20},
		input.KeyDown{Key: "a"}, input.ButtonDown{Button: input.Left})
	host[0].Next()
	host[1].Next()
	host[2].Next()
	if host[2].Fingers() != 2 || len(host[0].Keys) != 1 || len(host[1].Keys) != 1 {
		t.Fatalf("the host has %v, %v, %d fingers", host[0].Keys, host[1].Keys, host[2].Fingers())
	}
	pull(t)
	for n := range 3 {
		_, err := d.Do(t.Context(), 0, input.TouchMove{Finger: 0, X: 30, Y: float64(n)})
		if !errors.Is(err, input.ErrGone) {
			t.Errorf("move %d of an unplugged device: %v", n, err)
		} else if n == 0 {
			t.Log(err)
		}
	}
	if err := d.Release(t.Context()); err != nil {
		t.Errorf("release of an unplugged device: %v", err)
	}
	until(t, "the host has lost the device", func() bool { return hostNode(2) == "" })

	put(t)
	if err := d.port.await(t.Context(), time.Minute, d.present); err != nil {
		t.Fatal(err)
	}
	host = hosts(t, 3)
	if _, err := d.Do(t.Context(), 0, input.TouchMove{Finger: 7, X: 1, Y: 1}); err == nil ||
		!strings.Contains(err.Error(), "is not down") {
		t.Errorf("a finger that was down when it was pulled: %v", err)
	}
	hosttest.Do(t, d, input.TouchDown{Finger: 1, X: 500, Y: 250}, input.KeyDown{Key: "b"})
	// before them, the host gets reports that lift everything
	for len(host[0].Keys) == 0 || host[2].Fingers() == 0 {
		if len(host[0].Keys) == 0 {
			host[0].Next()
		} else {
			host[2].Next()
		}
	}
	b, _ := input.Key("KeyB").Codes()
	if host[2].Fingers() != 1 || len(host[0].Keys) != 1 || !host[0].Keys[b.Evdev] {
		t.Errorf("back again, the host has %v and %d fingers", host[0].Keys, host[2].Fingers())
	}
}

// TestPulledAndPut: a cable that is back before the next report. Held keys are lifted.
func TestPulledAndPut(t *testing.T) {
	d := plugIn(t, only(func(o *driverOptions) { o.Touch = true }))
	host := hosts(t, 1)[0]
	hosttest.Do(t, d, input.TouchDown{Finger: 0, X: 10, Y: 10})
	host.Next()
	pull(t)
	until(t, "the host has lost the device", func() bool { return hostNode(0) == "" })
	put(t)
	host = hosts(t, 1)[0]
	_, err := d.Do(t.Context(), 0, input.TouchMove{Finger: 0, X: 20, Y: 20})
	if !errors.Is(err, input.ErrGone) {
		t.Errorf("move: %v", err)
	}
	hosttest.Do(t, d, input.TouchDown{Finger: 3, X: 10, Y: 10})
	for host.Fingers() == 0 { // before it, the host gets a report that lifts everything
		host.Next()
	}
	if n := host.Fingers(); n != 1 {
		t.Errorf("%d fingers are down", n)
	}
}

// TestNobodyReads: a host that is there and does not ask, since no program has the mouse open.
func TestNobodyReads(t *testing.T) {
	d := plugIn(t, only(func(o *driverOptions) { o.Mouse = pointingRelative }))
	var node string
	until(t, "the host has the mouse", func() bool { node = hostNode(0); return node != "" })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var err error
	for range 3 { // a report or two may go: the host asks while it starts the device
		if _, err = d.Do(ctx, 0, input.ButtonDown{Button: input.Left}); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "nothing there reads") {
		t.Fatalf("a mouse that nobody reads: %v", err)
	}
	// As soon as somebody does, all is lifted, and it goes on.
	host := hosttest.Open(t, node)
	hosttest.Do(t, d, input.ButtonDown{Button: input.Middle})
	for !host.Keys[evdev.BtnMiddle] {
		host.Next()
	}
	if len(host.Keys) != 1 {
		t.Errorf("the host has %v", host.Keys)
	}
}

// TestFound: a gadget that is there is found by any of its nodes, and stays.
func TestFound(t *testing.T) {
	owner := plugIn(t, options())
	host := hosts(t, 3)
	for _, tc := range []struct {
		as   kind
		want int
	}{{"", 3}, {bootKeyboard, 1}} {
		o := options()
		o.Node, o.As = owner.nodes()[bootKeyboard], tc.as
		d, err := newDriver(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(d.Info().Device)
		if len(d.nodes()) != tc.want {
			t.Errorf("as %q: %v", tc.as, d.nodes())
		}
		hosttest.Do(t, d, input.KeyDown{Key: "q"})
		host[0].Next()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		for len(host[0].Keys) > 0 {
			host[0].Next()
		}
	}
	hosttest.Do(t, owner, input.KeyDown{Key: "w"})
	host[0].Next()
	for node, want := range map[string]string{"/dev/null": "say what it is", "/dev/hidg9": "no such file",
		"/tmp": "not a device node"} {
		o := options()
		o.Node = node
		if _, err := newDriver(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", node, err, want)
		}
	}
}

// TestTaken: one port takes one gadget. The second one gets an error and leaves nothing.
func TestTaken(t *testing.T) {
	plugIn(t, options())
	gadgets := func() int {
		all, err := filepath.Glob(configRoot + "/*")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	_, err := newDriver(t.Context(), options())
	if err == nil || !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), "is taken by gadget") ||
		gadgets() != 1 {
		t.Errorf("%v; %d gadgets", err, gadgets())
	}
	o := options()
	o.UDC = "nonsense"
	if _, err = newDriver(t.Context(), o); err == nil || !strings.Contains(err.Error(), "port nonsense not found") {
		t.Error(err)
	}
}

// holdEnv has this test set up a gadget, press a key, say so and wait for its end.
const holdEnv = "EIDETICKER_HID_HOLD"

// TestKilled: what a killed process leaves is taken down by the next one, and what it held is
// lifted.
func TestKilled(t *testing.T) {
	if os.Getenv(holdEnv) != "" {
		d, err := newDriver(t.Context(), options())
		if err != nil {
			t.Fatal(err)
		}
		hosttest.Do(t, d, input.KeyDown{Key: "a"})
		fmt.Println("held")
		<-t.Context().Done()
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), holdEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "held" {
		t.Log(lines.Text())
	}
	host := hosts(t, 1)[0]
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	left, err := filepath.Glob(configRoot + "/eideticker-*")
	if err != nil || len(left) != 1 {
		t.Fatalf("left: %v, %v", left, err)
	}
	d := plugIn(t, options())
	if d.gadget.dir == left[0] {
		t.Error("the new gadget has the old one's name")
	}
	for err == nil {
		_, err = host.Try()
	}
	if !errors.Is(err, os.ErrClosed) {
		t.Errorf("the old keyboard: %v", err)
	}
	host = hosts(t, 1)[0]
	hosttest.Do(t, d, input.KeyDown{Key: "b"})
	host.Next()
	if len(host.Keys) != 1 {
		t.Errorf("the host has %v", host.Keys)
	}
}

// TestCycles: setting up and taking down leaves nothing, neither here nor there, and a driver that
// is closed says so.
func TestCycles(t *testing.T) {
	before := files(t)
	for range 3 {
		d, err := newDriver(t.Context(), options())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.Do(t.Context(), 0, input.KeyDown{Key: "a"}); !errors.Is(err, os.ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
		nothingLeft(t)
	}
	if now := files(t); now != before {
		t.Errorf("%d files are open, were %d", now, before)
	}
}

// TestNoHost: nobody at the other end of the cable. The gadget itself lets go of it here
// (soft_connect of Documentation/ABI/stable/sysfs-class-udc), of which the port's state says
// nothing.
func TestNoHost(t *testing.T) {
	owner := plugIn(t, options())
	hosts(t, 3)
	if err := os.WriteFile(filepath.Join(udcClass, udc, "soft_connect"), []byte("disconnect"), 0o200); err != nil {
		t.Fatal(err)
	}
	for _, a := range []input.Action{input.KeyDown{Key: "a"}, input.TouchDown{}, input.Move{}} {
		if _, err := owner.Do(t.Context(), 0, a); !errors.Is(err, input.ErrGone) {
			t.Errorf("%v: %v", a, err)
		}
	}
	o := options()
	o.Node, o.Wait = owner.nodes()[touchScreen], 50*time.Millisecond
	_, err := newDriver(t.Context(), o)
	if !errors.Is(err, input.ErrGone) || !strings.Contains(err.Error(), "cable") {
		t.Error(err)
	}
	t.Log(err)
}

// nodes returns the nodes of the functions, by what they are.
func (d *driver) nodes() map[kind]string {
	all := map[kind]string{}
	for _, k := range d.kinds {
		all[k] = d.endpoints[k.part()].path
	}
	return all
}
