//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// identity is what a device is known by when it comes back, perhaps under another number.
type identity struct {
	link              string // below /dev/v4l, "" if there was none
	path              string
	driver, card, bus string
	place
}

// place is where sysfs has a node: a card may have several that say the same of themselves.
type place struct {
	parent string // folder of the device that the node belongs to, "" if not known
	index  int    // of the node among those of its device, -1 if not known
}

// after returns the identity of a device that has come back. It keeps the link, which udev may not
// have made again yet.
func (id identity) after(before identity) identity {
	id.link = before.link
	if id.index < 0 {
		id.index = before.index
	}
	return id
}

func identify(d *device) identity { return machine().identify(d) }

func videoNodes() []string { return machine().videoNodes() }

func stableLink(path string) string { return machine().stableLink(path) }

// findAgain looks for a device on this machine; see finder.
func findAgain(id identity, path string) (string, error) { return machine().seek(id, path) }

// finder finds devices in a tree of files, which is that of the machine but in tests.
type finder struct {
	root string
	open func(path string) (node, error) // path as seen from root
}

func machine() finder {
	return finder{root: "/", open: func(path string) (node, error) { return openNode(path) }}
}

func (f finder) identify(d *device) identity {
	return identity{link: f.stableLink(d.path), path: d.path, driver: d.driver, card: d.card, bus: d.bus,
		place: f.place(d.path)}
}

// seek returns the node of a device that was known as id, or "": where its link points, else one
// that says the same of itself and is the same node of its card. Of several that one is taken which
// has the same parent, or the same path as before. The error says why a node that may be the
// device's cannot be asked.
func (f finder) seek(id identity, path string) (string, error) {
	if id.link != "" {
		if target, ok := f.resolve(id.link); ok {
			return target, nil
		}
	}
	var found string
	var why error
	best := 0
	for _, p := range append([]string{path}, f.videoNodes()...) {
		at := f.place(p)
		if id.index >= 0 && at.index >= 0 && at.index != id.index {
			continue // another node of the card
		}
		near := 1
		if id.parent != "" && at.parent == id.parent {
			near = 2
		}
		same, err := f.says(p, id)
		switch {
		case err != nil && !errors.Is(err, errNoDevice) && (p == path || near == 2) && why == nil:
			why = err
		case same && near > best:
			found, best = p, near
		}
	}
	if found != "" {
		return found, nil
	}
	return "", why
}

// says asks a node what it is.
func (f finder) says(path string, id identity) (same bool, err error) {
	n, err := f.open(path)
	if err != nil {
		return false, err
	}
	d, err := newDevice(n, path)
	if closeErr := n.close(); err != nil || closeErr != nil {
		return false, errors.Join(err, closeErr)
	}
	return d.driver == id.driver && d.card == id.card && d.bus == id.bus, nil
}

// place asks sysfs.
func (f finder) place(path string) place {
	at := place{index: -1}
	target, ok := f.resolve(path)
	if !ok {
		target = path
	}
	folder := "/sys/class/video4linux/" + filepath.Base(target)
	if b, err := os.ReadFile(f.file(folder + "/index")); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && n >= 0 {
			at.index = n
		}
	}
	at.parent, _ = f.resolve(folder + "/device")
	return at
}

// videoNodes lists /dev/video*, by number.
func (f finder) videoNodes() []string {
	all, _ := filepath.Glob(f.file("/dev/video*")) // its only error is of the pattern
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	for i := range all {
		all[i] = f.inside(all[i])
	}
	return all
}

// stableLink returns a name of a node that does not depend on the order of detection, or "".
func (f finder) stableLink(path string) string {
	target, ok := f.resolve(path)
	if !ok {
		return ""
	}
	for _, folder := range []string{"/dev/v4l/by-id", "/dev/v4l/by-path"} {
		entries, err := os.ReadDir(f.file(folder))
		if err != nil {
			continue
		}
		for _, e := range entries {
			link := filepath.Join(folder, e.Name())
			if to, ok := f.resolve(link); ok && to == target {
				return link
			}
		}
	}
	return ""
}

// resolve follows links to the node.
func (f finder) resolve(path string) (string, bool) {
	target, err := filepath.EvalSymlinks(f.file(path))
	return f.inside(target), err == nil
}

// file is a path of the tree, as the machine has it; inside is the reverse.
func (f finder) file(path string) string { return filepath.Join(f.root, path) }

func (f finder) inside(path string) string {
	if f.root == "/" {
		return path
	}
	return strings.TrimPrefix(path, f.root)
}
