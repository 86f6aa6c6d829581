//go:build linux

package rigvm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/eideticker/eideticker/deploy/rigvm/internal/wire"
)

// VM is a machine that runs. Its methods may be called from several goroutines at once.
type VM struct {
	programs programs
	tree     string // of the unpacked kernel, in the cache
	cmd      *exec.Cmd
	console  *console
	conn     net.Conn // to the agent
	cfg      Config
	release  string // of the guest's kernel

	write sync.Mutex // one frame at a time
	out   []byte     // frame that is being written

	mu     sync.Mutex
	calls  map[uint32]*call
	last   uint32          // number of the last call
	loaded map[string]bool // names of module files that the guest has

	closing atomic.Bool   // the guest has been asked to turn itself off
	stop    chan error    // why to end it; the first counts
	done    chan struct{} // closed when nothing is left of it
	err     error         // why it ended; read after done
}

// start boots a machine, loads the modules and copies the files. The machine ends with ctx, its
// timeout, Close, Kill or this process. A *missingError names a requirement that this host lacks. A
// *diedError means that the guest did not come up.
func start(ctx context.Context, cfg Config) (*VM, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("start VM: %w", err)
	}
	p, err := findPrograms()
	if err != nil {
		return nil, fmt.Errorf("start VM: %w", err)
	}
	b, err := prepareInTime(ctx, p, cfg)
	if err != nil {
		return nil, fmt.Errorf("start VM: %w", err)
	}
	vm, err := launch(ctx, p, cfg, b)
	if err != nil {
		return nil, fmt.Errorf("start VM: %w", err)
	}
	if err := vm.setUp(ctx); err != nil {
		vm.Kill()
		return nil, fmt.Errorf("start VM: %w", err)
	}
	return vm, nil
}

// boot is what QEMU loads.
type boot struct {
	tree          string // where the kernel is from
	image, initrd []byte
}

// prepareInTime makes the disk and what QEMU loads, within the configuration's time for that. ctx
// lives as long as the machine, and may have no end.
func prepareInTime(ctx context.Context, p programs, cfg Config) (boot, error) {
	late := fmt.Errorf("the kernel was not prepared within %v: %w", cfg.PrepareTimeout, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.PrepareTimeout, late)
	defer cancel()
	var err error
	if cfg.Disk != nil {
		err = cfg.Disk.make(ctx)
	}
	var b boot
	if err == nil {
		b, err = prepareBoot(ctx, p, cfg)
	}
	if why := context.Cause(ctx); err != nil && why != nil && !errors.Is(err, why) {
		// the calls under way were killed, and their errors say no more
		err = fmt.Errorf("%w (%w)", why, err)
	}
	return b, err
}

// prepareBoot makes what QEMU loads. A damaged cache is made new, once.
func prepareBoot(ctx context.Context, p programs, cfg Config) (boot, error) {
	agent, err := buildGuest(ctx)
	if err != nil {
		return boot{}, err
	}
	b, err := readBoot(ctx, p, cfg, agent)
	var corrupt *corruptError
	if errors.As(err, &corrupt) {
		b, err = readBoot(ctx, p, cfg, agent)
	}
	return b, err
}

// readBoot reads the kernel from the cache. An unpacked kernel that is damaged is removed from it.
func readBoot(ctx context.Context, p programs, cfg Config, agent []byte) (boot, error) {
	k, err := openKernel(ctx, p)
	if err != nil {
		return boot{}, err
	}
	defer k.close()
	b := boot{tree: k.dir}
	if b.image, err = k.image(); err == nil {
		b.initrd, err = k.initramfs(ctx, cfg, agent)
	}
	var corrupt *corruptError
	if errors.As(err, &corrupt) {
		err = errors.Join(err, os.RemoveAll(corrupt.dir))
	}
	return b, err
}

// launch starts QEMU and what belongs to it.
func launch(ctx context.Context, p programs, cfg Config, b boot) (*VM, error) {
	var files opened
	defer files.close()
	kernelFile := files.memory("kernel", b.image)
	initrdFile := files.memory("initramfs", b.initrd)
	ours, theirs := files.pair()
	if files.err != nil {
		return nil, files.err
	}
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	vm := &VM{
		programs: p, tree: b.tree, cfg: cfg, conn: conn, console: &console{also: cfg.Console},
		calls: map[uint32]*call{}, loaded: map[string]bool{},
		stop: make(chan error, 1), done: make(chan struct{}),
	}
	vm.cmd = exec.Command(p.qemu, arguments(cfg)...)
	vm.cmd.ExtraFiles = []*os.File{theirs, kernelFile, initrdFile} // 3, 4, 5
	vm.cmd.Stdout, vm.cmd.Stderr = vm.console, vm.console
	vm.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	vm.cmd.WaitDelay = time.Second
	started := make(chan error)
	go vm.run(ctx, started)
	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("run QEMU: %w", err), conn.Close())
	}
	return vm, nil
}

