//go:build (amd64 || arm64 || riscv64 || loong64) && !rigvm

package v4l2

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

// tree is /dev and /sys of a machine, and the devices in it.
type tree struct {
	t     *testing.T
	root  string
	nodes map[string]*treeNode
}

// treeNode is a device that says who it is, and nothing more.
type treeNode struct {
	*fakeDriver
	card, bus string
	denied    bool
}

func (n *treeNode) ioctl(request uintptr, arg unsafe.Pointer) error {
	err := n.fakeDriver.ioctl(request, arg)
	if request == vidiocQueryCap && err == nil {
		c := as[capability](arg)
		c.card, c.busInfo = [32]byte{}, [32]byte{}
		copy(c.card[:], n.card)
		copy(c.busInfo[:], n.bus)
	}
	return err
}

func newTree(t *testing.T) *tree {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &tree{t: t, root: root, nodes: map[string]*treeNode{}}
}

func (r *tree) finder() finder { return finder{root: r.root, open: r.open} }

func (r *tree) open(path string) (node, error) {
	n := r.nodes[path]
	switch {
	case n == nil:
		return nil, fmt.Errorf("%w: %s", errNoDevice, path)
	case n.denied:
		return nil, fmt.Errorf("open %s: %w", path, os.ErrPermission)
	}
	return n, nil
}

// plug adds a node /dev/videoN of a card at a bus, which is the node of that index there.
func (r *tree) plug(number int, card, bus string, index int) *treeNode {
	r.t.Helper()
	name := fmt.Sprintf("video%d", number)
	path := "/dev/" + name
	parent := r.root + "/sys/devices/" + bus
	class := r.root + "/sys/class/video4linux/" + name
	for _, dir := range []string{r.root + "/dev", parent, class} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			r.t.Fatal(err)
		}
	}
	r.write(r.root+path, "")
	r.write(class+"/index", fmt.Sprintf("%d\n", index))
	r.link(parent, class+"/device")
	r.nodes[path] = &treeNode{fakeDriver: newFake(r.t), card: card, bus: bus}
	return r.nodes[path]
}

func (r *tree) unplug(number int) {
	r.t.Helper()
	path := fmt.Sprintf("/dev/video%d", number)
	delete(r.nodes, path)
	for _, p := range []string{r.root + path, r.root + "/sys/class/video4linux/" + filepath.Base(path)} {
		if err := os.RemoveAll(p); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *tree) write(path, text string) {
	r.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *tree) link(to, path string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		r.t.Fatal(err)
	}
}

// known returns what /dev/videoN is known by.
func (r *tree) known(number int) identity {
	r.t.Helper()
	path := fmt.Sprintf("/dev/video%d", number)
	d, err := newDevice(r.nodes[path], path)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.finder().identify(d)
}

// A device comes back, perhaps under another number, beside others that may say the same of
// themselves.
func TestFindAgain(t *testing.T) {
	for _, tc := range []struct {
		name  string
		known int         // /dev/video that was recorded
		link  string      // of it, if it has one
		later func(*tree) // after it has gone
		want  string      // node
		why   string      // in the error
	}{
		{"not back", 0, "", func(r *tree) { r.unplug(0); r.unplug(1) }, "", ""},
		{"at its place", 0, "", func(r *tree) {}, "/dev/video0", ""},
		{"under another number", 0, "", func(r *tree) {
			r.unplug(0)
			r.unplug(1)
			r.plug(7, "Card", "usb-1", 0)
			r.plug(8, "Card", "usb-1", 1)
		}, "/dev/video7", ""},
		{"the second node of its card under another number", 1, "", func(r *tree) {
			r.unplug(0)
			r.unplug(1)
			r.plug(7, "Card", "usb-1", 0)
			r.plug(8, "Card", "usb-1", 1)
		}, "/dev/video8", ""},
		{"the card's other node only, so far", 1, "", func(r *tree) { r.unplug(1) }, "", ""},
		{"its number is another node's of the card now", 0, "", func(r *tree) {
			r.unplug(0)
			r.unplug(1)
			r.plug(0, "Card", "usb-1", 1)
			r.plug(1, "Card", "usb-1", 0)
		}, "/dev/video1", ""},
		{"its number is another card's now", 0, "", func(r *tree) {
			r.unplug(0)
			r.plug(0, "Other", "usb-1", 0)
		}, "", ""},
		{"another port", 0, "", func(r *tree) {
			r.unplug(0)
			r.plug(0, "Card", "usb-2", 0)
		}, "", ""},
		{"without an entry in sysfs", 0, "", func(r *tree) {
			r.unplug(0)
			r.unplug(1)
			r.plug(5, "Card", "usb-1", 0)
			if err := os.RemoveAll(r.root + "/sys"); err != nil {
				t.Fatal(err)
			}
		}, "/dev/video5", ""},
		{"by its link", 0, "/dev/v4l/by-id/usb-Card-video-index0", func(r *tree) {
			r.unplug(0)
			r.plug(9, "Card", "usb-2", 0)
			if err := os.Remove(r.root + "/dev/v4l/by-id/usb-Card-video-index0"); err != nil {
				t.Fatal(err)
			}
			r.link("../../video9", r.root+"/dev/v4l/by-id/usb-Card-video-index0")
		}, "/dev/video9", ""},
		{"not for us", 0, "", func(r *tree) {
			r.unplug(0)
			r.plug(0, "Card", "usb-1", 0).denied = true
		}, "", "permission denied"},
		{"not for us, under another number", 0, "", func(r *tree) {
			r.unplug(0)
			r.plug(6, "Card", "usb-1", 0).denied = true
		}, "", "open /dev/video6: permission denied"},
		{"somebody else's is not for us", 0, "", func(r *tree) {
			r.unplug(0)
			r.plug(6, "Card", "usb-3", 0).denied = true
		}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newTree(t)
			r.plug(0, "Card", "usb-1", 0)
			r.plug(1, "Card", "usb-1", 1)
			if tc.link != "" {
				r.link("../../video0", r.root+tc.link)
			}
			id := r.known(tc.known)
			if id.link != tc.link || id.index != tc.known || id.parent != "/sys/devices/usb-1" {
				t.Errorf("it is known as %+v", id)
			}
			tc.later(r)
			got, err := r.finder().seek(id, fmt.Sprintf("/dev/video%d", tc.known))
			if got != tc.want {
				t.Errorf("found %q, want %q", got, tc.want)
			}
			if (err != nil) != (tc.why != "") || err != nil && !strings.Contains(err.Error(), tc.why) {
				t.Errorf("the reason is %v, want %q", err, tc.why)
			}
		})
	}
}

