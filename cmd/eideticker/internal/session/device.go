package session

import (
	"context"
	"fmt"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/input"
)

// Device is what tests run on, one run at a time.
type Device interface {
	// Name is how devices.yaml calls it.
	Name() string
	// Open makes it ready for one run with a browser; "" is the device's first.
	Open(ctx context.Context, browser string) (Stage, error)
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
