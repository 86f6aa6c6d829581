package session

import (
	"fmt"
	"math"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/har"
)

// suspect names the last response that ended within the time of a late frame. It ended before the
// earliest time at which the picture was sampled. The effect of the response is not measured. The
// waterfall may be nil.
func suspect(late []result.ProfileLate, windows []result.Window, fall *har.Waterfall) {
	if fall == nil {
		return
	}
	for i := range late {
		l := &late[i]
		before := l.ToNS
		if l.Window >= 0 && l.Window < len(windows) {
			times := &windows[l.Window].Times
			if k := l.Frame - times.First; k >= 0 && k < len(times.Earliest) {
				before = min(before, times.Earliest[k])
			}
		}
		var last *har.Request
		n := 0
		for k := range fall.Requests {
			r := &fall.Requests[k]
			if at := r.Ended.At; !r.Ended.Exact() || r.Served.Error != "" || at < timeline.Time(l.FromNS) ||
				at >= timeline.Time(before) {
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
		l.Suspected = fmt.Sprintf("Suspected, not measured: the response of %s came %s ms before", activity.Clean(name),
			wording.Number(math.Round(float64(l.ToNS-int64(last.Ended.At))/1e5)/10))
		if n > 1 {
			l.Suspected += fmt.Sprintf(". It was the last of %d responses", n)
		}
		l.Suspected += "."
	}
}
