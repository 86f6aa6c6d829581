//go:build linux && rigvm

package rigvm_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestDrivers runs in the VM: each driver that tests of this project are about does something
// there.
func TestDrivers(t *testing.T) {
	t.Run("v4l2", func(t *testing.T) { exists(t, "/dev/video0") })
	t.Run("uinput", testUinput)
	t.Run("USB HID gadget", testGadget)
	t.Run("netem", func(t *testing.T) { exists(t, "/sys/module/sch_netem") })
	t.Run("Wi-Fi", func(t *testing.T) {
		for _, path := range []string{"/sys/class/ieee80211/phy0", "/sys/class/ieee80211/phy1", "/sys/class/net/wlan0",
			"/sys/class/net/wlan1"} {
			exists(t, path)
		}
	})
}

func exists(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// await looks for a file that a driver makes in its own time.
func await(t *testing.T, pattern string, found func(path string) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if found(path) {
				return
			}
		}
	}
	t.Errorf("nothing fits %s", pattern)
}

// holds says whether a file holds a line.
func holds(want string) func(string) bool {
	return func(path string) bool {
		text, err := os.ReadFile(path)
		return err == nil && strings.TrimSpace(string(text)) == want
	}
}

// testUinput makes a keyboard with one key (struct uinput_user_dev and the ioctls of
// linux/uinput.h).
func testUinput(t *testing.T) {
	const setEvBit, setKeyBit, devCreate = 0x40045564, 0x40045565, 0x5501
	const evKey, keyA = 1, 30
	f, err := os.OpenFile("/dev/uinput", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd := int(f.Fd())
	if err := errors.Join(unix.IoctlSetInt(fd, setEvBit, evKey), unix.IoctlSetInt(fd, setKeyBit, keyA)); err != nil {
		t.Fatal(err)
	}
	// 80 bytes of name, 8 of identity, 4 of force feedback; 4 tables of 64 numbers
	device := make([]byte, 1116)
	copy(device, "rigvm keyboard")
	if _, err := f.Write(device); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetInt(fd, devCreate, 0); err != nil {
		t.Fatal(err)
	}
	await(t, "/sys/class/input/input*/name", holds("rigvm keyboard"))
}

// keyboard is the report descriptor of a keyboard in the boot protocol (Device Class Definition for
// HID 1.11, appendix B.1).
var keyboard = []byte{
	0x05, 0x01, 0x09, 0x06, 0xa1, 0x01, 0x05, 0x07, 0x19, 0xe0, 0x29, 0xe7, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95,
	0x08, 0x81, 0x02,
	0x95, 0x01, 0x75, 0x08, 0x81, 0x03, 0x95, 0x05, 0x75, 0x01, 0x05, 0x08, 0x19, 0x01, 0x29, 0x05, 0x91, 0x02, 0x95,
	0x01, 0x75, 0x03,
	0x91, 0x03, 0x95, 0x06, 0x75, 0x08, 0x15, 0x00, 0x25, 0x65, 0x05, 0x07, 0x19, 0x00, 0x29, 0x65, 0x81, 0x00, 0xc0,
}

// testGadget plugs a USB keyboard that is this machine into this machine, and presses a key of it.
func testGadget(t *testing.T) {
	const root = "/sys/kernel/config/usb_gadget/rigvm"
	for _, dir := range []string{"", "strings/0x409", "configs/c.1", "functions/hid.usb0"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	for _, f := range []struct{ name, content string }{
		{"idVendor", "0x1d6b"},
		{"idProduct", "0x0104"},
		{"strings/0x409/product", "rigvm gadget"},
		{"functions/hid.usb0/protocol", "1"},
		{"functions/hid.usb0/subclass", "1"},
		{"functions/hid.usb0/report_length", "8"},
		{"functions/hid.usb0/report_desc", string(keyboard)},
	} {
		if err := os.WriteFile(filepath.Join(root, f.name), []byte(f.content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(root+"/functions/hid.usb0", root+"/configs/c.1/hid.usb0"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/UDC", []byte("dummy_udc.0"), 0o644); err != nil {
		t.Fatal(err)
	}
	await(t, "/sys/bus/usb/devices/*/product", holds("rigvm gadget"))
	var node string
	await(t, "/sys/class/input/event*/device/name", func(path string) bool {
		node = filepath.Join("/dev/input", filepath.Base(filepath.Dir(filepath.Dir(path))))
		return holds("rigvm gadget")(path)
	})
	pressKey(t, node)
}

// pressKey sends "a" as the device and reads it as the host (struct input_event of linux/input.h on
// 64 bits).
func pressKey(t *testing.T, node string) {
	t.Helper()
	in, err := os.Open(node)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile("/dev/hidg0", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := in.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write([]byte{0, 0, 4, 0, 0, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	const evKey, keyA, pressed = 1, 30, 1
	want := binary.LittleEndian.AppendUint16(nil, evKey)
	want = binary.LittleEndian.AppendUint16(want, keyA)
	want = binary.LittleEndian.AppendUint32(want, pressed)
	for buf := make([]byte, 24); ; {
		if _, err := in.Read(buf); err != nil {
			t.Fatalf("wait for the key: %v", err)
		}
		if bytes.Equal(buf[16:], want) {
			return
		}
	}
}
