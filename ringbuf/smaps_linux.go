package ringbuf

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unsafe"
)

// hugeBytes queries the kernel for the bytes of b in huge pages.
func hugeBytes(b []byte) (int, error) {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return 0, fmt.Errorf("count huge pages: %w", err)
	}
	defer f.Close()
	start := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	n, err := sumHuge(f, start, start+uint64(len(b)))
	if err != nil {
		return 0, fmt.Errorf("count huge pages: /proc/self/smaps: %w", err)
	}
	return int(n), nil
}

// sumHuge adds up AnonHugePages of the areas of an smaps file (proc(5)) that overlap addresses from
// start to end. It takes at most the overlap of each area. The kernel joins areas of equal
// properties, so one may reach beyond.
func sumHuge(smaps io.Reader, start, end uint64) (uint64, error) {
	var sum, overlap uint64
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		name, value, found := strings.Cut(lines.Text(), " ")
		if !found {
			continue
		}
		if from, to, ok := parseRange(name); ok {
			overlap = 0
			if from, to = max(from, start), min(to, end); from < to {
				overlap = to - from
			}
			continue
		}
		if overlap == 0 || name != "AnonHugePages:" {
			continue
		}
		kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 50)
		if err != nil {
			return 0, fmt.Errorf("parse %q: %w", lines.Text(), err)
		}
		sum += min(kib<<10, overlap)
	}
	return sum, lines.Err()
}

// parseRange reads "7f0000000000-7f0000200000", which starts each area.
func parseRange(s string) (from, to uint64, ok bool) {
	a, b, found := strings.Cut(s, "-")
	if !found {
		return 0, 0, false
	}
	from, errA := strconv.ParseUint(a, 16, 64)
	to, errB := strconv.ParseUint(b, 16, 64)
	return from, to, errA == nil && errB == nil
}
