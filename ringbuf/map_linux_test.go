package ringbuf

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestMapIsAlignedToHugePages(t *testing.T) {
	m, err := Map(hugePage+1, MapOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if at := uintptr(unsafe.Pointer(&m.Bytes()[0])); at%hugePage != 0 {
		t.Errorf("mapping starts at %#x, want a multiple of %#x", at, hugePage)
	}
}

func TestPrefaultMakesPresent(t *testing.T) {
	const size = 3 << 20
	m, err := Map(size, MapOptions{Prefault: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	present := make([]byte, size/Alignment)
	b := m.Bytes()
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), size,
		uintptr(unsafe.Pointer(&present[0]))); errno != 0 {
		t.Fatal(errno)
	}
	for i, p := range present {
		if p&1 == 0 {
			t.Fatalf("page %d of %d is not present", i, len(present))
		}
	}
	n, err := m.HugeBytes()
	if err != nil || n < 0 || n > size {
		t.Errorf("HugeBytes = %d, %v", n, err)
	}
	t.Logf("%d of %d bytes in huge pages; %v", n, size, m.HugePagesError())
}

func TestMoreThanThereIs(t *testing.T) {
	// 4 TiB, or what a 32-bit system can address: whether the system promises them is its own
	// affair; failing must leave nothing behind.
	m, err := Map(maxMap, MapOptions{})
	if err != nil {
		if !errors.Is(err, unix.ENOMEM) || !strings.Contains(err.Error(), "smaller ring") {
			t.Errorf("error %v, want one that says what to do", err)
		}
		return
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func TestSumHuge(t *testing.T) {
	const smaps = `7f0000000000-7f0000400000 rw-p 00000000 00:00 0
Size:               4096 kB
AnonHugePages:      4096 kB
VmFlags: rd wr mr mw me ac hg
7f0000400000-7f0000800000 rw-p 00000000 00:00 0 [anon: Go: heap]
AnonHugePages:      2048 kB
7f0000a00000-7f0000c00000 r-xp 00000000 08:01 42   /usr/lib/a-b c
AnonHugePages:      2048 kB
`
	for _, c := range []struct {
		name       string
		start, end uint64
		want       uint64
	}{
		{"one area", 0x7f0000000000, 0x7f0000400000, 4 << 20},
		{"a part of one", 0x7f0000200000, 0x7f0000300000, 1 << 20},
		{"two areas", 0x7f0000000000, 0x7f0000800000, 6 << 20},
		{"end of one and start of another", 0x7f0000300000, 0x7f0000500000, 2 << 20},
		{"between", 0x7f0000800000, 0x7f0000a00000, 0},
		{"empty", 0x7f0000000000, 0x7f0000000000, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := sumHuge(strings.NewReader(smaps), c.start, c.end); got != c.want || err != nil {
				t.Errorf("got %d, %v; want %d", got, err, c.want)
			}
		})
	}
	if _, err := sumHuge(strings.NewReader("1000-2000 rw-p\nAnonHugePages: many kB\n"), 0, 1<<40); err == nil {
		t.Error("a number that is none was accepted")
	}
}
