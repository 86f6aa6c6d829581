package attach

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/clock"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/site"
)

// pair joins claims of a trace with facts of a run: requests of its network, which it may lack,
// inputs, pages and pictures. Claims without an unambiguous counterpart are left out.
func pair(c *activity.Claims, f *runFacts) []clock.Evidence {
	return slices.Concat(requests(c, f.Fall), pressed(c, f.Inputs), opened(c, f.Reports), drawn(c, f.Pictures))
}

// markWithin is the greatest error of a page's clock. Browsers round it against timing attacks.
const markWithin = int64(2 * time.Millisecond)

// drawn pairs marks of pictures with captured frames by the code strip, if each has one. A picture
// was drawn before the first frame that shows it, and not before its animation frame.
func drawn(c *activity.Claims, pictures []picture) (all []clock.Evidence) {
	marks := map[stripID][]int64{}
	for _, s := range c.Strips {
		id := stripID{s.Page, s.ID}
		marks[id] = append(marks[id], s.At)
	}
	for _, p := range pictures {
		if len(marks[p.id]) != 1 {
			continue
		}
		at := marks[p.id][0]
		e := clock.Evidence{Kind: "strip", Witness: fmt.Sprintf("%d of page %d", p.id.number, p.id.page),
			Limits: []clock.Limit{{At: at, Time: int64(p.seen), Latest: true}}}
		if p.drawn.Valid() {
			e.Limits = append(e.Limits, clock.Limit{At: at + c.Resolution, Time: int64(p.drawn.Earliest) - markWithin})
		}
		all = append(all, e)
	}
	return all
}

// opened pairs documents with reports of test pages by path and place in the playlist, if each has
// one. A page asks the recorder for the time just before its green, or after its end.
func opened(c *activity.Claims, reports []site.Report) (all []clock.Evidence) {
	for i := range reports {
		r := &reports[i]
		var of []activity.Page
		for _, p := range c.Pages {
			u, err := url.Parse(p.Address)
			if err == nil && u.Path == r.Page.Path && u.Query().Get("entry") == strconv.Itoa(r.Entry) {
				of = append(of, p)
			}
		}
		near := r.GreenFrom
		if near == r.Zero {
			near = r.RedTo
		}
		if len(of) != 1 || !near.Valid() {
			continue
		}
		at := of[0].Zero + int64(near.Earliest-r.Zero.Earliest)
		all = append(all, clock.Evidence{Kind: "page", Witness: activity.Clean(r.Page.Path),
			Limits: []clock.Limit{{At: at, Time: int64(near.Latest), Latest: true},
				{At: at + c.Resolution, Time: int64(near.Earliest)}}})
	}
	return all
}

// lacks reports requests that the run made within the trace's time and the trace lacks. A third of
// them may be those of the browser itself.
func (j *Joined) lacks(c *activity.Claims, f *runFacts) *otherRunError {
	if f.Fall == nil || len(c.Requests) == 0 {
		return nil
	}
	claimed := map[string]bool{}
	for _, q := range c.Requests {
		claimed[key(q.Method, q.URL)] = true
	}
	_, from := j.Clock.Bounds(c.Begin)
	to, _ := j.Clock.Bounds(c.End)
	all, missing := 0, []string(nil)
	for i := range f.Fall.Requests {
		r := &f.Fall.Requests[i]
		if r.Sent.Known() && int64(r.Sent.Earliest) >= from && int64(r.Sent.Latest) <= to {
			all++
			if k := key(r.Served.Method, r.Served.URL); !claimed[k] {
				missing = append(missing, witness(k, 0, 1))
			}
		}
	}
	if all < 3 || 3*len(missing) <= all {
		return nil
	}
	return &otherRunError{Trace: fmt.Sprintf("lacks %d of %d requests", len(missing), all), Run: "made them",
		Contrary: missing[:min(len(missing), maxListed)]}
}

// key identifies a resource.
func key(method, address string) string {
	if u, err := url.Parse(address); err == nil {
		u.Fragment, u.RawFragment, u.Host = "", "", strings.ToLower(u.Host)
		if u.Path == "" {
			u.Path = "/"
		}
		u.User = nil
		address = u.String()
	}
	return cmp.Or(strings.ToUpper(method), "GET") + " " + address
}

