package recorder

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// availableMemory returns the bytes that can be used without swapping (MemAvailable of
// proc_meminfo(5)). It returns 0 if the kernel does not report them.
func availableMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			var kib int64
			if _, err := fmt.Sscanf(rest, "%d kB", &kib); err == nil {
				return kib << 10
			}
		}
	}
	return 0
}
