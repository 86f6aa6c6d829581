package controller

import (
	"context"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Browser is the browser of a device.
type Browser interface {
	// Launch starts it, with a new profile, at an address, and returns when it was told to start.
	// That its window is there is seen by its pixels.
	Launch(ctx context.Context, address string) (timeline.Interval, error)
	// Load goes to an address in the platform's own way and returns when the last of what does so
	// was sent, "Enter" say.
	Load(ctx context.Context, address string) (timeline.Interval, error)
	// Ended is closed when a browser that was launched has ended by itself. Before Launch it is
	// nil.
	Ended() <-chan struct{}
	// Err says why it ended.
	Err() error
}

// Painter shows markers on a device's screen where a page can't.
type Painter interface {
	// Green makes the screen green below all windows, for what opens a window. It wraps
	// errors.ErrUnsupported where there is no way to.
	Green(ctx context.Context) error
	// Red covers the whole screen.
	Red(ctx context.Context) error
}
