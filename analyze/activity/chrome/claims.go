package chrome

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/jsonstream"
)

// rounding is the greatest error of times that the browser prints in other units, in ns.
const rounding = 2000

// claim notes requests, inputs, pages, pictures and frames. It returns true for a mark of a
// picture, which makes no record.
func (r *Events) claim(e *Event) bool {
	if bytes.HasPrefix(e.Name, []byte(`"`+activity.StripMark)) {
		return r.claims.Strip(unquoted(e.Name), e.At)
	}
	switch string(e.Name) {
	case `"ResourceSendRequest"`:
		r.request(e)
	case `"ResourceReceiveResponse"`:
		r.response(e)
	case `"ResourceFinish"`:
		r.finish(e)
	case `"EventDispatch"`:
		kind := inputKinds[unquoted(jsonstream.Find(e.Args, "data", "type"))]
		if kind != "" && len(r.claims.Inputs) < activity.MaxInputs {
			r.claims.Inputs = append(r.claims.Inputs, activity.Input{Kind: kind, At: e.At})
		}
	case `"navigationStart"`:
		address := unquoted(jsonstream.Find(e.Args, "data", "documentLoaderURL"))
		if len(r.claims.Pages) < activity.MaxPages && address != "" && len(address) <= activity.MaxAddress {
			r.claims.Pages = append(r.claims.Pages, activity.Page{Address: address, Zero: e.At})
		}
	case `"PipelineReporter"`:
		r.frame(e)
	}
	return false
}

// frameKey identifies a frame until its end.
type frameKey struct {
	process int32
	id      string
}

// frame is a frame of a compositor. A browser has several: its own, and those of its pages.
type frame struct {
	activity.Frame
	compositor [2]int32
}

// states are verdicts by the state of a compositor's frame. Others had nothing to show.
var states = map[string]activity.Verdict{"STATE_PRESENTED_ALL": activity.Good,
	"STATE_PRESENTED_PARTIAL": activity.Partial, "STATE_DROPPED": activity.Dropped}

// frame notes a frame of a compositor. Its record begins with the display's period, and ends when
// the frame was presented.
func (r *Events) frame(e *Event) {
	key := frameKey{e.Process, string(e.ID)}
	switch e.Phase {
	case 'b', 'S':
		data := jsonstream.Find(e.Args, "frame_reporter")
		if data == nil {
			data = jsonstream.Find(e.Args, "chrome_frame_reporter") // until Chromium 151
		}
		verdict, ok := states[unquoted(jsonstream.Find(data, "state"))]
		if string(jsonstream.Find(data, "affects_smoothness")) != "true" { // nothing should move
			ok, verdict = ok && verdict != activity.Dropped, activity.Good
		}
		if ok && len(r.begun) < activity.MaxFrames && len(key.id) <= activity.MaxName {
			r.begun[key] = frame{activity.Frame{Begin: e.At, Verdict: verdict},
				[2]int32{e.Process, jsonstream.Int(jsonstream.Find(data, "layer_tree_host_id"))}}
		}
	case 'e', 'F':
		f, ok := r.begun[key]
		delete(r.begun, key)
		if f.At = e.At; ok && e.At >= f.Begin && len(r.frames) < activity.MaxFrames {
			r.frames = append(r.frames, f)
		}
	}
}

// page returns the frames of the compositor that presented the most. Parts of one frame have the
// same time: changes of the page that were made for an earlier period, and a period without them.
// The best verdict counts.
func page(all []frame) (frames []activity.Frame) {
	count := map[[2]int32]int{}
	var most [2]int32
	for _, f := range all {
		if f.Verdict != activity.Dropped {
			if count[f.compositor]++; count[f.compositor] > count[most] {
				most = f.compositor
			}
		}
	}
	for _, f := range all {
		if f.compositor == most {
			frames = append(frames, f.Frame)
		}
	}
	slices.SortStableFunc(frames, func(a, b activity.Frame) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Verdict, b.Verdict), cmp.Compare(a.Begin, b.Begin))
	})
	return slices.CompactFunc(frames, func(a, b activity.Frame) bool { return a.At == b.At })
}

// inputKinds are the kinds of the first events of the DOM that an input causes.
var inputKinds = map[string]string{"keydown": "key", "mousedown": "button", "touchstart": "touch", "wheel": "wheel"}

func (r *Events) request(e *Event) {
	data := jsonstream.Find(e.Args, "data")
	id, url := unquoted(jsonstream.Find(data, "requestId")), unquoted(jsonstream.Find(data, "url"))
	method := unquoted(jsonstream.Find(data, "requestMethod"))
	if id == "" || url == "" || len(r.claims.Requests) >= activity.MaxRequests ||
		len(id)+len(method)+len(url) > activity.MaxAddress {
		return
	}
	q := activity.Request{Method: method, URL: url}
	// The record of a document comes after its response, when the page begins.
	if unquoted(jsonstream.Find(data, "resourceType")) != "Document" {
		q.Sent = e.At
	}
	r.requests[id] = len(r.claims.Requests) // of a redirection, the last request has the response
	r.claims.Requests = append(r.claims.Requests, q)
}

// known returns the request of a record, or nil.
func (r *Events) known(data []byte) *activity.Request {
	i, ok := r.requests[unquoted(jsonstream.Find(data, "requestId"))]
	if !ok {
		return nil
	}
	return &r.claims.Requests[i]
}

func (r *Events) response(e *Event) {
	data := jsonstream.Find(e.Args, "data")
	q := r.known(data)
	if q == nil {
		return
	}
	if string(jsonstream.Find(data, "fromCache")) == "true" ||
		string(jsonstream.Find(data, "fromServiceWorker")) == "true" {
		q.URL = "" // it is not on the network
		return
	}
	q.First = e.At
	timing := jsonstream.Find(data, "timing")
	base, ok := seconds(jsonstream.Find(timing, "requestTime"), 9)
	if !ok || base <= 0 {
		return
	}
	wall, ok := jsonstream.Decimal(jsonstream.Find(data, "responseTime"), 6)
	if ok && wall > 0 && r.claims.WallWithin == 0 {
		if n, ok := seconds(jsonstream.Find(timing, "receiveHeadersEnd"), 6); ok && n > 0 {
			r.claims.Wall, r.claims.WallWithin = wall-base-n, int64(time.Second)
		}
	}
	// Times of the network process are closer to those of the link.
	if n, ok := seconds(jsonstream.Find(timing, "sendStart"), 6); ok && n >= 0 && base+n <= e.At+rounding {
		q.Sent = base + n - rounding
	}
	for _, name := range []string{"receiveHeadersStart", "receiveHeadersEnd"} {
		if n, ok := seconds(jsonstream.Find(timing, name), 6); ok && n > 0 && base+n+rounding < q.First {
			q.First = base + n + rounding
			break
		}
	}
}

func (r *Events) finish(e *Event) {
	data := jsonstream.Find(e.Args, "data")
	q := r.known(data)
	if q == nil || string(jsonstream.Find(data, "didFail")) == "true" {
		return
	}
	q.Ended = e.At
	if n, ok := seconds(jsonstream.Find(data, "finishTime"), 9); ok && n > 0 && n+rounding < e.At {
		q.Ended = n + rounding
	}
}

// complete returns the requests that reached the network.
func complete(all []activity.Request) []activity.Request {
	kept := all[:0]
	for _, q := range all {
		if q.URL != "" {
			kept = append(kept, q)
		}
	}
	return kept
}
