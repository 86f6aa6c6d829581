//go:build linux

package rigvm

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// missingError says what this machine lacks to run a VM. Tests skip with it on a developer's
// machine and fail with it under CI=true.
type missingError struct {
	What   string // the missing program or file
	Advice string // what to do
}

func (e *missingError) Error() string { return e.What + ": " + e.Advice }

// programs are the programs that a VM is made and run with.
type programs struct {
	qemu, busybox, modprobe, modinfo, depmod, dpkgDeb, aptGet, aptCache string
}

func findPrograms() (programs, error) {
	var p programs
	if runtime.GOARCH != "amd64" {
		return p, &missingError{"this is a " + runtime.GOARCH + " machine", "the VM needs Debian's kernel for amd64"}
	}
	for _, want := range []struct {
		path     *string
		name, of string
	}{
		{&p.aptGet, "apt-get", "apt"},
		{&p.aptCache, "apt-cache", "apt"},
		{&p.dpkgDeb, "dpkg-deb", "dpkg"},
		{&p.qemu, "qemu-system-x86_64", "qemu-system-x86"},
		{&p.modprobe, "modprobe", "kmod"},
		{&p.modinfo, "modinfo", "kmod"},
		{&p.depmod, "depmod", "kmod"},
		{&p.busybox, "busybox", "busybox-static"},
	} {
		var err error
		if *want.path, err = find(want.name, want.of); err != nil {
			return p, err
		}
	}
	return p, checkStatic(p.busybox)
}

// find looks for a program also where only root's PATH leads.
func find(name, pkg string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", &missingError{name + " is not installed", "apt-get install --no-install-recommends " + pkg}
}

// checkStatic refuses the busybox that needs libraries: the guest has none.
func checkStatic(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return &missingError{path + " is not a static program",
				"apt-get install --no-install-recommends busybox-static"}
		}
	}
	return nil
}
