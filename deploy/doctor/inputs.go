package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Phones is what the adb server of this machine knows.
type Phones struct {
	Attached []Phone
	Err      error // why it could not be asked
}

// Phone is a device on it, and its state: "device" if it can be used.
type Phone struct{ Serial, State string }

// Agent is what the agent of a device, which records profiles, answered.
type Agent struct {
	Device, System string
	Err            error // why it cannot record
}

// agents adds a finding for each agent of the file of devices.
func (b *Box) agents(g *group) {
	for _, a := range b.Agents {
		f := Finding{ID: "profile-agent", Object: a.Device, Found: "the agent can record samples: " + a.System}
		if a.Err != nil {
			f.Level, f.Found, f.Advice = Warn, a.Err.Error(), "Start the agent there, with the token of devices.yaml."
			if a.System != "" {
				f.Advice = "Repair that on the device."
			}
		}
		g.add(f)
	}
}

// inputs says by which ways a hand can reach devices from here.
func (b *Box) inputs(g *group) {
	b.uinput(g)
	b.gadget(g)
	b.phones(g)
	b.agents(g)
}

// rights is what to do where a node of ours cannot be opened.
const rights = "Join the group that owns it (ls -l %s), which the package's udev rules make, and log in again."

func (b *Box) uinput(g *group) {
	const node = "dev/uinput"
	f := Finding{ID: "uinput", Object: "/" + node,
		Found: "this machine can be its own keyboard, mouse and touch screen"}
	switch err := b.access(node); {
	case errors.Is(err, fs.ErrNotExist):
		f.Level, f.Found, f.Advice = Info, "is not there",
			"Run sudo modprobe uinput if a device of this machine takes the input uinput."
	case err != nil:
		f.Level, f.Found = Info, "cannot be opened: "+reason(err)
		f.Advice = fmt.Sprintf(rights, f.Object)
	}
	g.add(f)
}

// gadget says whether this machine can be a keyboard of another one's.
func (b *Box) gadget(g *group) {
	nodes, _ := fs.Glob(b.Root, "dev/hidg[0-9]*")
	for _, node := range nodes {
		f := Finding{ID: "hid-gadget", Object: "/" + node,
			Found: "this machine is a keyboard, a mouse or a touch screen of the connected device"}
		if err := b.access(node); err != nil {
			f.Level, f.Found, f.Advice = Warn, "cannot be opened: "+reason(err), fmt.Sprintf(rights, f.Object)
		}
		g.add(f)
	}
	if len(nodes) > 0 {
		return
	}
	f := Finding{ID: "hid-gadget", Level: Info}
	ports, _ := fs.ReadDir(b.Root, "sys/class/udc")
	switch {
	case len(ports) == 0:
		f.Found = "no USB port of this machine can be a device"
		f.Advice = "Only the input hid needs one: run the agent (controller/input/hid/agent) on a small board."
	case !b.exists("sys/kernel/config/usb_gadget"):
		f.Found = fmt.Sprintf("the USB port %s can be a device, and the kernel's part for it is not loaded",
			ports[0].Name())
		f.Advice = "Run sudo modprobe libcomposite, and mount configfs at /sys/kernel/config."
	default:
		f.Found = fmt.Sprintf("the USB port %s can be a device, and none is set up", ports[0].Name())
		f.Advice = "The agent of controller/input/hid sets one up as root; name its node, such as hid:/dev/hidg0."
	}
	g.add(f)
}

func (b *Box) phones(g *group) {
	switch {
	case b.Phones.Err != nil:
		f := Finding{ID: "adb", Level: Info, Found: "the adb server does not answer: " + reason(b.Phones.Err),
			Advice: "Start it with adb start-server, as the user that runs tests, if phones are to be tested."}
		if _, err := b.LookPath("adb"); err != nil {
			f.Found, f.Advice = "not installed; input of phones goes through it",
				"Install it with sudo apt install adb if phones are to be tested."
		}
		g.add(f)
		return
	case len(b.Phones.Attached) == 0:
		g.add(Finding{ID: "adb", Found: "the adb server answers, and no phone is attached"})
	}
	for _, p := range b.Phones.Attached {
		f := Finding{ID: "adb", Object: p.Serial, Found: "phone, ready"}
		if p.State != "device" {
			f.Level, f.Found = Warn, "phone, "+p.State
			f.Advice = "Plug it in anew, and allow the debugging over USB from this computer on its screen, for always."
		}
		g.add(f)
	}
}

// access asks whether this user may read and write a node.
func (b *Box) access(node string) error {
	if !b.exists(node) {
		return fs.ErrNotExist
	}
	return b.Access("/" + node)
}

// reason is the last part of an error. The finding has the parts before it.
func reason(err error) string {
	text := err.Error()
	return strings.TrimSpace(text[strings.LastIndex(text, ": ")+1:])
}
