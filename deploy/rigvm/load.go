//go:build linux

package rigvm

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"syscall"

	"github.com/eideticker/eideticker/deploy/rigvm/internal/wire"
)

// loadModule loads a module and its dependencies. It rejects options for a module that is already
// loaded.
func (vm *VM) loadModule(ctx context.Context, m Module) error {
	if err := vm.load(ctx, m); err != nil {
		return fmt.Errorf("load module %s: %w", m.Name, err)
	}
	return nil
}

func (vm *VM) load(ctx context.Context, m Module) error {
	files, contents, err := vm.readModule(ctx, m)
	if err != nil {
		return err
	}
	for i, f := range files {
		in := path.Join(guestModules, f.name())
		if err := vm.putModule(ctx, in, contents[i]); err != nil {
			return err
		}
		last := i == len(files)-1
		q := wire.Call{Op: wire.Load, Path: in}
		if last {
			q.Params = strings.Join(m.Options, " ")
		}
		_, err := vm.do(ctx, q, nil, nil)
		switch {
		case err == nil:
		case errors.Is(err, syscall.EEXIST) && (!last || len(m.Options) == 0):
		case errors.Is(err, syscall.ENODEV) && !last: // a faster variant for another processor
		default:
			return err
		}
	}
	return nil
}

// readModule reads a module's files from the kernel that the machine was started with.
func (vm *VM) readModule(ctx context.Context, m Module) ([]moduleFile, [][]byte, error) {
	k, err := reopenKernel(ctx, vm.programs, vm.tree)
	if err != nil {
		return nil, nil, err
	}
	defer k.close()
	files, err := k.resolve(ctx, m)
	contents := make([][]byte, len(files))
	for i, f := range files {
		if err == nil {
			contents[i], err = k.read(f.path)
		}
	}
	return files, contents, err
}

// putModule gives the guest a module's file, once.
func (vm *VM) putModule(ctx context.Context, in string, content []byte) error {
	vm.mu.Lock()
	have := vm.loaded[in]
	vm.mu.Unlock()
	if have {
		return nil
	}
	if err := vm.writeFile(ctx, in, content, 0o644); err != nil {
		return err
	}
	vm.mu.Lock()
	defer vm.mu.Unlock()
	vm.loaded[in] = true
	return nil
}

// UnloadModule unloads one module, which must not be in use.
func (vm *VM) UnloadModule(ctx context.Context, name string) error {
	if !moduleName.MatchString(name) {
		return fmt.Errorf("unload module: %q is not a name of one", name)
	}
	if _, err := vm.do(ctx, wire.Call{Op: wire.Unload, Path: strings.ReplaceAll(name, "-", "_")}, nil,
		nil); err != nil {
		return fmt.Errorf("unload module %s: %w", name, err)
	}
	return nil
}
