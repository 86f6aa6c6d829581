//go:build linux && !rigvm

package rigvm

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// leftovers is what a machine could leave behind.
type leftovers struct {
	children []string // of this process
	temp     []string // names in the folder of temporary files, which the test has for itself
	open     int      // file descriptors
}

// snapshot records the present state, in a folder of temporary files of its own.
func snapshot(t *testing.T) leftovers {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	return look(t)
}

func look(t *testing.T) leftovers {
	t.Helper()
	var l leftovers
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(tasks) == 0 {
		t.Fatalf("list children: %v", err)
	}
	for _, path := range tasks {
		text, _ := os.ReadFile(path) // a thread may have ended meanwhile, and has none
		l.children = append(l.children, strings.Fields(string(text))...)
	}
	slices.Sort(l.children)
	if l.temp, err = filepath.Glob(os.TempDir() + "/*"); err != nil {
		t.Fatal(err)
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	l.open = len(open)
	return l
}

// same reports new files and processes since then.
func (l leftovers) same(t *testing.T) {
	t.Helper()
	now := look(t)
	if !slices.Equal(now.children, l.children) {
		t.Errorf("processes are left: %q, were %q", now.children, l.children)
	}
	if !slices.Equal(now.temp, l.temp) {
		t.Errorf("files are left: %q", now.temp)
	}
	if now.open > l.open {
		t.Errorf("%d file descriptors are open, were %d", now.open, l.open)
	}
}

// hold starts a machine that stands still, says its process's number, and waits to be killed.
func hold() error {
	p, err := findPrograms()
	if err != nil {
		return err
	}
	cfg, err := Config{Devices: []string{"-S"}}.withDefaults()
	if err != nil {
		return err
	}
	b, err := prepareBoot(context.Background(), p, cfg)
	if err != nil {
		return err
	}
	vm, err := launch(context.Background(), p, cfg, b)
	if err != nil {
		return err
	}
	fmt.Println(vm.cmd.Process.Pid)
	<-vm.done
	return vm.endError()
}

// TestVMDiesWithItsProcess kills a process that has started a machine, which has no chance to clean
// up.
func TestVMDiesWithItsProcess(t *testing.T) {
	Need(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), helperEnv+"=hold", "TMPDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	// A descriptor of the process outlives the number's meaning: it says when exactly that one has
	// ended.
	pid := strings.TrimSpace(line)
	gone := openProcess(t, pid)
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	gone(t)
}

// openProcess returns a function that fails the test unless the process ends within a minute.
func openProcess(t *testing.T, number string) func(*testing.T) {
	t.Helper()
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T) {
		defer unix.Close(fd)
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60_000)
			switch {
			case err == unix.EINTR:
				continue
			case n != 1:
				t.Errorf("QEMU outlived its process: %v", err)
			}
			return
		}
	}
}
