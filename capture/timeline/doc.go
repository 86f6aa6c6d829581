// Package timeline is the rig's single clock and the things that happen on it.
//
// Everything that Eideticker records, a frame, an input, a request, a page's
// claim, carries a time from here, so that any two of them can be compared. The
// clock is CLOCK_MONOTONIC in integer nanoseconds: it never steps and is the
// clock in which V4L2 stamps its buffers. No time in this project is a float.
//
// The package stands below all others and imports only the standard library and
// golang.org/x/sys.
package timeline
