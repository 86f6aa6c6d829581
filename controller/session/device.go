package session

import (
	"context"
	"log/slog"
	"slices"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/controller/suite"
)

// Device is what tests run on, one run at a time.
type Device interface {
	// Name is how devices.yaml calls it.
	Name() string
	// Open makes it ready for one run.
	Open(ctx context.Context, w Wanted) (Stage, error)
}

// Wanted is what a run needs of a device.
type Wanted struct {
	Browser   string               // "": the device's first
	Window    suite.Size           // of the browser's content; zero: the device's own
	Link      string               // target of the green page, for browsers without an address bar
	Navigates bool                 // steps go to addresses: the browser needs an address bar
	Ports     []int                // of this machine, where its pages are served
	Untrusted bool                 // browsers of this machine must not read its files
	Egress    *device.EgressPolicy // limits browsers of this machine; nil: no limit
	Network   *testnet.Network     // of the browser; nil: the device's own
	Trust     *device.Authority    // of the servers there; nil: none
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

// Stage is a device that is ready for a run. Close ends what was started on it, and is idempotent.
type Stage interface {
	controller.Browser
	// Source is the URI of the source that sees its screen.
	Source() string
	// Input is nil where the device has none, and Painter where nothing but pages can be shown.
	Input() input.Driver
	Painter() controller.Painter
	// About is what is known of the device and its browser, for results.
	About() report.Environment
	Close() error
}

// Devices are those that there are.
type Devices struct{ list *device.List }

// FindDevices reads the devices of a file, or of where they usually stand; without any there is
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

// Local is this machine, whatever devices its user has described, with any browser; the first that
// is installed, if none is asked for.
func Local() Device {
	d := device.Local()
	d.Browsers = nil
	return local{d}
}

// Descriptions are what is known of all devices, in the order of the file.
func (d *Devices) Descriptions() []device.Description { return d.list.Devices }

// Find returns a device by its name. That there is none is a *device.UnknownError.
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

// hosted is a device that does not reach this machine's loopback.
type hosted interface {
	// Host is the address of this machine at which the device finds pages; "" is the loopback.
	Host() (string, error)
}

// pagesHost is where pages are served for a device.
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
