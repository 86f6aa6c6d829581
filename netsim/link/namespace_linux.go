package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Namespace is a separate network on this machine. It has its own interfaces, addresses, routes and
// ports, and its own /etc/resolv.conf.
//
// It has no name. The kernel removes it with its last program and socket, however this program
// ends. It has a thread of its own, on which its operations run.
type Namespace struct {
	calls chan func()
	stop  chan struct{} // closed to end it
	done  chan struct{} // the thread has ended
	once  sync.Once
}

// refused adds advice to errors about permissions.
func refused(what string, err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOENT) ||
		errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) {
		return &PrivilegeError{what, err}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// NewNamespace makes one in which names are asked of a server at an address.
func NewNamespace(nameserver string) (*Namespace, error) {
	n := &Namespace{calls: make(chan func()), stop: make(chan struct{}), done: make(chan struct{})}
	ready := make(chan error)
	go onOwnThread(func() { n.stand(nameserver, ready) })
	if err := <-ready; err != nil {
		return nil, err
	}
	return n, nil
}

// onOwnThread calls f on a thread that ends with it. It is called as a goroutine. A thread in
// another namespace is not given back: it would carry the namespace to whatever ran on it next.
func onOwnThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	// The first thread is what /proc/self shows, and it never ends. Another one does it, while this
	// one is kept from being chosen again.
	again := make(chan struct{})
	go func() { defer close(again); onOwnThread(f) }()
	<-again
	runtime.UnlockOSThread()
}

// stand is the thread.
func (n *Namespace) stand(nameserver string, ready chan<- error) {
	defer close(n.done)
	if err := enter(nameserver); err != nil {
		ready <- err
		return
	}
	ready <- nil
	for {
		select {
		case call := <-n.calls:
			call()
		case <-n.stop:
			return
		}
	}
}

// enter puts the thread into new namespaces of network and mounts.
func enter(nameserver string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
		return refused("make a network namespace", err)
	}
	// Later unmounts of the machine, such as of a removed disk, apply here too. Mounts made here
	// stay here.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return refused("keep mounts apart", err)
	}
	return ownNames(nameserver)
}

// ownNames lays a resolv.conf over the machine's, for this thread and what it starts.
func ownNames(nameserver string) error {
	const what = "give the namespace a nameserver"
	over, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if errors.Is(err, os.ErrNotExist) {
		return nil // programs then ask this machine, in a namespace where only we answer
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	// It is in a file system that nobody else sees and that ends with the namespace, however this
	// program ends.
	tmp := os.TempDir()
	if err := unix.Mount("eideticker", tmp, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
		"size=64k,mode=0755"); err != nil {
		return refused(what, err)
	}
	mine := filepath.Join(tmp, "resolv.conf")
	text := []byte("nameserver " + nameserver + "\noptions timeout:60 attempts:1\n")
	if err := errors.Join(os.WriteFile(mine, text, 0o644), os.Chmod(mine, 0o644)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := unix.Mount(mine, over, "", unix.MS_BIND, ""); err != nil {
		return refused(what, err)
	}
	if err := unix.Unmount(tmp, unix.MNT_DETACH); err != nil { // the other mount keeps it
		return refused(what, err)
	}
	return nil
}

// Do calls f in the namespace. Sockets that it opens and programs that it starts stay in it;
// goroutines that it starts do not.
func (n *Namespace) Do(f func() error) error {
	result := make(chan error, 1)
	select {
	case n.calls <- func() { result <- f() }:
		return <-result
	case <-n.done:
		return net.ErrClosed
	}
}

// Start starts a program in the namespace. It is killed when the namespace is closed, or this
// process ends.
func (n *Namespace) Start(cmd *exec.Cmd) error { return n.StartBy(cmd, (*exec.Cmd).Start) }

// StartBy is Start by another function, which must start the program on the thread that calls it.
func (n *Namespace) StartBy(cmd *exec.Cmd, begin func(*exec.Cmd) error) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if cmd.SysProcAttr.Pdeathsig == 0 {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL // when the thread that started it ends, which is ours
	}
	return n.Do(func() error { return begin(cmd) })
}

// Listen listens at an address of the namespace.
func (n *Namespace) Listen(network, address string) (l net.Listener, err error) {
	err = n.Do(func() (err error) { l, err = net.Listen(network, address); return err })
	return l, err
}

// ListenPacket does so for packets.
func (n *Namespace) ListenPacket(network, address string) (c net.PacketConn, err error) {
	err = n.Do(func() (err error) { c, err = net.ListenPacket(network, address); return err })
	return c, err
}

// Dial connects to an address, not a name: names would be asked from another thread. Several calls
// may wait at once.
func (n *Namespace) Dial(ctx context.Context, network, address string) (c net.Conn, err error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if net.ParseIP(host) == nil {
		return nil, fmt.Errorf("dial %s in a namespace: it is not an address", address)
	}
	var here *os.File
	if err := n.Do(func() (err error) { here, err = os.Open("/proc/thread-self/ns/net"); return err }); err != nil {
		return nil, err
	}
	defer here.Close()
	dialled := make(chan struct{})
	go onOwnThread(func() {
		defer close(dialled)
		if err = unix.Setns(int(here.Fd()), unix.CLONE_NEWNET); err != nil {
			err = refused("enter a network namespace", err)
			return
		}
		c, err = new(net.Dialer).DialContext(ctx, network, address)
	})
	<-dialled
	return c, err
}

// Close lets go of it. Programs and sockets in it stay in it.
func (n *Namespace) Close() error {
	n.once.Do(func() { close(n.stop) })
	<-n.done
	return nil
}
