package session

import (
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/har"
)

// suspect names the last response that ended after the changed frame before a late one, and before
// the late one. The order of both is measured, and its effect is not. The waterfall may be nil.
func suspect(late []result.ProfileLate, fall *har.Waterfall) {
	if fall == nil {
		return
	}
	for i := range late {
		l := &late[i]
		var last *har.Request
		n := 0
		for k := range fall.Requests {
			r := &fall.Requests[k]
			if at := r.Ended.At; !r.Ended.Exact() || r.Served.Error != "" || at < timeline.Time(l.FromNS) ||
				at >= timeline.Time(l.ToNS) {
				continue
			}
			if n++; last == nil || r.Ended.At > last.Ended.At {
				last = r
			}
		}
		if last == nil {
			continue
		}
		const maxLabel = 100
		name, _, _ := strings.Cut(last.Label(maxLabel), "?")
		l.Suspected = fmt.Sprintf("Suspected, not measured: the response of %s came just before, %.3g ms earlier",
			activity.Clean(name), float64(l.ToNS-int64(last.Ended.At))/1e6)
		if n > 1 {
			l.Suspected += fmt.Sprintf(". It was the last of %d responses", n)
		}
		l.Suspected += "."
	}
}
