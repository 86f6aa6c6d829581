//go:build linux

package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// load loads one module file. The host has put those that it needs before it.
func load(path, params string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), params, 0); err != nil {
		return fmt.Errorf("load module %s: %w", path, err)
	}
	return mountConfigfs()
}

func unload(name string) error {
	if err := unix.DeleteModule(name, unix.O_NONBLOCK); err != nil {
		return fmt.Errorf("unload module %s: %w", name, err)
	}
	return nil
}
