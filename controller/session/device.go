package session

import (
	"context"
	"errors"
	"fmt"
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

// Wanted is what a run asks of a device.
type Wanted struct {
	Browser   string               // "": the device's first
	Window    suite.Size           // of the browser's content; zero: the device's own
	Link      string               // where the green page leads, for browsers that have no address bar
	Goes      bool                 // the test goes to addresses itself: the browser has an address bar
	Ports     []int                // of this machine, where its pages are served
	Untrusted bool                 // the test is somebody else's: browsers of this machine are kept from its files
	Egress    *device.EgressPolicy // all that they reach of the network; nil: what this machine does
	Network   *testnet.Network     // that its browser is to be in; nil: the device's own
	Trust     *device.Authority    // of the servers there; nil: nobody of ours
	Log       *slog.Logger
}

func (s *session) wanted() Wanted {
	return Wanted{Browser: s.Browser, Window: s.Test.Window, Link: s.pages.address, Goes: loads(s.Test.Steps),
		Ports: s.pages.ports, Untrusted: s.Untrusted, Egress: s.egress(), Network: s.network, Trust: s.pages.trusted(),
		Log: s.log}
}

// outside is what the test reaches of the network; nil: what this machine does. In a network of the
// run's own nothing of this machine listens but its pages.
func (s *session) egress() *device.EgressPolicy {
	if !s.Untrusted || s.AllowLoopback || s.network != nil {
		return nil
	}
	return &device.EgressPolicy{Pages: s.pages.served}
}

// loads says that steps go to addresses.
func loads(steps []suite.Step) bool {
	return slices.ContainsFunc(steps, func(s suite.Step) bool {
		switch a := s.Action.(type) {
		case suite.Load:
			return true
		case suite.Loop:
			return loads(a.Steps)
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

// loadedRed shows red as what can be shown on any device: a page.
type loadedRed struct {
	browser controller.Browser
	address string
}

func (loadedRed) Green(context.Context) error {
	return fmt.Errorf("the device's screen cannot be painted on: %w", errors.ErrUnsupported)
}

func (p loadedRed) Red(ctx context.Context) error {
	_, err := p.browser.Load(ctx, p.address)
	return err
}
