//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mountAll mounts what programs expect of a Linux system and do not need a module for.
func mountAll() error {
	for _, m := range []struct{ kind, dir, options string }{
		{"proc", "/proc", ""},
		{"sysfs", "/sys", ""},
		{"devtmpfs", "/dev", ""},
		{"devpts", "/dev/pts", ""},
		{"tmpfs", "/dev/shm", ""},
		{"tmpfs", "/run", ""},
		{"tmpfs", "/tmp", ""},
		{"debugfs", "/sys/kernel/debug", ""},
	} {
		if err := os.MkdirAll(m.dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.dir, m.kind, 0, m.options); err != nil {
			return fmt.Errorf("mount %s at %s: %w", m.kind, m.dir, err)
		}
	}
	return os.Chmod("/tmp", 0o1777)
}

// mountConfigfs mounts configfs as soon as its module is there, once.
func mountConfigfs() error {
	const dir = "/sys/kernel/config"
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	err := unix.Mount("configfs", dir, "configfs", 0, "")
	if err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("mount configfs at %s: %w", dir, err)
	}
	return nil
}

// mountDisk mounts the disk that outlives the machine.
func mountDisk(device string) error {
	if err := os.MkdirAll("/disk", 0o755); err != nil {
		return err
	}
	if err := unix.Mount(device, "/disk", "ext4", 0, ""); err != nil {
		return fmt.Errorf("mount %s at /disk: %w", device, err)
	}
	return nil
}

// powerOff ends the machine. It does not return unless that fails.
func powerOff() error {
	unix.Sync()
	err := unix.Unmount("/disk", 0)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		// A program still has a file open there. The written data is safe all the same.
		if err := unix.Mount("", "/disk", "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			unix.Sync()
		}
	}
	return unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}
