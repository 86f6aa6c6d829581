// Package timeline is the rig's single clock and the events on it.
//
// Every record carries a time from here: a frame, an input, a request or a page's report. So any
// two of them can be compared. The clock is CLOCK_MONOTONIC in integer nanoseconds. It never steps,
// and V4L2 stamps its buffers with it. The project does not use floats for times.
//
// The package is below all others. It imports only the standard library and golang.org/x/sys.
package timeline
