package frames

import (
	"cmp"
	"slices"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
)

// leastWork is the inverse of the share of a late frame from which on work of the browser counts.
const leastWork = 8

// workOf returns the kind of the browser's own work by the name of a slice in Chromium's and
// Firefox's traces; "": it is none. A slice of HTML parsing runs scripts, so it is none.
func workOf(f activity.Function) string {
	if f.Lang != activity.Category {
		return ""
	}
	switch f.Name {
	case "UpdateLayoutTree", "Styles":
		return result.WorkStyle
	case "Layout", "Reflow":
		return result.WorkLayout
	case "PrePaint", "Paint", "Layerize", "UpdateLayer", "RasterTask", "DisplayList", "WrDisplayList", "Rasterize":
		return result.WorkPaint
	case "Decode Image", "ImageDecodeTask", "Decode LazyPixelRef":
		return result.WorkDecode
	case "v8.compile", "v8.compileModule":
		return result.WorkCompile
	case "GCSlice":
		return result.WorkGC
	}
	if kindOf(f.Name) == result.EventGC {
		return result.WorkGC
	}
	return ""
}

// addWork counts a time for each kind of work that is open on a thread.
func (c *collector) addWork(calls []activity.OpenCall, ns int64) {
	for i, call := range calls {
		kind := c.of.work[c.of.groups[call.Function]]
		inner := slices.ContainsFunc(calls[i+1:], func(o activity.OpenCall) bool {
			return c.of.work[c.of.groups[o.Function]] != ""
		})
		if kind == "" || inner {
			continue
		}
		if c.Work == nil {
			c.Work = map[string]int64{}
		}
		c.Work[kind] += ns
	}
}

// workBefore returns the longest work of the browser before a late frame, one of each kind. Threads
// share work such as painting.
func (b *builder) workBefore(l *lateSpan) (all []result.ProfileWork) {
	for i := range l.active {
		a := &l.active[i]
		for kind, ns := range a.Work {
			if leastWork*ns < l.ToNS-l.FromNS {
				continue
			}
			w := result.ProfileWork{Kind: kind, Thread: b.thread(a.source, a.Thread), NS: ns}
			switch at := slices.IndexFunc(all, func(o result.ProfileWork) bool { return o.Kind == kind }); {
			case at < 0:
				all = append(all, w)
			case all[at].NS < ns:
				all[at] = w
			}
		}
	}
	slices.SortFunc(all, func(a, b result.ProfileWork) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Thread, b.Thread))
	})
	return all[:min(len(all), result.MaxWork)]
}
