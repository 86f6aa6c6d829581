//go:build unix

package node

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

func makePipe(path string) error { return unix.Mkfifo(path, 0o600) }

// Run runs a command and records its Node programs. Meanwhile, signals of this process go to the
// command only, so its end is regular. Afterwards they have their default effects.
func (t *Tracer) Run(cmd *exec.Cmd) error {
	cmd.Env = t.Environment(os.Environ())
	all := []os.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGHUP, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2}
	signal.Reset(all...)
	signals := make(chan os.Signal, len(all))
	signal.Notify(signals, all...)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			if s == unix.SIGTERM || s == unix.SIGUSR1 || s == unix.SIGUSR2 || !sharesTerminal() {
				_ = cmd.Process.Signal(s) // it may have ended
			}
		case err := <-ended:
			return err
		}
	}
}

// sharesTerminal reports whether the terminal sends its signals to this process and the command.
func sharesTerminal() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close() // was only asked
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// ExitCode returns the exit code of a command as shells have it.
func ExitCode(state *os.ProcessState) int {
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return state.ExitCode()
}
