//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// holders returns the other programs that have a node open, as far as we may look into them.
func holders(path string) []Holder {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []Holder
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil || pid == os.Getpid() || !holds(pid, target) {
			continue
		}
		name, _ := os.ReadFile(filepath.Join("/proc", p.Name(), "comm"))
		all = append(all, Holder{PID: pid, Command: strings.TrimSpace(strings.ToValidUTF8(string(name), "?"))})
	}
	return all
}

func holds(pid int, target string) bool {
	folder := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	fds, err := os.ReadDir(folder)
	if err != nil {
		return false // another user's, or gone meanwhile
	}
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(folder, fd.Name())); err == nil && to == target {
			return true
		}
	}
	return false
}

// heldBy names the holders for an error, or gives advice.
func heldBy(path string) string {
	if all := holders(path); len(all) > 0 {
		return ": " + HolderList(all)
	}
	return "; 'sudo fuser -v " + path + "' tells which"
}
