//go:build linux && rigvm

package device

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Debian's kernel has neither gpio-sim nor gpio-mockup. It has the driver of a chip with eight
// lines behind USB, Silicon Labs' CP2112. With uhid, a program can be the chip's other end. So the
// lines are the kernel's own, and the test sees the data at the chip.

// Numbers of include/uapi/linux/uhid.h, and of the chip's reports, of its application note AN495.
const (
	uhidGetReport      = 9
	uhidGetReportReply = 10
	uhidCreate2        = 11
	uhidSetReport      = 13
	uhidSetReportReply = 14

	reportDirection = 0x02 // id and directions, push-pull, special and divider
	reportSet       = 0x04 // id, levels, mask
	reportVersion   = 0x05
	reportSMBus     = 0x06
)

// cp2112 is the chip.
type cp2112 struct {
	file *os.File

	mu         sync.Mutex
	directions byte // 1 is an output
	levels     byte
	set        []byte // levels as they were set, in order
}

// descriptor has one report of four bytes of the vendor's own; the driver asks for the others all
// the same.
var descriptor = []byte{0x06, 0, 0xff, 0x09, 1, 0xa1, 1, 0x85, reportDirection, 0x95, 4, 0x75, 8, 0x26, 0xff, 0, 0x15,
	0, 0x09, 1, 0xb1, 2, 0xc0}

// plugInChip makes the chip appear, for as long as the test runs, and returns its device file.
func plugInChip(t *testing.T) (chip *cp2112, path string) {
	t.Helper()
	f, err := os.OpenFile("/dev/uhid", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	chip = &cp2112{file: f}
	var ended sync.WaitGroup
	t.Cleanup(func() { // the chip goes with its file
		_ = f.Close()
		ended.Wait()
	})
	const names, fixed = 128 + 64 + 64, 2 + 2 + 4*4
	create := make([]byte, 4+names+fixed+len(descriptor))
	binary.NativeEndian.PutUint32(create, uhidCreate2)
	copy(create[4:], "chip")
	at := create[4+names:]
	binary.NativeEndian.PutUint16(at, uint16(len(descriptor)))
	binary.NativeEndian.PutUint16(at[2:], 3) // USB
	binary.NativeEndian.PutUint32(at[4:], 0x10c4)
	binary.NativeEndian.PutUint32(at[8:], 0xea90)
	copy(at[fixed:], descriptor)
	if _, err := f.Write(create); err != nil {
		t.Fatal(err)
	}
	ended.Go(chip.serve)
	deadline := time.Now().Add(time.Minute)
	for {
		if found, err := filepath.Glob("/dev/gpiochip*"); err != nil || len(found) > 0 {
			return chip, found[0]
		}
		if time.Now().After(deadline) {
			t.Fatal("the kernel has made no GPIO chip of it")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// serve answers the driver until the file is closed.
func (c *cp2112) serve() {
	b := make([]byte, 8<<10)
	for {
		n, err := c.file.Read(b)
		if err != nil {
			return
		}
		if n < 10 {
			continue
		}
		id, report := b[4:8], b[8]
		var reply []byte
		switch binary.NativeEndian.Uint32(b) {
		case uhidGetReport:
			data := c.get(report)
			reply = make([]byte, 12+len(data))
			binary.NativeEndian.PutUint32(reply, uhidGetReportReply)
			copy(reply[4:], id)
			binary.NativeEndian.PutUint16(reply[10:], uint16(len(data)))
			copy(reply[12:], data)
		case uhidSetReport:
			c.take(b[12:n])
			reply = make([]byte, 10)
			binary.NativeEndian.PutUint32(reply, uhidSetReportReply)
			copy(reply[4:], id)
		default:
			continue
		}
		if _, err := c.file.Write(reply); err != nil {
			return
		}
	}
}

func (c *cp2112) get(report byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch report {
	case reportDirection:
		return []byte{report, c.directions, 0, 0, 0}
	case reportVersion:
		return []byte{report, 0x0c, 1}
	case reportSMBus:
		return append([]byte{report}, make([]byte, 13)...)
	}
	return []byte{report, c.levels}
}

func (c *cp2112) take(data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(data) >= 5 && data[0] == reportDirection:
		c.directions = data[1]
	case len(data) >= 3 && data[0] == reportSet:
		c.levels = c.levels&^data[2] | data[1]&data[2]
		c.set = append(c.set, c.levels)
	}
}

func (c *cp2112) line(n int) (output, high bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.directions>>n&1 == 1, c.levels>>n&1 == 1
}

// TestLinesOfAChip switches lines on and off, off and on again, and asks for those that cannot be
// had.
func TestLinesOfAChip(t *testing.T) {
	chip, path := plugInChip(t)
	want := func(n int, high bool) {
		t.Helper()
		if output, is := chip.line(n); !output || is != high {
			t.Errorf("line %d: output %v, high %v; want high %v", n, output, is, high)
		}
	}
	for n, low := range map[int]bool{3: false, 6: true} {
		p := Power{Chip: path, Line: n, Low: low}
		for _, on := range []bool{true, false, true} {
			release, err := p.Switch(t.Context(), on)
			if err != nil {
				t.Fatal(err)
			}
			want(n, on != low)
			if _, err := p.Switch(t.Context(), !on); !errors.Is(err, unix.EBUSY) {
				t.Errorf("a line that is held: %v", err)
			}
			want(n, on != low)
			if err := release(); err != nil {
				t.Error(err)
			}
		}
	}
	chip.mu.Lock()
	chip.set = nil
	chip.mu.Unlock()
	release, err := (Power{Chip: path, Line: 0}).Cycle(t.Context(), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	want(0, true)
	chip.mu.Lock()
	if s := chip.set; len(s) != 2 || s[0]&1 != 0 || s[1]&1 != 1 {
		t.Errorf("the line went %v, want low and high", s)
	}
	chip.mu.Unlock()
	if err := release(); err != nil {
		t.Error(err)
	}
	if _, err := (Power{Chip: path, Line: 8}).Switch(t.Context(), true); !errors.Is(err, unix.EINVAL) {
		t.Errorf("a line that the chip has not: %v", err)
	}
}
