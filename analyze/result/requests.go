package result

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/pattern"
)

// SlowRequest is a request of at least 50 ms, as its page states it (Resource Timing, W3C).
type SlowRequest struct {
	URL     string `json:"url"`      // without query and fragment
	By      string `json:"by"`       // initiator, such as img or fetch; navigation: the document
	BeginNS int64  `json:"begin_ns"` // on the recording's clock
	WaitNS  int64  `json:"wait_ns"`  // until the first byte of the response; -1: the page does not state it
	TookNS  int64  `json:"took_ns"`  // until its last byte
	Text    string `json:"text"`
}

func (q *SlowRequest) describe() {
	q.Text = fmt.Sprintf("%s (%s) took %s", requestName(q.URL), q.By, duration(q.TookNS))
	if q.WaitNS >= 0 {
		q.Text += ", and its first byte came after " + duration(q.WaitNS)
	}
}

// RequestPrefix begins the names of requests among those of functions.
const RequestPrefix = "the request for "

// RequestTimes returns the times of requests in ns, by their names with RequestPrefix. Shorter ones
// than LongPause are left out. Of requests with one name it is the time in which any was under way.
// all reports whether the list has all requests.
func (r *Results) RequestTimes() (times map[string]int64, all bool) {
	times = map[string]int64{}
	until := map[string]int64{}
	loadings := r.loadings()
	slices.SortStableFunc(loadings, func(a, b loading) int { return cmp.Compare(a.begin, b.begin) })
	for _, l := range loadings {
		if l.to-l.begin >= int64(LongPause) {
			name := RequestPrefix + l.name()
			if _, ok := until[name]; !ok {
				until[name] = l.begin
			}
			times[name] += max(0, l.to-max(l.begin, until[name]))
			until[name] = max(until[name], l.to)
		}
	}
	return times, len(loadings) < min(MaxRequests, MostRequests)
}

// loading is the time of a request on the recording's clock.
type loading struct {
	method, url, by  string
	begin, first, to int64 // first: of its first byte, or -1
}

// loadings returns the requests of the test network, or else those that the pages state.
func (r *Results) loadings() (all []loading) {
	if r.Network != nil && len(r.Network.List) > 0 {
		for i := range r.Network.List {
			q := &r.Network.List[i]
			all = append(all, loading{q.Method, q.URL, "", q.BeginNS, q.firstByte(), q.end()})
		}
	} else if r.Script != nil {
		for i := range r.Script.Requests {
			q := &r.Script.Requests[i]
			first := int64(-1)
			if q.WaitNS >= 0 {
				first = q.BeginNS + q.WaitNS
			}
			all = append(all, loading{"GET", q.URL, q.By, q.BeginNS, first, q.BeginNS + q.TookNS})
		}
	}
	return all
}

// name returns the file, behind another method than GET.
func (l *loading) name() string {
	name := requestName(l.url)
	if l.method != "GET" {
		name = l.method + " " + name
	}
	return name
}

var imageFile = pattern.New(`(?i)\.(apng|avif|bmp|gif|ico|jpe?g|png|svg|webp)$`)

func (l *loading) image() bool { return l.by == "img" || imageFile.MatchString(requestName(l.url)) }

// end returns the time of the last byte. Earlier versions have the parts only.
func (q *Request) end() int64 {
	if q.EndNS > 0 {
		return q.EndNS
	}
	end := q.BeginNS
	for _, part := range []int64{q.NameNS, q.ConnectNS, q.TLSNS, q.WaitNS, q.LoadNS} {
		end += max(0, part)
	}
	return end
}

// firstByte returns the time of the first byte of the response; -1 unknown.
func (q *Request) firstByte() int64 {
	if q.LoadNS < 0 {
		return -1
	}
	return q.end() - q.LoadNS
}

// requestName returns the file of an address, or its host. It is printable, and bounded.
func requestName(address string) string {
	const most = 60
	name, _, _ := strings.Cut(address, "?")
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		if name = path.Base(u.EscapedPath()); name == "." || name == "/" {
			name = u.Host
		} else if text, err := url.PathUnescape(name); err == nil && !strings.ContainsFunc(text, unprintable) {
			name = text
		}
	}
	all := []rune(name)
	for i, c := range all {
		if unprintable(c) {
			all[i] = ' '
		}
	}
	return wording.Short(string(all), most)
}

