//go:build linux

package rigvm

import (
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"time"
)

// Config says what machine to start. The zero value is a machine without extra modules, files or
// disk.
//
// A machine has one processor unless a test needs more. With several, QEMU 7.2 can keep the
// translation of code that another processor has just replaced, and the guest hangs. A kernel
// replaces its own code, for example where a trace point is turned on or off.
type Config struct {
	Modules      []Module          // loaded in this order, each with what it depends on
	Files        map[string]string // path in the guest: path on the host; modes are kept
	Disk         *Disk             // mounted at /disk; nil for none
	MemoryMB     int               // 64 to 65536; 0: 1024
	CPUs         int               // 1 to 64; 0: 1
	KernelParams []string          // added to the kernel's command line, one word each
	Devices      []string          // added to QEMU's arguments: "-device", "usb-ehci", …
	Timeout      time.Duration     // of the machine's whole life, boot included; 0: 25 minutes
	BootTimeout  time.Duration     // until the guest answers; 0: 5 minutes
	// PrepareTimeout bounds the preparation. The kernel is downloaded the first time, and another
	// process may be doing the same; 0: 10 minutes.
	PrepareTimeout time.Duration
	Console        io.Writer // gets all that the guest's kernel says; may be nil
}

// Module is a kernel module and its options.
type Module struct {
	Name    string   // as modprobe takes it
	Options []string // "n_devs=1"; one that the module does not have is an error
}

// Disk is a file on the host with an ext4 file system that a guest mounts at /disk. It belongs to
// the caller and stays after the machine's end, so the next machine sees its data. After a Kill it
// has the data flushed by then, as after a power cut.
type Disk struct {
	Path string // made if it does not exist
	MB   int    // size if it is made, 8 to 65536; 0: 1024. The file is sparse
}

const (
	defaultMemoryMB       = 1024
	defaultCPUs           = 1
	defaultDiskMB         = 1024
	defaultTimeout        = 25 * time.Minute
	defaultTestsTimeout   = 20 * time.Minute
	defaultBootTimeout    = 5 * time.Minute
	defaultPrepareTimeout = 10 * time.Minute
)

// withDefaults returns a copy with defaults in place of zeros, or an error for bad values.
func (c Config) withDefaults() (Config, error) {
	c.MemoryMB = orDefault(c.MemoryMB, defaultMemoryMB)
	c.CPUs = orDefault(c.CPUs, defaultCPUs)
	c.Timeout = orDefault(c.Timeout, defaultTimeout)
	c.BootTimeout = orDefault(c.BootTimeout, defaultBootTimeout)
	c.PrepareTimeout = orDefault(c.PrepareTimeout, defaultPrepareTimeout)
	switch {
	case c.MemoryMB < 64 || c.MemoryMB > 65536:
		return c, fmt.Errorf("memory of %d MB is not between 64 and 65536", c.MemoryMB)
	case c.CPUs < 1 || c.CPUs > 64:
		return c, fmt.Errorf("%d processors are not between 1 and 64", c.CPUs)
	case c.Timeout < 0 || c.BootTimeout < 0 || c.PrepareTimeout < 0:
		return c, errors.New("a timeout is negative")
	}
	if c.Disk != nil {
		d := *c.Disk
		d.MB = orDefault(d.MB, defaultDiskMB)
		c.Disk = &d
		if d.Path == "" || d.MB < 8 || d.MB > 65536 {
			return c, fmt.Errorf("disk %q of %d MB: it needs a path and 8 to 65536 MB", d.Path, d.MB)
		}
	}
	for _, p := range c.KernelParams {
		if p == "" || strings.ContainsAny(p, " \t\n\x00") {
			return c, fmt.Errorf("kernel parameter %q is not one word", p)
		}
	}
	for guest := range c.Files {
		if !path.IsAbs(guest) {
			return c, fmt.Errorf("path %q in the guest is not absolute", guest)
		}
	}
	for _, m := range c.Modules {
		if err := m.check(); err != nil {
			return c, err
		}
	}
	return c, nil
}

func orDefault[T int | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

var (
	moduleName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
	moduleOption = regexp.MustCompile(`^([A-Za-z0-9_]+)(=[^\s\x00]*)?$`)
)

// check refuses what modprobe would take for an option of its own, and what a module would take for
// two.
func (m Module) check() error {
	if !moduleName.MatchString(m.Name) {
		return fmt.Errorf("%q is not a name of a kernel module", m.Name)
	}
	for _, o := range m.Options {
		if !moduleOption.MatchString(o) {
			return fmt.Errorf("option %q of module %s does not look like name=value", o, m.Name)
		}
	}
	return nil
}
