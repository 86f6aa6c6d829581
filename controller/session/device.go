package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/machine"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/adb"
	"github.com/eideticker/eideticker/controller/input/hid"
	"github.com/eideticker/eideticker/controller/input/remote"
	"github.com/eideticker/eideticker/controller/input/uinput"
	"github.com/eideticker/eideticker/controller/input/x11"
	"github.com/eideticker/eideticker/controller/profile"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/controller/suite"
)

// Device runs tests, one at a time.
type Device interface {
	// Name returns the name in devices.yaml.
	Name() string
	// Open prepares the device for one run.
	Open(ctx context.Context, w Wanted) (Stage, error)
}

// Wanted is what a run needs of a device.
type Wanted struct {
	Browser   string               // "": the device's first
	Program   string               // file of a browser of this machine, or APK of Browser; "": the installed one
	Window    suite.Size           // of the browser's content; zero: the device's own
	Link      string               // target of the green page, for browsers without an address bar
	Navigates bool                 // steps go to addresses: the browser needs an address bar
	Ports     []int                // of this machine, where its pages are served
	Untrusted bool                 // browsers of this machine must not read its files
	Egress    *device.EgressPolicy // limits browsers of this machine; nil: no limit
	Instead   *device.Instead      // a server that the browser of this machine reaches elsewhere; nil: none
	Network   *testnet.Network     // of the browser; nil: the device's own
	Trust     *device.Authority    // of the servers there; nil: none
	Inspect   bool                 // pages of the browser are inspected
	Vitals    bool                 // the page's claims are read
	Profile   *profile.Session     // records the browser's activity; nil: nothing does
	Log       *slog.Logger
}

// navigates reports if steps go to addresses.
func navigates(steps []suite.Step) bool {
	return slices.ContainsFunc(steps, func(s suite.Step) bool {
		switch a := s.Action.(type) {
		case suite.Load:
			return true
		case suite.Loop:
			return navigates(a.Steps)
		}
		return false
	})
}

// Stage is a device that is ready for a run. Close ends all that was started on it. It is
// idempotent.
type Stage interface {
	controller.Browser
	// Source returns the URI of the source of its screen.
	Source() string
	// Input returns nil if the device has none. Painter returns nil if it can only show pages.
	Input() input.Driver
	Painter() controller.Painter
	// About returns the properties of the device and its browser, for results.
	About() result.Environment
	Close() error
}

// Devices are the devices of a file.
type Devices struct{ list *device.List }

// FindDevices reads a file of devices; "": the usual file. Without a file, there is the device
// local, a browser on a virtual display of this machine.
func FindDevices(file string) (*Devices, error) {
	var schemes []string
	for _, s := range recorder.Schemes() {
		schemes = append(schemes, s.Name)
	}
	list, err := device.Load(file, device.Known{Sources: schemes})
	if err != nil {
		return nil, err
	}
	return &Devices{list}, nil
}

// Local returns this machine as a device, with any browser. The first installed one is the default.
func Local() Device {
	d := device.Local()
	d.Browsers = nil
	return local{d}
}

// Descriptions returns all devices in the order of the file.
func (d *Devices) Descriptions() []device.Description { return d.list.Devices }

// Find returns a device by its name. The error of an unknown name is a *device.UnknownError.
func (d *Devices) Find(name string) (Device, error) {
	found, err := d.list.Find(name)
	switch {
	case err != nil:
		return nil, err
	case found.Source == device.Virtual:
		return local{found}, nil
	}
	return described{found}, nil
}

// hosted is a device that cannot reach this machine's loopback.
type hosted interface {
	// Host returns the address of this machine for the device; "": the loopback.
	Host() (string, error)
}

// pagesHost returns the address of this machine for pages of a device.
func pagesHost(d Device) (string, error) {
	h, ok := d.(hosted)
	if !ok {
		return loopback, nil
	}
	host, err := h.Host()
	if host == "" {
		host = loopback
	}
	return host, err
}

const loopback = "127.0.0.1"

// openInput opens the input driver of a device; nil: it has none.
func openInput(ctx context.Context, in device.Input) (d input.Driver, err error) {
	params, err := url.ParseQuery(in.Params)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", in, err)
	}
	switch in.Kind {
	case device.InputNone:
		return nil, nil
	case device.InputX11:
		d, err = driver(x11.Open(in.Target))
	case device.InputUinput:
		d, err = uinput.Open(ctx, in.Target, params)
	case device.InputHID:
		d, err = hid.Open(ctx, in.Target, params)
	case device.InputADB:
		d, err = driver(adb.Open(ctx, adb.Options{Serial: in.Target}))
	case device.InputWindows, device.InputAgent:
		d, err = remote.Open(ctx, in.Target, params)
	default:
		err = fmt.Errorf("it is given by a browser that is started on a virtual display: %w", errors.ErrUnsupported)
	}
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", in, err)
	}
	return d, nil
}

// noteInput adds the realism of the input to an environment.
func noteInput(env result.Environment, d input.Driver) {
	if d == nil {
		return
	}
	info := d.Info()
	env[result.EnvInput] = fmt.Sprintf("%s, %s", info.Driver, info.Realism)
	if info.Realism == input.Page {
		env[result.EnvInput] += ": less realistic than events of the operating system"
	}
}

// driver returns a nil interface for an error, not an interface with a nil pointer.
func driver[D input.Driver](d D, err error) (input.Driver, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

// thisMachine returns the known properties of this machine. Sources: os-release(5), proc(5), and
// cpufreq and thermal of the kernel's sysfs ABI.
func thisMachine() (system, kernel string, env result.Environment) {
	env = result.Environment{}
	system = runtime.GOOS
	for line := range strings.Lines(firstBytes("/etc/os-release")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			system = strings.Trim(name, `"`)
		}
	}
	kernel = strings.TrimSpace(firstBytes("/proc/sys/kernel/osrelease"))
	put(env, result.EnvGovernor, strings.Join(machine.Governors(os.DirFS("/")), ", "))
	if t, _ := machine.Temperature(os.DirFS("/")); t != nil {
		put(env, result.EnvTemperature, fmt.Sprintf("%.1f °C", *t))
	}
	return system, kernel, env
}

// ofThisMachine returns the environment of a device that is this machine.
func ofThisMachine() result.Environment {
	system, kernel, env := thisMachine()
	put(env, result.EnvOS, system)
	put(env, result.EnvKernel, kernel)
	return env
}

// ofRig returns the rig's part of a device's environment.
func ofRig() result.Environment {
	system, kernel, _ := thisMachine()
	env := result.Environment{}
	put(env, result.EnvRigOS, strings.TrimSpace(system+" "+kernel))
	return env
}

func put(env result.Environment, key, value string) {
	if value != "" {
		env[key] = value
	}
}

// firstBytes returns the beginning of a small file; "": it cannot be read.
func firstBytes(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() // only read
	b := make([]byte, 4096)
	n, _ := f.Read(b) // unreadable files count as empty
	return strings.ToValidUTF8(string(b[:n]), "?")
}
