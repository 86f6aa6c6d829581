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

// program is one that the host has asked for.
type program struct{ cmd *exec.Cmd }

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
	s.mu.Lock()
	s.running[id] = &program{cmd}
	s.mu.Unlock()
	go s.await(id, cmd)
}

// await reports how a program ended.
func (s *server) await(id uint32, cmd *exec.Cmd) {
	err := cmd.Wait()
	s.mu.Lock()
	delete(s.running, id)
	s.mu.Unlock()
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

// cancel ends a program and what is in its group.
func (s *server) cancel(id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.running[id]; p != nil {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	}
}
