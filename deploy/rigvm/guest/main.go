//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// boot is /rigvm.json in the initramfs: what the host wants done before the agent greets it.
type boot struct {
	Modules []string // files, in the order in which they are loaded
	Disk    string   // block device with ext4 that is mounted at /disk, or ""
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		complain("agent", agent())
		os.Exit(1)
	}
	err := first()
	complain("init", err)
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

// complain says why the machine ends. The kernel writes its own log to the console at once; what
// programs write there is lost if the power goes before it is out.
func complain(who string, err error) {
	line := fmt.Sprintf("rigvm: %s: %v\n", who, err)
	if os.WriteFile("/dev/kmsg", []byte("<3>"+line), 0) != nil {
		fmt.Fprint(os.Stderr, line)
	}
}

// first is process 1. It returns only when the machine is of no more use.
func first() error {
	if err := mountAll(); err != nil {
		return err
	}
	console, err := os.OpenFile("/dev/console", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	p, err := os.StartProcess("/init", []string{"/init", "agent"}, &os.ProcAttr{
		Env:   []string{"PATH=/bin", "HOME=/root"},
		Files: []*os.File{console, console, console},
	})
	if err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return fmt.Errorf("wait for children: %w", err)
		case pid == p.Pid:
			return fmt.Errorf("the agent ended with status %d", status.ExitStatus())
		}
	}
}

// readBoot reads what the host wants done.
func readBoot() (boot, error) {
	var b boot
	text, err := os.ReadFile("/rigvm.json")
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	return b, err
}