// Of two nodes that say the same, that at the place of the device is taken.
func TestFindAgainPrefersItsPlace(t *testing.T) {
	r := newTree(t)
	r.plug(4, "Card", "usb-1", 0)
	id := r.known(4)
	r.unplug(4)
	r.plug(2, "Card", "usb-1", 0)
	other := r.root + "/sys/class/video4linux/video2/device"
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	r.link(r.root+"/dev", other) // some other folder
	r.plug(6, "Card", "usb-1", 0)
	if got, err := r.finder().seek(id, "/dev/video4"); got != "/dev/video6" {
		t.Errorf("found %q, %v", got, err)
	}
}

// A recording goes on from a node of another number, and says which.
func TestReturnsUnderAnotherNumber(t *testing.T) {
	r := newTree(t)
	first := r.plug(0, "Card", "usb-1", 0)
	first.frames(2)
	first.then(func() ready {
		first.gone = true
		r.unplug(0)
		second := r.plug(3, "Card", "usb-1", 0)
		second.clock, second.over = first.clock, first.over
		second.frames(2)
		return ready{frame: true}
	})
	s := r.source("/dev/video0")
	p, err := first.record(s, 16, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.metas) != 4 || len(p.events) == 0 {
		t.Fatalf("%d frames, told %q", len(p.metas), p.kinds)
	}
	checkKinds(t, p, "device gone", "device back")
	if last := string(p.events[len(p.events)-1].Data); !strings.Contains(last, "/dev/video3") {
		t.Errorf("told %s", last)
	}
}

// The reason why a returned device cannot be used is one event, after it has lasted.
//
// Fault: The capture device is unplugged and returns
func TestReturnsButNotForUs(t *testing.T) {
	f := newFake(t)
	looks := 0
	seek := func(identity, string) (string, error) {
		f.clock.now = f.clock.now.Add(mayPass)
		if looks++; looks < 4 {
			return "", fmt.Errorf("open /dev/fake: %w", os.ErrPermission)
		}
		return "/dev/fake", nil
	}
	f.frames(1)
	f.then(func() ready {
		f.vanish()
		return ready{frame: true}
	})
	f.frames(1)
	src, err := openWith(t.Context(), "/dev/fake", nil, f.open, seek)
	if err != nil {
		t.Fatal(err)
	}
	src.(*source).clock = f.clock
	p, err := f.record(src.(*source), 16, true)
	if err != nil {
		t.Fatal(err)
	}
	checkKinds(t, p, "device gone", "device not usable", "device back")
	if len(p.events) == 3 && !strings.Contains(string(p.events[1].Data), "permission denied") {
		t.Errorf("told %s", p.events[1].Data)
	}
}

// source opens a source in the tree. It knows its device by what the machine's own tree says, so
// that its identity is replaced.
func (r *tree) source(path string) *source {
	r.t.Helper()
	src, err := openWith(r.t.Context(), path, nil, r.open, r.finder().seek)
	if err != nil {
		r.t.Fatal(err)
	}
	s := src.(*source)
	s.clock, s.same = r.nodes[path].clock, r.known(0)
	return s
}

func checkKinds(t *testing.T, p played, want ...string) {
	t.Helper()
	if fmt.Sprint(p.kinds) != fmt.Sprint(want) {
		t.Errorf("told %q, want %q", p.kinds, want)
	}
}
