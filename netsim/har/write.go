package har

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Options say what a file tells beside the requests.
type Options struct {
	Creator Program
	Browser Program // none: nobody knows
	Title   string  // of the page
	// Started is when the page was asked for; 0: at the first that was seen of a request.
	Started timeline.Time
	// Wall is the difference between nanoseconds since the Unix epoch and a time.
	Wall int64
	// StartRender and LastChange are from pixels; 0: not known.
	StartRender, LastChange timeline.Time
	Comment                 string
}

const pageID = "page_1"

// maxEntryBytes is what the requests of a file have room for, of maxOwnBytes: indented, with
// names, they are less than twice as many. Sites may send heads without end.
const maxEntryBytes = maxOwnBytes / 3

// file makes a HAR file of as many requests and names as can be read again. Its comment lists the
// omitted ones.
func (w *Waterfall) file(o Options) *File {
	started := o.Started
	for i := range w.Requests {
		if b := w.Requests[i].Begins(); b.Known() && (started == 0 || b.At < started) {
			started = b.At
		}
	}
	page := Page{Started: wall(started, o.Wall), ID: pageID, Title: o.Title,
		Timings: PageTimings{OnContentLoad: -1, OnLoad: -1, StartRender: since(started, o.StartRender),
			LastChange: since(started, o.LastChange)}}
	f := &File{Log{Version: "1.2", Creator: o.Creator, Browser: o.Browser, Pages: []Page{page}, Entries: []Entry{},
		Comment: o.Comment, Recording: w.Recording}}
	requests, lookups := w.Requests[:min(len(w.Requests), maxEntries)], w.Lookups[:min(len(w.Lookups), maxNames)]
	for i, bytes := 0, 0; i < len(requests); i++ {
		e := requests[i].entry(o.Wall)
		if raw, err := json.Marshal(e); err == nil { // otherwise writing the file reports it
			bytes += len(raw)
		}
		if bytes > maxEntryBytes {
			break
		}
		f.Log.Entries = append(f.Log.Entries, e)
	}
	if left := len(w.Requests) - len(f.Log.Entries); left > 0 {
		f.Log.Comment = strings.TrimSpace(fmt.Sprintf("%s %d more requests are left out.", f.Log.Comment, left))
	}
	for _, l := range lookups {
		f.Log.Names = append(f.Log.Names,
			NameAsked{Name: l.Query.Name, Type: l.Query.Type, Result: string(l.Query.Result), Sent: instant(l.Sent),
				Had: instant(l.Had)})
	}
	return f
}

// Write writes a HAR file.
func (w *Waterfall) Write(to io.Writer, o Options) error {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(w.file(o)); err != nil {
		return fmt.Errorf("write HAR file: %w", err)
	}
	return nil
}

func wall(t timeline.Time, offset int64) time.Time { return time.Unix(0, int64(t)+offset).UTC() }

// ms is a time in the unit of the format, to the nanosecond.
func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func since(started, t timeline.Time) *float64 {
	if t == 0 {
		return nil
	}
	v := ms(t.Sub(started))
	return &v
}

func instant(m Moment) Instant {
	if !m.Known() {
		return Instant{}
	}
	i := Instant{At: int64(m.At), Earliest: int64(m.Earliest), By: m.By}
	if m.Latest != 0 {
		latest := int64(m.Latest)
		i.Latest = &latest
	}
	return i
}

func (r *Request) entry(offset int64) Entry {
	x := &r.Served
	begins := r.Begins()
	e := Entry{
		Page: pageID, Started: wall(begins.At, offset), Clock: int64(begins.At), Request: r.made(),
		Response: r.response(), Timings: r.timings(),
		Priority: priority(x.Urgency, x.Incremental), Protocol: r.Over.Protocol, TLS: r.Over.TLS, Reused: &r.Reused,
		Moments: r.moments(), Error: x.Error, From: x.From, To: x.To,
	}
	if r.Over.Client.IsValid() && r.Over.Server.IsValid() {
		e.Client, e.Server = r.Over.Client.String(), r.Over.Server.String()
	}
	e.Time = e.Timings.total()
	if a := r.Over.Server; a.IsValid() {
		e.ServerIP = a.Addr().Unmap().String()
	}
	if r.Over.ID > 0 {
		e.Connection = strconv.Itoa(r.Over.ID)
	}
	if r.WireBytes >= 0 {
		e.WireBytes = &r.WireBytes
	}
	return e
}

func (r *Request) moments() Moments {
	return Moments{
		NameFrom: instant(r.Name.From), NameTo: instant(r.Name.To), ConnectFrom: instant(r.Connect.From),
		ConnectTo: instant(r.Connect.To),
		TLSFrom:   instant(r.TLS.From), TLSTo: instant(r.TLS.To), Sent: instant(r.Sent),
		FirstByte: instant(r.FirstByte),
		Ended:     instant(r.Ended),
	}
}

