package export

import (
	"cmp"
	"slices"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/netsim/har"
)

// requestFlows finds the first change of the picture after each response. The order is measured. A
// packet states the response's end, and the bounds of both changes around it are apart from it. No
// frame is missing between the changes. All other requests have no flow. A flow does not state a
// cause.
type requestFlows struct {
	waiting []*har.Request // by their ends, which are after the latest change
	next    uint64
	of      map[*har.Request]uint64 // number of the flow

	begun   bool // there was a frame
	missing bool // frames since the latest change
}

// newRequestFlows begins with the requests of a trace.
func newRequestFlows(tracks []*requestTrack) *requestFlows {
	f := &requestFlows{of: map[*har.Request]uint64{}}
	for _, track := range tracks {
		for _, r := range track.requests {
			if r.Ended.Exact() && r.Ended.Latest != 0 && r.Served.Error == "" {
				f.waiting = append(f.waiting, r)
			}
		}
	}
	slices.SortStableFunc(f.waiting, func(a, b *har.Request) int { return cmp.Compare(a.Ended.Latest, b.Ended.Latest) })
	return f
}

// frame takes the next frame. It returns the flows that end there.
func (f *requestFlows) frame(m frame.Meta, changed, gap bool) (flows []uint64) {
	if f.missing = f.missing || gap; !changed {
		return nil
	}
	before := 0
	for ; before < len(f.waiting) && f.waiting[before].Ended.Earliest <= m.Sampled.Latest; before++ {
		r := f.waiting[before]
		if f.begun && !f.missing && r.Ended.Latest < m.Sampled.Earliest {
			f.next++
			f.of[r], flows = f.next, append(flows, f.next)
		}
	}
	f.waiting = f.waiting[before:]
	f.begun, f.missing = true, false
	return flows
}
