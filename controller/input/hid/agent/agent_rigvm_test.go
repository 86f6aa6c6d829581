//go:build linux && rigvm

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/evdev"
	"github.com/eideticker/eideticker/controller/input/internal/hosttest"
	"github.com/eideticker/eideticker/controller/input/remote"
	"github.com/eideticker/eideticker/controller/internal/wire"
)

const address = "127.0.0.1:4723"

// TestTouchFromAfar uses the whole way: rig, TCP; agent, USB; and the touch screen of the host.
func TestTouchFromAfar(t *testing.T) {
	loopback(t)
	const token = "correct horse battery staple"
	t.Setenv(wire.TokenVariable, token)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, address, "", "?size=1000x500&keyboard=no&pointer=no&wait=1m") }()
	d := dial(t, token)
	host := hosttest.Open(t, touchScreen(t))

	for i := range 20 {
		at := timeline.Monotonic().Now().Add(time.Duration(i%3) * 30 * time.Millisecond)
		sent, err := d.Do(t.Context(), at, input.TouchDown{Finger: i % 10, X: float64(i), Y: 7})
		if err != nil {
			t.Fatal(err)
		}
		had := host.Next()
		if had < sent.Earliest || had < at || host.Fingers() != 1 {
			t.Errorf("asked for %d, sent %v, the host had it at %d: %d fingers", at, sent, had, host.Fingers())
		}
		t.Logf("sent %v; the host had it %v before the end", sent, sent.Latest.Sub(had))
		if err := d.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		host.Next()
	}

	if _, err := d.Do(t.Context(), 0, input.TouchDown{Finger: 0, X: 1, Y: 1},
		input.TouchDown{Finger: 4, X: 2, Y: 2}); err != nil {
		t.Fatal(err)
	}
	host.Next()
	cancel() // the agent is stopped while fingers are down
	// The agent lifts the fingers, then removes its gadget. The kernel drops unread events.
	for host.Fingers() > 0 {
		if _, err := host.Try(); errors.Is(err, os.ErrClosed) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := d.Do(t.Context(), 0, input.TouchUp{Finger: 0}); !errors.Is(err, input.ErrGone) {
		t.Errorf("an agent that has ended: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob("/sys/kernel/config/usb_gadget/*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// dial waits for the agent, which first waits for its host.
func dial(t *testing.T, token wire.Token) *remote.Driver {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		d, err := remote.Dial(ctx, remote.Options{Address: address, Token: token})
		if err == nil {
			t.Log(d.Info())
			return d
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// touchScreen returns the node that the host has made of the gadget.
func touchScreen(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		interfaces, err := filepath.Glob("/sys/bus/usb/devices/*:1.0")
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range interfaces {
			nodes, err := evdev.Nodes(dir)
			if err != nil || len(nodes) != 1 {
				continue
			}
			if _, err := os.Stat(nodes[0]); err == nil {
				return nodes[0]
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the host has no touch screen: %v", slices.Clip(interfaces))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// loopback turns the VM's loopback interface on.
func loopback(t *testing.T) {
	t.Helper()
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(s)
	// struct ifreq of linux/if.h.
	r := struct {
		name  [unix.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{flags: unix.IFF_UP}
	copy(r.name[:], "lo")
	if _, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(s), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&r))); no != 0 {
		t.Fatalf("turn lo on: %v", no)
	}
}