// timings are the best that is known; the bounds of each are in the moments. What passed between
// two phases is of those that the format has one of: blocked.
func (r *Request) timings() Timings {
	t := Timings{Blocked: -1, DNS: -1, Connect: -1, SSL: -1}
	if r.Name.known() {
		t.DNS = ms(r.Name.duration())
	}
	if r.Connect.known() {
		whole := r.Connect
		if r.TLS.To.Known() && r.TLS.To.At > whole.To.At {
			whole.To = r.TLS.To
		}
		t.Connect = ms(whole.duration())
	}
	if r.TLS.known() {
		t.SSL = ms(r.TLS.duration())
	}
	if r.FirstByte.Known() {
		t.Send = ms(r.sending())
		t.Wait = max(0, ms(r.FirstByte.At.Sub(r.Sent.At))-t.Send)
		if r.Ended.Known() {
			t.Receive = max(0, ms(r.Ended.At.Sub(r.FirstByte.At)))
		}
	}
	if before := ms(r.Sent.At.Sub(r.Begins().At)) - max(0, t.DNS) - max(0, t.Connect); before > 1e-6 {
		t.Blocked = before
	}
	return t
}

// sending returns how long the request was sent. The server states it, from the first byte to the
// last.
func (r *Request) sending() time.Duration {
	x := &r.Served
	if x.Received <= x.Began || x.Began == 0 || !r.FirstByte.Known() {
		return 0
	}
	return min(x.Received.Sub(x.Began), max(0, r.FirstByte.At.Sub(r.Sent.At)))
}

func (t *Timings) total() float64 {
	return max(0, t.Blocked) + max(0, t.DNS) + max(0, t.Connect) + t.Send + t.Wait + t.Receive
}

func priority(urgency int, incremental bool) string {
	text := "u=" + strconv.Itoa(urgency)
	if incremental {
		text += ", i"
	}
	return text
}

// version is how the format calls a protocol.
func version(protocol string) string {
	switch protocol {
	case "h2":
		return "HTTP/2"
	case "h3":
		return "HTTP/3"
	}
	return cmp.Or(strings.ToUpper(protocol), "HTTP/1.1")
}

func (r *Request) made() RequestMade {
	x := &r.Served
	m := RequestMade{Method: cmp.Or(x.Method, "GET"), URL: x.URL, Version: version(r.Over.Protocol),
		Cookies: []Cookie{}, Headers: pairs(x.Header), Query: query(x.URL), HeadersSize: -1, BodySize: x.RequestBytes}
	for _, line := range x.Header["Cookie"] {
		read, _ := http.ParseCookie(line) // one that cannot be read is in the headers all the same
		for _, c := range read {
			m.Cookies = append(m.Cookies, Cookie{Name: c.Name, Value: c.Value})
		}
	}
	m.Cookies = atMost(m.Cookies)
	return m
}

func (r *Request) response() ResponseMade {
	x := &r.Served
	m := ResponseMade{
		Status: x.Status, StatusText: http.StatusText(x.Status), Version: version(r.Over.Protocol), Cookies: []Cookie{},
		Headers: pairs(x.ResponseHeader),
		Content: Content{Size: x.DecodedBytes, Compression: max(0, x.DecodedBytes-x.ResponseBytes),
			MIMEType: x.ResponseHeader.Get("Content-Type")},
		RedirectURL: x.ResponseHeader.Get("Location"), HeadersSize: -1, BodySize: x.ResponseBytes,
	}
	for _, line := range x.ResponseHeader["Set-Cookie"] {
		c, err := http.ParseSetCookie(line)
		if err != nil {
			continue // as above
		}
		made := Cookie{Name: c.Name, Value: c.Value, Path: c.Path, Domain: c.Domain, HTTPOnly: c.HttpOnly,
			Secure: c.Secure}
		if !c.Expires.IsZero() {
			made.Expires = c.Expires.UTC().Format(time.RFC3339Nano)
		}
		m.Cookies = append(m.Cookies, made)
	}
	m.Cookies = atMost(m.Cookies)
	if r.WireBytes >= 0 {
		m.TransferSize = &r.WireBytes
	}
	return m
}

// atMost is a list of as many as are read again.
func atMost[T any](all []T) []T { return all[:min(len(all), MaxFields)] }

// pairs are header fields, by name: nobody kept their order.
func pairs(h http.Header) []Pair {
	all := []Pair{}
	for name, values := range h {
		for _, v := range values {
			all = append(all, Pair{Name: name, Value: v})
		}
	}
	slices.SortStableFunc(all, func(a, b Pair) int { return cmp.Compare(a.Name, b.Name) })
	return atMost(all)
}

// query is that of an address, in its order.
func query(address string) []Pair {
	all := []Pair{}
	u, err := url.Parse(address)
	if err != nil {
		return all
	}
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		all = append(all, Pair{Name: unescaped(name), Value: unescaped(value)})
	}
	return atMost(all)
}

func unescaped(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}