// requests pairs requests by method, address and occurrence, if both sides have equally many.
func requests(c *activity.Claims, fall *har.Waterfall) (all []clock.Evidence) {
	if fall == nil {
		return nil
	}
	claimed, seen := map[string][]activity.Request{}, map[string][]*har.Request{}
	var order []string
	for i := range fall.Requests {
		r := &fall.Requests[i]
		k := key(r.Served.Method, r.Served.URL)
		if seen[k] == nil {
			order = append(order, k)
		}
		seen[k] = append(seen[k], r)
	}
	for _, q := range c.Requests {
		k := key(q.Method, q.URL)
		claimed[k] = append(claimed[k], q)
	}
	for _, k := range order {
		ours, theirs := seen[k], claimed[k]
		if len(ours) != len(theirs) {
			continue
		}
		slices.SortStableFunc(ours, func(a, b *har.Request) int { return cmp.Compare(a.Sent.At, b.Sent.At) })
		slices.SortStableFunc(theirs, func(a, b activity.Request) int {
			return cmp.Compare(cmp.Or(a.Sent, a.First, a.Ended), cmp.Or(b.Sent, b.First, b.Ended))
		})
		for i, q := range theirs {
			e := clock.Evidence{Kind: "request", Witness: witness(k, i, len(theirs)), Limits: limits(&q, ours[i],
				c.Resolution)}
			if len(e.Limits) > 0 {
				all = append(all, e)
			}
		}
	}
	return all
}

// witness names a request without its query.
func witness(key string, i, of int) string {
	name, _, _ := strings.Cut(key, "?")
	if name = activity.Clean(name); of > 1 {
		name = fmt.Sprintf("%s (%d of %d)", name, i+1, of)
	}
	return name
}

// limits are the inequalities of a request: it was sent before the link saw it leave, and received
// after the link delivered it.
func limits(q *activity.Request, r *har.Request, resolution int64) (all []clock.Limit) {
	if q.Sent != 0 && r.Sent.Latest != 0 {
		all = append(all, clock.Limit{At: q.Sent, Time: int64(r.Sent.Latest), Latest: true})
	}
	after := func(at int64, m har.Moment) {
		if at != 0 && m.Known() {
			all = append(all, clock.Limit{At: at + resolution, Time: int64(m.Earliest)})
		}
	}
	after(q.First, r.FirstByte)
	after(q.Ended, r.Ended)
	return all
}

// input is an input that the recorder sent.
type input struct {
	Kind string // as in [activity.Input]
	Sent timeline.Interval
	Text string
}

// inputsOf returns the inputs of an event of the recording. The data is that of the input driver.
func inputsOf(e timeline.Event) (all []input) {
	var data struct {
		Did string `json:"did"`
	}
	if json.Unmarshal(e.Data, &data) != nil || utf8.RuneCountInString(data.Did) > 200 {
		return nil // of a cut text, the number of inputs is unknown
	}
	sent := timeline.Interval{Earliest: e.At.Add(-e.Uncertainty), Latest: e.At.Add(e.Uncertainty)}
	for did := range strings.SplitSeq(data.Did, ", ") {
		kind := ""
		switch {
		case strings.HasPrefix(did, "key down "):
			kind = "key"
		case strings.HasPrefix(did, "button down "):
			kind = "button"
		case strings.HasPrefix(did, "wheel "):
			kind = "wheel"
		case strings.HasPrefix(did, "finger ") && strings.Contains(did, " down at "):
			kind = "touch"
		case strings.HasPrefix(did, "text "):
			kind = "text"
		}
		if kind != "" {
			all = append(all, input{kind, sent, did})
		}
	}
	return all
}

// pressed pairs inputs by kind and order, if both sides have equally many. Typed text causes an
// unknown number of keys.
func pressed(c *activity.Claims, inputs []input) (all []clock.Evidence) {
	ours, theirs := map[string][]input{}, map[string][]int64{}
	for _, i := range inputs {
		kind := i.Kind
		if kind == "text" {
			kind = "key"
		}
		ours[kind] = append(ours[kind], i)
	}
	for _, i := range c.Inputs {
		theirs[i.Kind] = append(theirs[i.Kind], i.At)
	}
	for _, kind := range []string{"key", "button", "touch", "wheel"} {
		sent, at := ours[kind], theirs[kind]
		if len(sent) != len(at) || slices.ContainsFunc(sent, func(i input) bool { return i.Kind == "text" }) {
			continue
		}
		slices.SortStableFunc(sent, func(a, b input) int { return cmp.Compare(a.Sent.Earliest, b.Sent.Earliest) })
		slices.Sort(at)
		for i, s := range sent {
			all = append(all, clock.Evidence{Kind: "input", Witness: activity.Clean(s.Text),
				Limits: []clock.Limit{{At: at[i] + c.Resolution, Time: int64(s.Sent.Earliest)}}})
		}
	}
	return all
}
