package uinput

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a node may take to be there, and udev to have looked at it.
const patience = 10 * time.Second

// udevRun is where udev writes down what it knows of devices. It is there where udev runs.
const udevRun = "/run/udev/data"

// ready waits for a node. If udev runs, it also waits until udev has processed the device. Before
// that, its permissions are not set, and display servers do not know it.
func ready(ctx context.Context, class, node string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it was not there after %v", patience))
	defer cancel()
	if err := appear(ctx, node); err != nil {
		return fmt.Errorf("wait for %s: %w", node, err)
	}
	if _, err := os.Stat("/run/udev/control"); err != nil {
		return nil // nobody rules over the nodes here
	}
	number, err := os.ReadFile(filepath.Join(class, "dev"))
	if err != nil {
		return fmt.Errorf("ask for the number of %s: %w", node, err)
	}
	if err := appear(ctx, filepath.Join(udevRun, "c"+strings.TrimSpace(string(number)))); err != nil {
		return fmt.Errorf("wait until udev knows %s: %w", node, err)
	}
	return nil
}

// slice bounds how long a wait goes on after its context has ended.
const slice = 20 * time.Millisecond

// appear waits until a file is there.
func appear(ctx context.Context, path string) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return os.NewSyscallError("inotify_init1", err)
	}
	defer unix.Close(fd)
	dir := filepath.Dir(path)
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ATTRIB); err != nil {
		return fmt.Errorf("watch %s: %w", dir, err)
	}
	buf := make([]byte, 4096)
	for {
		// Checked after the watch has begun: one of the two sees a node that appears in between.
		if _, err := os.Lstat(path); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}},
			int(slice.Milliseconds())); err != nil && !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("poll", err)
		}
		_, _ = unix.Read(fd, buf) // that something happened is enough
	}
}
