//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/eideticker/eideticker/deploy/rigvm/internal/wire"
)

// start starts a program in a process group of its own; its output goes to the host as it comes.
func (s *server) start(id uint32, c wire.Call) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Dir = c.Dir
	cmd.Stdout = &stream{s, id, wire.Stdout}
	cmd.Stderr = &stream{s, id, wire.Stderr}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// What it leaves in the background may keep its output open; that is not waited for.
	cmd.WaitDelay = time.Second
	var stdin *os.File
	if c.Stdin != "" {
		f, err := os.Open(c.Stdin)
		if err != nil {
			s.done(id, err)
			return
		}
		stdin = f
		cmd.Stdin = f
	}
	err := cmd.Start()
	if stdin != nil {
		_ = stdin.Close()
	}
	if err != nil {
		s.done(id, err)
		return
	}
	s.cancelBy(id, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	go s.await(id, cmd)
}

// await reports how a program ended.
func (s *server) await(id uint32, cmd *exec.Cmd) {
	err := cmd.Wait()
	s.forget(id)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		s.done(id, err)
		return
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	code := status.ExitStatus()
	if status.Signaled() {
		code = 128 + int(status.Signal())
	}
	s.reply(id, wire.Reply{ExitCode: code})
}
