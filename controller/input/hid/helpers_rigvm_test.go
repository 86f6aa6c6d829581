//go:build linux && rigvm

package hid

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/input/internal/evdev"
	"github.com/eideticker/eideticker/controller/input/internal/hosttest"
)

// udc is the VM's port, see TestVM.
const udc = "dummy_udc.0"

// options are those of a small screen.
func options() driverOptions {
	o := defaults()
	o.Width, o.Height, o.Wait = 1000, 500, time.Minute
	return o
}

// plugIn sets up a gadget for as long as the test runs.
func plugIn(t *testing.T, o driverOptions) *driver {
	t.Helper()
	d, err := newDriver(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		nothingLeft(t)
	})
	return d
}

// nothingLeft checks that no gadget exists.
func nothingLeft(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{configRoot + "/*", "/dev/hidg*"} {
		if paths, err := filepath.Glob(pattern); err != nil || len(paths) > 0 {
			t.Errorf("left: %v, %v", paths, err)
		}
	}
}

// until looks again and again until something is so that others bring about in their own time.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !so() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within a minute: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// hosts returns the host's side of each interface of the gadget, in the order in which they were
// set up.
func hosts(t *testing.T, interfaces int) []*hosttest.Device {
	t.Helper()
	all := make([]*hosttest.Device, interfaces)
	for i := range all {
		var node string
		until(t, fmt.Sprintf("the host has interface %d", i), func() bool {
			node = hostNode(i)
			return node != ""
		})
		all[i] = hosttest.Open(t, node)
	}
	return all
}

// hostNode returns the node of an interface on the host's side; "" while there is none.
func hostNode(n int) string {
	products, err := filepath.Glob("/sys/bus/usb/devices/*/product")
	if err != nil {
		return ""
	}
	for _, path := range products {
		name, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(name), "Eideticker") {
			continue
		}
		device := filepath.Dir(path)
		nodes, err := evdev.Nodes(filepath.Join(device, filepath.Base(device)+fmt.Sprintf(":1.%d", n)))
		if err == nil && len(nodes) == 1 {
			if _, err := os.Stat(nodes[0]); err == nil {
				return nodes[0]
			}
		}
	}
	return ""
}

// pull pulls the cable, and put puts it back: the host takes the power from the port to which the
// gadget is plugged and gives it again (Documentation/ABI/testing/sysfs-bus-usb,
// usb<n>-port<m>/disable).
func pull(t *testing.T) { power(t, "1") }
func put(t *testing.T)  { power(t, "0") }

func power(t *testing.T, off string) {
	t.Helper()
	ports, err := filepath.Glob("/sys/bus/usb/devices/usb1/1-0:1.0/usb1-port1/disable")
	if err != nil || len(ports) != 1 {
		t.Fatalf("ports %v, %v", ports, err)
	}
	if err := os.WriteFile(ports[0], []byte(off), 0o200); err != nil {
		t.Fatal(err)
	}
}

// files counts what this process has open.
func files(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