// run owns the machine: it starts QEMU and returns when everything is cleaned up. The kernel sends
// the parent death signal when the *thread* that started a program ends. So that thread is kept for
// as long.
func (vm *VM) run(ctx context.Context, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := vm.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	defer close(vm.done)
	ctx, cancel := context.WithTimeoutCause(ctx, vm.cfg.Timeout, fmt.Errorf("it ran longer than its timeout of %v: %w",
		vm.cfg.Timeout, context.DeadlineExceeded))
	defer cancel()
	received := make(chan error, 1)
	go func() { received <- vm.receive() }() // ends when the connection is closed below
	exited := make(chan error, 1)
	go func() { exited <- vm.cmd.Wait() }() // ends with QEMU, which is killed below
	err = vm.watch(ctx, received, exited)
	_ = vm.conn.Close()
	<-received
	vm.err = err
	vm.endCalls()
}

// watch waits for the end of the machine, brings it about if it has to, and returns why.
func (vm *VM) watch(ctx context.Context, received chan error, exited <-chan error) error {
	var why error
	select {
	case err := <-exited:
		return vm.exited(err)
	case why = <-vm.stop:
	case <-ctx.Done():
		why = vm.console.died("the VM was ended: "+context.Cause(ctx).Error(), context.Cause(ctx))
	case err := <-received:
		received <- nil
		// QEMU closes the port when it exits; then its own end says more.
		select {
		case err := <-exited:
			return vm.exited(err)
		case <-time.After(time.Second):
			why = vm.console.died("the VM was ended: "+err.Error(), err)
		}
	}
	_ = vm.cmd.Process.Kill()
	<-exited
	return why
}

// exited says why QEMU has ended without being killed.
func (vm *VM) exited(err error) error {
	if vm.closing.Load() {
		return errClosed
	}
	reason := "the VM ended by itself"
	if err != nil {
		reason += ": " + err.Error()
	}
	return vm.console.died(reason, err)
}

// errClosed is why a machine has ended that was told to.
var errClosed = fmt.Errorf("the VM was turned off: %w", os.ErrClosed)

// setUp waits for the guest and gives it what the configuration says.
func (vm *VM) setUp(ctx context.Context) error {
	greeting := vm.register(0)
	boot := time.NewTimer(vm.cfg.BootTimeout)
	defer boot.Stop()
	select {
	case <-greeting.done:
	case <-vm.done:
		return vm.err
	case <-boot.C:
		vm.end(vm.console.died(fmt.Sprintf("the guest did not answer within %v of its start", vm.cfg.BootTimeout),
			context.DeadlineExceeded))
		return vm.err
	}
	if greeting.gone {
		<-vm.done
		return vm.err
	}
	if greeting.reply.Error != "" {
		return vm.console.died("the guest could not be set up: "+greeting.reply.Error, nil)
	}
	for _, m := range vm.cfg.Modules {
		if err := vm.loadModule(ctx, m); err != nil {
			return err
		}
	}
	for guest, host := range vm.cfg.Files {
		if err := vm.putFile(ctx, host, guest); err != nil {
			return err
		}
	}
	return nil
}

// end ends the machine for a reason, and waits until it is gone.
func (vm *VM) end(why error) {
	select {
	case vm.stop <- why:
	default: // another reason came first
	}
	<-vm.done
}

// Kill ends the machine as a power cut does: at once, nothing is flushed. It returns when nothing
// is left but the disk's file.
func (vm *VM) Kill() { vm.end(errClosed) }

// Close turns the machine off. Its disk, if any, is unmounted within some seconds. Then QEMU is
// ended. Close is idempotent. A machine that has died before is not an error.
func (vm *VM) Close() error {
	if vm.cfg.Disk != nil {
		ctx, cancel := context.WithTimeout(context.Background(), powerOffTime)
		defer cancel()
		vm.closing.Store(true)
		// The machine ends in the middle of this call if all goes well.
		_, _ = vm.do(ctx, wire.Call{Op: wire.PowerOff}, nil, nil)
	}
	vm.Kill()
	return nil
}

const powerOffTime = 20 * time.Second

// endError returns nil while the machine runs, and then why it ended. The error is os.ErrClosed
// after Close or Kill, else a *diedError.
func (vm *VM) endError() error {
	select {
	case <-vm.done:
		return vm.err
	default:
		return nil
	}
}

// receive hands frames to their calls until the connection ends.
func (vm *VM) receive() error {
	frames := wire.NewReader(bufio.NewReaderSize(vm.conn, wire.MaxPayload))
	for {
		f, err := frames.Read()
		if err != nil {
			return fmt.Errorf("read from the guest: %w", err)
		}
		vm.mu.Lock()
		c := vm.calls[f.Call]
		if f.Kind == wire.Done || f.Kind == wire.Hello {
			delete(vm.calls, f.Call)
		}
		vm.mu.Unlock()
		if c == nil {
			continue // cancelled, and given up
		}
		if err := vm.deliver(c, f); err != nil {
			return err
		}
	}
}

func (vm *VM) deliver(c *call, f wire.Frame) error {
	switch f.Kind {
	case wire.Hello:
		var g wire.Greeting
		if err := f.Unmarshal(&g); err != nil {
			return err
		}
		vm.release = g.Kernel
		c.reply.Error = g.Error
		close(c.done)
	case wire.Done:
		if err := f.Unmarshal(&c.reply); err != nil {
			return err
		}
		close(c.done)
	default:
		c.take(f.Kind, f.Payload)
	}
	return nil
}
