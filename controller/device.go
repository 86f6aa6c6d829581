package controller

import (
	"context"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Browser is the browser of a device.
type Browser interface {
	// Launch starts the browser, with a new profile, at an address. It returns when the command was
	// sent. Its window is detected by its pixels.
	Launch(ctx context.Context, address string) (timeline.Interval, error)
	// Load goes to an address in the platform's own way. It returns when the last input for that
	// was sent, for example "Enter".
	Load(ctx context.Context, address string) (timeline.Interval, error)
	// Ended is closed when a browser that was launched has ended by itself. Before Launch it is
	// nil.
	Ended() <-chan struct{}
	// Err says why it ended.
	Err() error
}

// Painter shows markers on a device's screen where a page can't.
type Painter interface {
	// Green makes the screen green below all windows, for an action that opens a window. It wraps
	// errors.ErrUnsupported if the device cannot do it.
	Green(ctx context.Context) error
	// Red covers the whole screen.
	Red(ctx context.Context) error
}
