// Package x11 captures an X display through shared memory (MIT-SHM), on Linux.
//
// It is a source on the clock: tick n is at start + n × period, and sequence numbers are tick
// numbers. A tick that is late by a whole period is missed and leaves a hole with the cause
// frame.SourceLate. With a full ring, the tick is lost and the ring counts it.
//
// An X server does not report when its picture changed. So a frame's sampling time is the interval
// from before the request to after the reply. Its pixels were on the screen at some moment in
// between. A picture that appears and vanishes between two ticks is not recorded; a capture card
// would record it.
//
// The server writes the picture into a System V segment. The segment is marked for removal as soon
// as both sides have it, so it cannot outlive them. Each frame is copied once, into the ring.
//
// In X, the pointer is not part of the picture. The source requests it with each picture (XFixes)
// and draws it, unless the parameters leave it out.
//
// A source's methods belong to one goroutine. The X library runs four goroutines per connection,
// from Open to Close. Run may be called once.
package x11

import "errors"

// errResized is wrapped by the error of a Run that ended because the screen's size changed.
var errResized = errors.New("screen size changed")

// serverMetadata names a recording's metadata about the X server that was recorded, a [Server].
const serverMetadata = "x11.server"

// server is an X server.
type server struct {
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
