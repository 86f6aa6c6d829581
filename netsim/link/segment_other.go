//go:build !linux

package link

import "context"

// Segment is never there.
type Segment struct{}

// OpenSegment does nothing.
func (*Packet) OpenSegment(context.Context, SegmentOptions) (*Segment, error) {
	return nil, errNoPackets
}

// Await does nothing.
func (*Segment) Await(context.Context) (Lease, error) { return Lease{}, errNoPackets }

// Close does nothing.
func (*Segment) Close() error { return nil }

// RestoreInterface does nothing: nothing was taken.
func RestoreInterface(string) error { return nil }
