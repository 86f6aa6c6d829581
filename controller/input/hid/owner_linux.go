package hid

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/pattern"
)

// ownName is the name of our gadgets: eideticker and the number of the process that made it, the
// process's start time, and a count.
var ownName = pattern.New(`^eideticker-([0-9]{1,10})-([0-9]{1,20})-([0-9]{1,4})$`)

// makeOwn makes a gadget whose name says who made it.
func makeOwn(root string) (string, error) {
	pid := os.Getpid()
	began, err := begin(pid)
	if err != nil {
		return "", err
	}
	for n := range 1000 {
		dir := filepath.Join(root, fmt.Sprintf("eideticker-%d-%s-%d", pid, began, n))
		if err := os.Mkdir(dir, 0o755); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
	return "", errors.New("this process has made a thousand gadgets and taken none down")
}

// begin returns when a process began, in ticks since the machine's start: field 22 of
// /proc/PID/stat, see proc(5). It distinguishes a process from a later one with the same number.
func begin(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The second field is a name in brackets, in which there may be anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields)+2)
	}
	return fields[19], nil
}

// removeLeftovers takes down gadgets whose owners were killed. One that cannot be taken down is
// left: it is in nobody's way but that of its port, and binding will say so.
func removeLeftovers(root string) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return
	}
	for _, e := range entries {
		if m := ownName.FindStringSubmatch(e.Name()); m != nil && !lives(m[1], m[2]) {
			_ = (&gadget{dir: filepath.Join(root, e.Name())}).unplug()
		}
	}
}

// lives reports whether a process is still the one that began then.
func lives(pid, began string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return false
	}
	now, err := begin(n)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err != nil || now == began // what cannot be asked is left alone
}
