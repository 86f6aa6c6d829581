package hid

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// interfaceOf is a function that is there, and its node.
type interfaceOf struct {
	kind kind
	node string
}

// find returns the functions of a node's gadget, as far as they are like ours, and its port. The
// port is "" if it is unknown.
func find(node string, as kind) (all []interfaceOf, udc string, err error) {
	number, err := numberOf(node)
	if err != nil {
		return nil, "", err
	}
	dirs, err := filepath.Glob(configRoot + "/*/functions/hid.*")
	if err != nil {
		return nil, "", err
	}
	for _, dir := range dirs {
		if has, err := readLine(filepath.Join(dir, "dev")); err == nil && has == number {
			return gadgetOf(filepath.Dir(filepath.Dir(dir)), dir, as)
		}
	}
	if as == "" {
		return nil, "", fmt.Errorf("no gadget below %s has %s: say what it is (as=keyboard, mouse, touch, …)",
			configRoot, node)
	}
	return []interfaceOf{{as, node}}, "", nil
}

// numberOf returns the number of a node as sysfs writes it.
func numberOf(node string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(node, &st); err != nil {
		return "", &os.PathError{Op: "find", Path: node, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return "", fmt.Errorf("%s is not a device node", node)
	}
	return fmt.Sprintf("%d:%d", unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev))), nil
}

// gadgetOf returns the functions of a gadget: all known ones, or the one that was requested by
// kind.
func gadgetOf(gadget, asked string, as kind) (all []interfaceOf, udc string, err error) {
	udc, err = readLine(filepath.Join(gadget, "UDC"))
	if err != nil {
		return nil, "", err
	}
	if udc == "" {
		return nil, "", fmt.Errorf("%s is not at a port", gadget)
	}
	dirs := []string{asked}
	if as == "" {
		if dirs, err = filepath.Glob(gadget + "/configs/*/hid.*"); err != nil {
			return nil, "", err
		}
	}
	var taken [parts]bool
	for _, dir := range dirs {
		kind := as
		if kind == "" {
			descriptor, err := os.ReadFile(filepath.Join(dir, "report_desc"))
			if err != nil {
				return nil, "", err
			}
			kind = recognise(descriptor)
		}
		if kind == "" || taken[kind.part()] {
			continue
		}
		node, err := nodeOf(dir)
		if err != nil {
			return nil, "", err
		}
		taken[kind.part()] = true
		all = append(all, interfaceOf{kind, node})
	}
	if len(all) == 0 {
		return nil, "", fmt.Errorf(
			"no function of %s speaks as ours do: set one up with this program, or say what the node is (as=…): %w",
			gadget, errors.ErrUnsupported)
	}
	return all, udc, nil
}
