//go:build linux && (amd64 || arm64)

package sockets

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Check returns a [MissingError] if this process cannot record socket calls.
func Check() error {
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		return &MissingError{"the kernel has no type information (/sys/kernel/btf/vmlinux)",
			"use a kernel with CONFIG_DEBUG_INFO_BTF", true}
	}
	if lacking := capabilities(); len(lacking) > 0 {
		return &MissingError{"missing " + strings.Join(lacking, " and "), "run as root, or grant these capabilities",
			false}
	}
	return nil
}

// capabilities returns the missing ones. CAP_SYS_ADMIN includes both.
func capabilities() (lacking []string) {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&head, &sets[0]); err != nil {
		return []string{"capabilities"}
	}
	has := func(bit int) bool { return sets[bit/32].Effective>>(bit%32)&1 == 1 }
	if has(unix.CAP_SYS_ADMIN) {
		return nil
	}
	for _, c := range []struct {
		bit  int
		name string
	}{{unix.CAP_BPF, "CAP_BPF"}, {unix.CAP_PERFMON, "CAP_PERFMON"}} {
		if !has(c.bit) {
			lacking = append(lacking, c.name)
		}
	}
	return lacking
}
