//go:build linux

package rigvm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/deploy/rigvm/internal/wire"
	"golang.org/x/sys/unix"
)

// arguments are QEMU's. Nothing depends on the host's processor: without hardware acceleration a
// test sees the same machine everywhere, also where the host is itself a guest. File 3 is the
// agent's connection, 4 the kernel, 5 the initramfs. The processor has no fast string instructions
// (erms): kernel and Go would clear and copy memory by them, and emulation takes them byte by byte.
func arguments(c Config) []string {
	args := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-monitor", "none", "-no-reboot",
		"-accel", "tcg,thread=multi", "-cpu", "max,erms=off",
		"-smp", strconv.Itoa(c.CPUs), "-m", strconv.Itoa(c.MemoryMB),
		"-kernel", "/proc/self/fd/4", "-initrd", "/proc/self/fd/5",
		"-append", commandLine(c.KernelParams),
		"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
		"-chardev", "socket,id=agent,fd=3", "-device", "virtio-serial-pci",
		"-device", "virtserialport,chardev=agent,name=" + wire.PortName,
	}
	if c.Disk != nil {
		args = append(args, "-blockdev", c.Disk.blockdev(), "-device", "virtio-blk-pci,drive=disk")
	}
	return append(args, c.Devices...)
}

// commandLine is the kernel's. A panic reboots, and -no-reboot makes that QEMU's end; an oops,
// which leaves a kernel that only looks alive, counts as a panic.
func commandLine(more []string) string {
	// On a busy machine, the kernel's timer check reads a late emulated timer as a missing one, and
	// panics.
	words := append([]string{"console=ttyS0", "no_timer_check", "panic=-1", "oops=panic", "mitigations=off",
		"random.trust_cpu=on", "loglevel=5"}, more...)
	return strings.Join(words, " ")
}

func (d *Disk) blockdev() string {
	b, err := json.Marshal(map[string]any{
		"driver": "raw", "node-name": "disk", "file": map[string]any{"driver": "file", "filename": d.Path},
	})
	if err != nil {
		panic(err) // strings always encode
	}
	return string(b)
}

// make makes the disk's file with an empty file system, if there is none.
func (d *Disk) make(ctx context.Context) error {
	if info, err := os.Stat(d.Path); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("disk %s is not a file", d.Path)
		}
		return d.check()
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	mkfs, err := find("mkfs.ext4", "e2fsprogs")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(d.Path), "disk-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	err = errors.Join(tmp.Truncate(int64(d.MB)<<20), tmp.Close())
	if err == nil {
		_, err = output(exec.CommandContext(ctx, mkfs, "-q", "-F", tmp.Name()))
	}
	if err == nil {
		err = os.Rename(tmp.Name(), d.Path)
	}
	if err != nil {
		return fmt.Errorf("make disk %s: %w", d.Path, err)
	}
	return nil
}

// check refuses a file that is not an ext file system: s_magic of its superblock
// (Documentation/filesystems/ext4/super.rst in the kernel's source). The guest reports other
// faults.
func (d *Disk) check() error {
	f, err := os.Open(d.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	magic := make([]byte, 2)
	if _, err := f.ReadAt(magic, 1024+0x38); err != nil || string(magic) != "\x53\xef" {
		return fmt.Errorf("disk %s has no ext4 file system: remove it, and it is made", d.Path)
	}
	return nil
}

// opened is a set of files for a program that is started; the first error counts.
type opened struct {
	files []*os.File
	err   error
}

func (o *opened) close() {
	for _, f := range o.files {
		_ = f.Close()
	}
}

// memory returns a file without a name. So nothing is left on any disk, however this process ends.
func (o *opened) memory(name string, content []byte) *os.File {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		o.err = errors.Join(o.err, fmt.Errorf("make a file in memory: %w", err))
		return nil
	}
	f := os.NewFile(uintptr(fd), name)
	o.files = append(o.files, f)
	if _, err := f.Write(content); err != nil {
		o.err = errors.Join(o.err, err)
	}
	return f
}

// pair returns two connected sockets.
func (o *opened) pair() (ours, theirs *os.File) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		o.err = errors.Join(o.err, fmt.Errorf("make a pair of sockets: %w", err))
		return nil, nil
	}
	ours, theirs = os.NewFile(uintptr(fds[0]), "agent"), os.NewFile(uintptr(fds[1]), "agent")
	o.files = append(o.files, ours, theirs)
	return ours, theirs
}
