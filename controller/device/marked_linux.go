package device

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func newMark() string { return rand.Text() }

// endMarked ends every process that carries the mark in its environment: the helpers of a browser
// that left its process group. It kills them through a pidfd that is checked after it was opened.
// So another process that got the same id meanwhile is not hit.
func endMarked(mark string) {
	for range 50 { // a helper may start another one while we look; each round finds fewer
		if killMarked(mark) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// killMarked kills the marked processes and returns how many there were.
func killMarked(mark string) (found int) {
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0 // the pattern is well formed
	}
	for _, dir := range names {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() || !marked(dir, mark) {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // gone
		}
		if marked(dir, mark) {
			found++
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // gone, or ours to kill
		}
		_ = unix.Close(fd)
	}
	return found
}

// marked reports whether a process carries the mark. Of another user's process it cannot be read.
func marked(dir, mark string) bool {
	environ, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil {
		return false
	}
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if string(variable) == mark {
			return true
		}
	}
	return false
}
