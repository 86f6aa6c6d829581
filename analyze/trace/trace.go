// Package trace turns the records of instrumented scripts into calls on the recording's clock.
package trace

import "github.com/eideticker/eideticker/capture/timeline"

// Call is one call of a function. Its times are page times of its realm, in ns. So differences
// have the error of two readings of the page's clock only.
type Call struct {
	Function   uint32
	Parent     int32 // index in the realm's calls; -1: called by the browser
	Begin, End int64
	// Self is the time without callees and suspensions. The instrumentation's cost is subtracted.
	Self int64
	// Threw states that an exception ended the call. End is then the latest possible time.
	Threw bool
	// Open states that the end is unknown: the realm's records ended before.
	Open bool
}

// Realm is a global object with its calls.
type Realm struct {
	ID    uint32
	URL   string
	Calls []Call // in the order of their begins
	// Offset is added to page times: they are then times of the recording.
	Offset timeline.Interval
	// Step is the resolution of the page's clock, in ns.
	Step int64
}
