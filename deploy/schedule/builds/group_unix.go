//go:build unix

package builds

import (
	"os/exec"
	"syscall"
)

// inGroup has a timeout kill the program's children too.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
