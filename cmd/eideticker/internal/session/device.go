package session

import (
	"context"
	"fmt"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/input"
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
	Browser string     // "": the device's first
	Window  suite.Size // of the browser's content; zero: the device's own
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

// Find returns a device by its name.
func Find(name string) (Device, error) {
	if name != "local" {
		return nil, fmt.Errorf("no device %q: there is local, a browser on a virtual display of this machine", name)
	}
	return local{}, nil
}
