// Package x11 captures what an X display shows, through shared memory (MIT-SHM), on Linux.
//
// It stands at the beginning of the flow, beside the other sources, and is on the clock: tick n
// falls at start + n × period, and sequence numbers are tick numbers. A tick that passes by a whole
// period is missed and leaves a hole, explained by frame.SourceLate; a full ring loses the tick,
// which the ring counts. An X server does not tell when its picture changed, so a frame's sampling
// time is the interval from before the request to after the reply: its pixels were on the screen at
// some moment in between. What appears and vanishes between two ticks is not seen; a capture card
// would see it.
//
// The server writes the picture into a System V segment, which is marked for removal as soon as
// both sides have it and so cannot outlive them. From there each frame is copied once, into the
// ring.
//
// The pointer is not part of the picture in X. Unless the source is asked to leave it out it is
// asked for along with the picture (XFixes) and drawn in.
//
// A source's methods belong to one goroutine, except that of its connection: the X library runs
// four goroutines per connection, from Open to Close. Run may be called once.
package x11

import "errors"

// ErrResized is wrapped by the error of a Run that ended because the screen's size changed.
var ErrResized = errors.New("screen size changed")

// ServerMetadata names a recording's metadata about the X server that was recorded, a [Server].
const ServerMetadata = "x11.server"

// Server is an X server.
type Server struct {
	Name string `json:"name"` // vendor and release
}

// Display is an X display of this machine.
type Display struct {
	Name          string // ":9", as Open takes it
	Width, Height int    // pixels of its first screen
	Depth         int    // bits of a pixel that are colour
	Server        string // vendor and release
	Err           error  // why it can't be asked; the others are 0 then
}