func unprintable(c rune) bool { return !unicode.IsPrint(c) }

// imageWeight is the weight of the time of an image before the first change.
const imageWeight = 0.8

// requested is the time of a span in which requests were under way whose responses came before its
// end.
type requested struct {
	ns    int64 // of all
	n     int   // requests
	name  string
	only  bool  // the named one took most of it
	first int64 // ns of it until the first byte of the named one; -1 unknown
}

// requested returns the requests of a span. Its ns is 0 if they took less than half of the span.
// Images do not hold up the first change of a load, so others that took as long come before them.
func (r *Results) requested(s FrameSpan) (q requested) {
	from, to := s.FromNS, s.ToNS
	since := r.since(s)
	var parts [][2]int64
	most, weight := int64(0), 0.0
	longest := ""
	for _, l := range r.loadings() {
		came := func(at int64) bool { return at > from && at <= to }
		if l.begin >= to || l.begin < since || !came(l.first) && !came(l.to) {
			continue
		}
		part := [2]int64{max(l.begin, from), l.to}
		if l.to > to { // its first bytes may have changed the picture
			part[1] = l.first
		}
		parts = append(parts, part)
		took := part[1] - part[0]
		if most < took {
			most, longest = took, l.name()
		}
		weighs := float64(took)
		if s.Load && l.image() {
			weighs *= imageWeight
		}
		if weighs > weight {
			weight, q.name, q.first, q.ns = weighs, l.name(), -1, took
			if came(l.first) {
				q.first = l.first - part[0]
			}
		}
	}
	slices.SortFunc(parts, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	whole, until := int64(0), from
	for _, p := range parts {
		whole += max(0, p[1]-max(p[0], until))
		until = max(until, p[1])
	}
	if 2*whole < to-from {
		return requested{}
	}
	if q.n = len(parts); q.n == 1 || 4*q.ns >= 3*whole {
		q.only = true
		return q
	}
	q.ns, q.name = whole, longest
	return q
}

// since returns the earliest begin of a request for which a span may have waited. Long polls begin
// earlier: before an input, before a load, or before a pause of an animation.
func (r *Results) since(s FrameSpan) int64 {
	if s.Window < 0 || s.Window >= len(r.Windows) {
		return math.MinInt64
	}
	w := &r.Windows[s.Window]
	_, moves := w.series("fps", "frame_time")
	switch {
	case moves && !s.Response, s.Response && !s.Load:
		return s.FromNS - int64(LongPause)
	case w.T0 != nil:
		return w.T0.AtNS - int64(LongPause)
	}
	return math.MinInt64
}

func (q *requested) text() string {
	if q.only {
		return fmt.Sprintf(RequestPrefix+"%s took %s", q.name, duration(q.ns))
	}
	return fmt.Sprintf("%s (the longest: %s) took %s", wording.Plural(q.n, "request"), q.name, duration(q.ns))
}

func (q *requested) label() string {
	if q.only {
		return q.name + " " + duration(q.ns)
	}
	return wording.Plural(q.n, "request") + " " + duration(q.ns)
}

// requestText states the requests before a late frame, behind a space; "": they did not take half
// of the time.
func (r *Results) requestText(s FrameSpan) string {
	q := r.requested(s)
	if q.ns == 0 {
		return ""
	}
	text := " " + capital(q.text()) + " of it"
	if q.only && q.first >= 0 {
		text += ", " + duration(q.first) + " until its first byte"
	}
	return text + "."
}

// requestCauses returns the requests before late frames of a window.
func (r *Results) requestCauses(window int) (all causes) {
	if len(r.loadings()) == 0 {
		return nil
	}
	spans := slices.DeleteFunc(FrameSpans(r.Windows, window),
		func(s FrameSpan) bool { return !s.Long && s.Lasted() < LongPause })
	slices.SortStableFunc(spans, func(a, b FrameSpan) int { return cmp.Compare(b.Lasted(), a.Lasted()) })
	for _, s := range spans[:min(len(spans), MaxLate)] {
		if q := r.requested(s); q.ns > 0 {
			all = append(all, cause{frame: s.Frame, ms: float64(s.ToNS-s.FromNS) / 1e6, took: float64(q.ns) / 1e6,
				text: q.text(), from: s.FromNS, name: q.label(), load: s.Load})
		}
	}
	return all
}
