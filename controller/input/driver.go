package input

import (
	"context"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Driver does actions on one device. It is used by one goroutine.
type Driver interface {
	// Do executes actions together, as one report if the device has reports. It waits for at,
	// unless that is past. It returns the interval in which the device got them. The device's own
	// delays begin there. An impossible action is an error that wraps errors.ErrUnsupported, and
	// then no action was done. A missing device is an error that wraps ErrGone.
	Do(ctx context.Context, at timeline.Time, actions ...Action) (timeline.Interval, error)
	// Release lifts all that is still held down.
	Release(ctx context.Context) error
	// Info says what the driver is.
	Info() Info
	// Close releases, and ends the connection. It is idempotent.
	Close() error
}

// Realism is how near to a hand a driver comes.
type Realism string

// The ways in which a device gets its input, from the most real on.
const (
	Hardware Realism = "hardware" // as a keyboard, mouse or touch screen that is plugged in
	System   Realism = "system"   // events of the operating system
	Page     Realism = "page"     // given to the browser: less realistic than events of the operating system
)

// Info is what a result says of the input it was made with.
type Info struct {
	Driver  string  `json:"driver"` // "x11", "hid", …
	Device  string  `json:"device"` // which one, in the driver's own words
	Realism Realism `json:"realism"`
	// how long the driver's own way takes at least, where it is known: no part of the intervals
	Latency time.Duration `json:"latency_ns"`
	Note    string        `json:"note,omitempty"`
}

// ErrGone says that the device does not answer any more: it was unplugged, or its server has ended.
var ErrGone error = goneError{}

type goneError struct{}

func (goneError) Error() string { return "the device is gone" }

// Check reports the first action that no device can do.
func Check(actions []Action) error {
	if len(actions) == 0 {
		return fmt.Errorf("no action")
	}
	for _, a := range actions {
		if err := a.Validate(); err != nil {
			return fmt.Errorf("%v: %w", a, err)
		}
	}
	return nil
}
