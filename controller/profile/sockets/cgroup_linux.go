//go:build linux && (amd64 || arm64)

package sockets

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// cgroup is a group of processes in the hierarchy of cgroup v2.
type cgroup struct {
	dir    *os.File
	parent string
	mount  *os.File // that only this process sees; nil: the machine's
}

// groups numbers the groups of this process.
var groups atomic.Int64

// newCgroup makes a group below that of this process.
func newCgroup() (c *cgroup, err error) {
	mount, root := cgroupMount()
	c = &cgroup{}
	defer func() {
		if err != nil && c.mount != nil {
			err = errors.Join(err, c.mount.Close())
		}
	}()
	if mount == "" {
		if c.mount, err = mountCgroups(); err != nil {
			return nil, &MissingError{"cgroup v2 is not mounted: " + err.Error(),
				"mkdir -p /sys/fs/cgroup/unified && mount -t cgroup2 none /sys/fs/cgroup/unified", false}
		}
		mount = fmt.Sprintf("/proc/self/fd/%d", c.mount.Fd())
	}
	if c.parent, err = ownCgroup(mount, root); err != nil {
		return nil, err
	}
	removeOld(c.parent)
	path := filepath.Join(c.parent, fmt.Sprintf(prefix+"%d-%d", os.Getpid(), groups.Add(1)))
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, &MissingError{"make a cgroup: " + err.Error(), "run as root, or let systemd delegate the cgroup",
			false}
	}
	if c.dir, err = os.Open(path); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return c, nil
}

const prefix = "eideticker-sockets-"

// removeOld removes the empty groups of processes that were killed.
func removeOld(parent string) {
	all, _ := filepath.Glob(filepath.Join(parent, prefix+"*"))
	for _, path := range all {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), prefix), "-")
		if _, err := os.Stat(filepath.Join("/proc", pid)); errors.Is(err, os.ErrNotExist) {
			_ = unix.Rmdir(path)
		}
	}
}

// ownCgroup returns the folder of this process's group.
func ownCgroup(mount, root string) (string, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(own)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return filepath.Join(mount, strings.TrimPrefix(path, root)), nil
		}
	}
	return "", &MissingError{"this process is in no cgroup v2", "use a kernel with CONFIG_CGROUPS", true}
}

// cgroupMount returns where the hierarchy is mounted, and the group at that place; "": nowhere.
func cgroupMount() (mount, root string) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", ""
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if strings.HasPrefix(after, "cgroup2 ") && len(fields) >= 5 {
			return unescape(fields[4]), strings.TrimSuffix(unescape(fields[3]), "/")
		}
	}
	return "", ""
}

// mountCgroups mounts the hierarchy at no place, so that only this process has it.
func mountCgroups() (*os.File, error) {
	fs, err := unix.Fsopen("cgroup2", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fs) }()
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, err
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "cgroup2"), nil
}

// unescape replaces octal codes of a path in mountinfo.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// endingPause is the pause after a pass that finds only processes that are about to end.
const endingPause = 20 * time.Millisecond

// remove moves the processes that remain to the parent, and removes the group.
func (c *cgroup) remove() error {
	path := c.dir.Name()
	defer func() {
		_ = c.dir.Close()
		if c.mount != nil {
			_ = c.mount.Close()
		}
	}()
	// A process may fork between the list and its move. Each pass finds fewer. One that is about to
	// end is in the group, but not in the list.
	for range 100 {
		err := unix.Rmdir(path)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("remove cgroup %s: %w", path, err)
		}
		all, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err != nil {
			return err
		}
		if len(all) == 0 {
			time.Sleep(endingPause)
		}
		for pid := range strings.FieldsSeq(string(all)) {
			err := os.WriteFile(filepath.Join(c.parent, "cgroup.procs"), []byte(pid), 0)
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("remove cgroup %s: %w", path, err)
			}
		}
	}
	return fmt.Errorf("remove cgroup %s: processes keep starting in it", path)
}
