package rig

import (
	"io/fs"
	"math"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// BoundMemory limits Go's memory by the service's limit. The variable is the content of GOMEMLIMIT,
// which overrides it.
func BoundMemory(root fs.FS, variable string) {
	if variable == "" {
		debug.SetMemoryLimit(goMemory(root))
	}
}

// goMemory is half of the control groups' limit; the rest is for rings and browsers. Without a
// limit it is math.MaxInt64.
func goMemory(root fs.FS) int64 {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return math.MaxInt64
	}
	least := int64(math.MaxInt64)
	for line := range strings.Lines(string(text)) {
		group, is := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		for ; is && fs.ValidPath(path.Clean(group)) && group != "."; group = path.Dir(group) {
			limit, err := fs.ReadFile(root, path.Join("sys/fs/cgroup", group, "memory.max"))
			if err != nil {
				continue
			}
			// "max" is unlimited
			if n, err := strconv.ParseInt(strings.TrimSpace(string(limit)), 10, 64); err == nil && n > 0 {
				least = min(least, n/2)
			}
		}
	}
	return least
}
