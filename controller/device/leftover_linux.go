package device

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// sharedMemory is where browsers make shared memory, under names that they take away again at once:
// one that is killed in between leaves them, and what they hold of the machine's memory.
const sharedMemory = "/dev/shm"

// sharedPrefixes begin the names that Chromium and Firefox choose.
func sharedPrefixes() []string {
	return []string{".org.chromium.Chromium.", "org.chromium.Chromium.", "org.mozilla.ipc."}
}

// leftovers is what browsers of this user had left in a folder before one of ours began.
type leftovers struct {
	dir    string
	before map[string]bool
}

func newLeftovers(dir string) leftovers {
	s := leftovers{dir, map[string]bool{}}
	for _, name := range shared(dir) {
		s.before[name] = true
	}
	return s
}

// shared are the names of this user's shared memory of browsers.
func shared(dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // a system without such a folder
	}
	for _, e := range entries {
		begins := func(prefix string) bool { return strings.HasPrefix(e.Name(), prefix) }
		if slices.ContainsFunc(sharedPrefixes(), begins) && ofThisUser(filepath.Join(dir, e.Name())) {
			names = append(names, e.Name())
		}
	}
	return names
}

func ofThisUser(path string) bool {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}

// remove removes new files that no process has open. Another browser of this user has its files
// open, or they are gone at the second look.
func (s leftovers) remove() {
	left := s.unheld()
	if len(left) == 0 {
		return
	}
	time.Sleep(50 * time.Millisecond) // far longer than a browser needs from making a name to taking it away
	still := s.unheld()
	for path := range left {
		if still[path] {
			_ = os.Remove(path) // gone, or it cannot be removed
		}
	}
}

// unheld are the names that have come since and that no process has open.
func (s leftovers) unheld() map[string]bool {
	left := map[string]bool{}
	for _, name := range shared(s.dir) {
		if !s.before[name] {
			left[filepath.Join(s.dir, name)] = true
		}
	}
	if len(left) == 0 {
		return nil
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return nil // the pattern is well formed
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil {
			delete(left, to)
		}
	}
	return left
}
