//go:build linux

package rigvm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/deploy/rigvm/internal/wire"
)

const (
	maxFile = 8 << 30 // of a file that is copied to the host
	maxRead = 64 << 20
)

// putFile copies a file into the guest, with its permission bits; folders are made as needed. The
// guest's root is in its memory.
func (vm *VM) putFile(ctx context.Context, host, guest string) error {
	f, err := os.Open(host)
	if err != nil {
		return fmt.Errorf("copy into the VM: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", host)
	}
	if err == nil {
		err = vm.put(ctx, f, guest, info.Mode())
	}
	if err != nil {
		return fmt.Errorf("copy %s to %s in the VM: %w", host, guest, err)
	}
	return nil
}

// writeFile writes a file in the guest: also one of sysfs, procfs or configfs, in one write if it
// has up to 64 KiB.
func (vm *VM) writeFile(ctx context.Context, guest string, content []byte, mode fs.FileMode) error {
	if err := vm.put(ctx, bytes.NewReader(content), guest, mode); err != nil {
		return fmt.Errorf("write %s in the VM: %w", guest, err)
	}
	return nil
}

func (vm *VM) put(ctx context.Context, r io.Reader, guest string, mode fs.FileMode) error {
	_, err := vm.do(ctx, wire.Call{Op: wire.Put, Path: guest, Mode: uint32(mode.Perm())}, nil, r)
	return err
}

// Get copies a file out of the guest. The host's file is there whole or not at all.
func (vm *VM) Get(ctx context.Context, guest, host string) error {
	tmp, err := os.CreateTemp(filepath.Dir(host), filepath.Base(host)+"-")
	if err != nil {
		return fmt.Errorf("copy out of the VM: %w", err)
	}
	defer os.Remove(tmp.Name())
	err = errors.Join(vm.get(ctx, guest, tmp, maxFile), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), host)
	}
	if err != nil {
		return fmt.Errorf("copy %s out of the VM to %s: %w", guest, host, err)
	}
	return nil
}

// ReadFile returns a file of the guest, of at most 64 MiB: also one of sysfs and the like, whose
// size is not known before.
func (vm *VM) ReadFile(ctx context.Context, guest string) ([]byte, error) {
	var b bytes.Buffer
	if err := vm.get(ctx, guest, &b, maxRead); err != nil {
		return nil, fmt.Errorf("read %s in the VM: %w", guest, err)
	}
	return b.Bytes(), nil
}

// get writes a file of the guest to w, as long as it has at most limit bytes.
func (vm *VM) get(ctx context.Context, guest string, w io.Writer, limit int64) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var n int64
	var failed error
	_, err := vm.do(ctx, wire.Call{Op: wire.Get, Path: guest}, func(_ wire.Kind, b []byte) {
		if failed != nil {
			return
		}
		if n += int64(len(b)); n > limit {
			failed = fmt.Errorf("it has more than %d bytes", limit)
		} else {
			_, failed = w.Write(b)
		}
		if failed != nil {
			stop(failed)
		}
	}, nil)
	return err
}
