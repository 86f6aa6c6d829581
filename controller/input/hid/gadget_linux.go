package hid

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// configRoot is where gadgets are made: Documentation/usb/gadget_configfs.rst.
const configRoot = "/sys/kernel/config/usb_gadget"

// gadget is one in configfs.
type gadget struct {
	dir string
	udc string
}

// plug sets up a gadget with functions and binds it to a port. The host sees it from then on.
func plug(all []function, udc string) (*gadget, error) {
	if _, err := os.Stat(configRoot); err != nil {
		return nil, fmt.Errorf("%w: run modprobe libcomposite, and mount configfs at /sys/kernel/config", err)
	}
	removeLeftovers(configRoot)
	ports, err := freePorts(udc)
	if err != nil {
		return nil, err
	}
	dir, err := makeOwn(configRoot)
	if err != nil {
		return nil, fmt.Errorf("make a gadget: %w", err)
	}
	g := &gadget{dir: dir}
	err = g.describe(all)
	if err == nil {
		err = g.bind(ports)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up %s: %w", dir, err), g.unplug())
	}
	return g, nil
}

// freePorts returns the ports to try: those that no gadget has.
func freePorts(udc string) (free []string, err error) {
	all, err := filepath.Glob(udcClass + "/*")
	if err != nil {
		return nil, err
	}
	var taken []string
	for _, path := range all {
		name := filepath.Base(path)
		if udc != "" && udc != name {
			continue
		}
		if by, err := readLine(filepath.Join(path, "function")); err == nil && by != "" {
			taken = append(taken, fmt.Sprintf("port %s is taken by gadget %s", name, by))
			continue
		}
		free = append(free, name)
	}
	switch {
	case len(free) > 0:
		return free, nil
	case len(taken) > 0:
		return nil, fmt.Errorf("%s: %w", strings.Join(taken, ", "), unix.EBUSY)
	case udc != "":
		return nil, fmt.Errorf("port %s not found below %s: %w", udc, udcClass, fs.ErrNotExist)
	}
	return nil, fmt.Errorf("this machine has no USB device port: %w; use a board and its agent", errors.ErrUnsupported)
}

// Numbers that a host sees: the Linux Foundation's for a gadget of several functions, in US
// English.
const (
	vendor  = "0x1d6b"
	product = "0x0104"
	strs    = "strings/0x409"
	config  = "configs/c.1"
)

// describe writes down what the gadget is.
func (g *gadget) describe(all []function) error {
	for _, dir := range []string{strs, config, config + "/" + strs} {
		if err := g.mkdir(dir); err != nil {
			return err
		}
	}
	for _, a := range [][2]string{
		{"idVendor", vendor}, {"idProduct", product}, {"bcdDevice", version(all)}, {"bcdUSB", "0x0200"},
		{strs + "/manufacturer", "Eideticker"}, {strs + "/product", "Eideticker keyboard, mouse and touch screen"},
		{strs + "/serialnumber", "eideticker"},
		{config + "/bmAttributes", "0x80"}, {config + "/MaxPower", "100"},
		{config + "/" + strs + "/configuration", "input"},
	} {
		if err := g.write(a[0], a[1]); err != nil {
			return err
		}
	}
	for _, f := range all {
		if err := g.add(f); err != nil {
			return err
		}
	}
	return nil
}

// add makes a function and links it into the configuration.
func (g *gadget) add(f function) error {
	dir := "functions/hid." + string(f.kind)
	if err := g.mkdir(dir); err != nil {
		if errors.Is(err, unix.ENODEV) {
			err = fmt.Errorf("%w: the kernel has four such functions for all gadgets together: leave some out", err)
		}
		return err
	}
	for _, a := range [][2]string{
		{"subclass", strconv.Itoa(f.subclass)}, {"protocol", strconv.Itoa(f.protocol)},
		{"report_length", strconv.Itoa(f.size)}, {"report_desc", string(f.descriptor)},
	} {
		if err := g.write(dir+"/"+a[0], a[1]); err != nil {
			return err
		}
	}
	// The lights of a keyboard come by the control endpoint then, where nobody has to read them.
	// interval is how often a host is to ask, in units that the kernel turns into those of each
	// speed. Older kernels have neither.
	for _, a := range [][2]string{{"no_out_endpoint", "1"}, {"interval", "1"}} {
		if err := g.write(dir+"/"+a[0], a[1]); err != nil && !errors.Is(err, fs.ErrNotExist) &&
			!errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return os.Symlink(filepath.Join(g.dir, dir), filepath.Join(g.dir, config, "hid."+string(f.kind)))
}

// bind gives the gadget the first port that takes it.
func (g *gadget) bind(ports []string) error {
	var errs []error
	for _, name := range ports {
		err := g.write("UDC", name)
		if err == nil {
			g.udc = name
			return nil
		}
		errs = append(errs, fmt.Errorf("port %s: %w", name, err))
	}
	return errors.Join(errs...)
}

func (g *gadget) mkdir(name string) error {
	err := os.Mkdir(filepath.Join(g.dir, name), 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// write sets an attribute. It is there already, or the kernel has none of that name.
func (g *gadget) write(name, value string) error {
	f, err := os.OpenFile(filepath.Join(g.dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// unplug removes the gadget: each part before its parent.
func (g *gadget) unplug() error {
	if g == nil {
		return nil
	}
	if err := g.write("UDC", "\n"); err != nil && !errors.Is(err, unix.ENODEV) && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("take %s from its port: %w", g.dir, err)
	}
	for _, pattern := range []string{"configs/*/*", "configs/*/strings/*", "configs/*", "functions/*", "strings/*",
		""} {
		if err := g.remove(pattern); err != nil {
			return fmt.Errorf("take down the gadget: %w", err)
		}
	}
	return nil
}

// remove removes what fits a pattern and is ours to remove: links to functions, and folders that we
// made.
func (g *gadget) remove(pattern string) error {
	paths, err := filepath.Glob(filepath.Join(g.dir, pattern))
	if err != nil {
		return err
	}
	for _, path := range paths {
		st, err := os.Lstat(path)
		link := err == nil && st.Mode()&fs.ModeSymlink != 0
		if err != nil || link != (pattern == "configs/*/*") || !link && !st.IsDir() {
			continue
		}
		remove := unix.Rmdir
		if link {
			remove = unix.Unlink
		}
		if err := remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &os.PathError{Op: "remove", Path: path, Err: err}
		}
	}
	return nil
}

// nodeOf returns the node of a function that is bound: its attribute dev has the number.
func nodeOf(function string) (string, error) {
	number, err := readLine(filepath.Join(function, "dev"))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile("/sys/dev/char/" + number + "/uevent")
	if err != nil {
		return "", fmt.Errorf("%s is not at a port: %w", function, err)
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "DEVNAME="); ok && filepath.IsLocal(name) {
			return filepath.Join("/dev", name), nil
		}
	}
	return "", fmt.Errorf("the kernel does not name the node of %s", function)
}

func readLine(path string) (string, error) {
	text, err := os.ReadFile(path)
	return strings.TrimSpace(string(text)), err
}
