package gecko

import (
	"cmp"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/jsonstream"
)

// network is a marker of a request. Times are in ns after the process began, or none.
type network struct {
	key, method, address string
	sent, first, ended   int64
}

// claim reads the data of a marker, if it is of a request or an input. It returns the number of
// bytes that they take.
func (t *thread) claim(row int64, raw []byte) (bytes int) {
	if len(raw) < 2 || raw[0] != '{' {
		return 0
	}
	text := func(name string) string {
		s, _ := jsonstream.Text(jsonstream.Find(raw, name))
		return s
	}
	switch text("type") {
	case "Network":
		bytes = t.markers.put("waits", row, 1)
		status, cache := text("status"), text("cache")
		if status != "STATUS_STOP" && status != "STATUS_REDIRECT" || cache == "Hit" || cache == "MemoryHit" ||
			cache == "Prefetched" || len(t.network) >= activity.MaxRequests {
			return bytes
		}
		n := &network{method: text("requestMethod"), address: text("URI"),
			sent:  number(jsonstream.Find(raw, "requestStart"), 6),
			first: number(jsonstream.Find(raw, "responseStart"), 6),
			ended: number(jsonstream.Find(raw, "responseEnd"), 6)}
		n.key = string(jsonstream.Find(raw, "id")) + " " + n.address
		if n.sent != none && len(n.key)+len(n.method) <= activity.MaxAddress { // else it was not on the network
			t.network[row] = n
			bytes += 2*len(n.key) + 128
		}
	case "UserTiming":
		const most = 64 // bytes: a mark has two numbers
		if name := text("name"); strings.HasPrefix(name, activity.StripMark) && len(name) <= most &&
			len(t.strips) < activity.MaxStrips {
			t.strips[row] = name
			bytes += 2 * most
		}
	case "DOMEvent":
		kind := inputKinds[text("eventType")]
		if kind != "" && (t.kind == "tab" || t.kind == "web") && len(t.inputs) < activity.MaxInputs {
			t.inputs[row] = kind
		}
	}
	return bytes
}

// inputKinds are the kinds of the first events of the DOM that an input causes.
var inputKinds = map[string]string{"keydown": "key", "mousedown": "button", "touchstart": "touch", "wheel": "wheel"}

// request notes a request. The processes of the browser and of the page have markers of the same
// request.
func (r *reader) request(n *network, p *process) {
	at := func(ns int64) int64 {
		if ns == none || ns < 0 || ns > maxTime {
			return 0
		}
		return p.start + ns
	}
	q := activity.Request{Method: n.method, URL: n.address, Sent: at(n.sent), First: at(n.first), Ended: at(n.ended)}
	if _, ok := r.requests[n.key]; ok || len(r.claims.Requests) >= activity.MaxRequests {
		return
	}
	r.requests[n.key] = len(r.claims.Requests)
	r.claims.Requests = append(r.claims.Requests, q)
}

// Phases of markers. Those with a begin and an end in two records are not of one thread's work.
const (
	interval    = 1
	intervalEnd = 3
)

// waits are names of markers of a time in which the thread may do other work. Many are metrics: the
// time until something is there.
var waits = map[string]bool{"FirstContentfulPaint": true, "FirstContentfulComposite": true, "FirstNonBlankPaint": true,
	"LargestContentfulPaint": true, "TimeToFirstInteractive (TTFI)": true, "DocumentLoad": true, "Image Load": true,
	"Awake": true, "CONTENT_FRAME_TIME": true, "CONTENT_FULL_PAINT_TIME": true, "CSS animation": true,
	"CSS transition": true, "GCMajor": true, "LongTask": true, "LongIdleTask": true}

// presented is the end of the names of markers from an input or a change to the screen.
const presented = " Payload Presented"

// span is a marker with begin and end.
type span struct {
	from, to int64
	name     uint32
}

// markers passes on the markers of a thread.
func (r *reader) markers(p *process, t *thread, number uint32) error {
	var spans []span
	emit := func(at int64, name uint32) error {
		return r.to.Event(activity.Event{At: at, Thread: number, Kind: activity.Instant, Ref: name})
	}
	for row := range t.markers.rows("name") {
		r.claims.Records++
		from, okFrom := p.time(t.markers.next("startTime"))
		to, okTo := p.time(t.markers.next("endTime"))
		text, ok := t.text(p, t.markers.next("name"))
		phase, waiting := t.markers.next("phase"), t.markers.next("waits") == 1
		if !ok || !okFrom && phase != intervalEnd || phase == interval && (!okTo || to < from) {
			r.claims.Skip("malformed markers")
			continue
		}
		if n := t.network[row]; n != nil {
			r.request(n, p)
		}
		if kind := t.inputs[row]; kind != "" && len(r.claims.Inputs) < activity.MaxInputs {
			r.claims.Inputs = append(r.claims.Inputs, activity.Input{Kind: kind, At: from})
		}
		if name := t.strips[row]; name != "" && r.claims.Strip(name, from) {
			continue
		}
		name := r.to.Function(activity.Function{Name: cmp.Or(text, "(no name)"), Module: "gecko",
			Lang: activity.Category})
		switch {
		case phase == interval && !waiting && !waits[text] && !strings.HasSuffix(text, presented):
			spans = append(spans, span{from, to, name})
		case phase == intervalEnd: // its begin was passed on
		default:
			r.claims.Seen(from)
			if err := emit(from, name); err != nil {
				return err
			}
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
	})
	var ends []int64
	for _, s := range spans {
		for len(ends) > 0 && ends[len(ends)-1] <= s.from {
			ends = ends[:len(ends)-1]
		}
		r.claims.Seen(s.from)
		var err error
		if len(ends) > 0 && s.to > ends[len(ends)-1] || len(ends) >= activity.MaxDepth {
			err = emit(s.from, s.name)
		} else {
			ends = append(ends, s.to)
			err = r.to.Event(activity.Event{At: s.from, Thread: number, Kind: activity.Slice, Ref: s.name,
				Value: s.to - s.from})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
