package device

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestGPIO compares the kernel requests with its interface: sizes, offsets and numbers of gpio.h.
// The VM has a chip, see TestVMGPIO.
func TestGPIO(t *testing.T) {
	r := outputRequest(17, true)
	if size := unsafe.Sizeof(*r); size != 592 {
		t.Errorf("a request of %d bytes", size)
	}
	if number := uint64(getLine); number != 0xc250b407 {
		t.Errorf("ioctl %#x", number)
	}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(r)), unsafe.Sizeof(*r))
	at := func(offset uintptr, want byte) {
		t.Helper()
		if raw[offset] != want {
			t.Errorf("byte %d is %d, want %d", offset, raw[offset], want)
		}
	}
	at(0, 17)    // offsets[0]
	at(256, 'e') // consumer
	at(288, 8)   // config.flags: output
	at(296, 1)   // config.num_attrs
	at(320, 2)   // config.attrs[0].attr.id: output values
	at(328, 1)   // config.attrs[0].attr.values
	at(336, 1)   // config.attrs[0].mask
	at(560, 1)   // num_lines
	if off := unsafe.Offsetof(r.fd); off != 588 {
		t.Errorf("fd at %d", off)
	}
	if outputRequest(17, false).config.attrs[0].attr.values != 0 {
		t.Error("low is high")
	}
	for path, want := range map[string]error{"/dev/null": unix.ENOTTY,
		filepath.Join(t.TempDir(), "no"): os.ErrNotExist} {
		release, err := Power{Chip: path, Line: 17}.Switch(t.Context(), true)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), "switch line 17 of "+path) {
			t.Errorf("%s: %v", path, err)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	}
}

// TestPowerCycle: the device is off first and on in the end, also where nobody waits for it any
// more.
func TestPowerCycle(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	said := func(word string) []string { return []string{"sh", "-c", "echo " + word + " >> " + file} }
	p := Power{On: said("on"), Off: said("off")}
	if release, err := p.Cycle(t.Context(), time.Millisecond); err != nil || release() != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends with the file, or with the test
		for ctx.Err() == nil {
			if b, _ := os.ReadFile(file); strings.Count(string(b), "off") == 2 {
				cancel()
			}
		}
	}()
	if _, err := p.Cycle(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "off\non\noff\non\n" {
		t.Errorf("%q, %v", b, err)
	}
	p.Off = []string{"false"}
	if _, err := p.Cycle(t.Context(), time.Hour); err == nil {
		t.Error("what cannot be switched off was")
	}
	p.Off = []string{"sh", "-c", "echo half >> " + file + "; exit 1"}
	if _, err := p.Cycle(t.Context(), time.Hour); err == nil {
		t.Error("what went wrong is not told")
	}
	if b, err := os.ReadFile(file); err != nil || !strings.HasSuffix(string(b), "half\non\n") {
		t.Errorf("%q, %v", b, err)
	}
}

func TestPowerCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "is on")
	p := Power{On: []string{"touch", file}, Off: []string{"rm", file}}
	if _, err := p.Switch(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	release, err := p.Switch(t.Context(), false)
	if err != nil || release() != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still on: %v", err)
	}
	t.Setenv("LC_ALL", "C")
	if _, err := p.Switch(t.Context(), false); err == nil || !strings.Contains(err.Error(), "switch power by rm") ||
		!strings.Contains(err.Error(), "No such file") {
		t.Errorf("error %v", err)
	}
	if _, err := (Power{}).Switch(t.Context(), true); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Power{On: []string{"sleep", "1000"}}).Switch(ctx, true); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
