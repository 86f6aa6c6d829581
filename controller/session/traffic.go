package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/vitals"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/dns"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/serve"
	"github.com/eideticker/eideticker/netsim/site"
)

// traffic is all that names, link and servers saw of a run on its own network.
type traffic struct {
	fall    *har.Waterfall
	figures *Network // with counts of the traffic
	wall    int64    // from the recording's clock to the wall's
	byTCP   string   // requested over TCP though only QUIC is served; "": nothing
	unnoted bool     // servers dropped some of the requests' notes
	hidden  bool     // the page's own server has TLS, so no request was seen
	kept    bool     // its HAR file is written
}

// eventSource is the source of the events of requests.
const eventSource = "netsim"

// Kinds of its events.
const (
	requestBegun = "request-begun" // its first byte left the device, or its name lookup or connection began
	requestEnded = "request-ended" // the device had all of the response
)

// maxEvents limits the requests that have events in a recording. The HAR file has all requests.
const maxEvents = 500

// witness returns the traffic of a run, without the green page, the red page and the page's report.
// It emits events of the requests, so the recorder must still be running.
func (r *run) witness(p *prepared, emit func(timeline.Event)) *traffic {
	e := p.network.Evidence(p.network.from)
	e.Names = slices.DeleteFunc(e.Names, func(q dns.Query) bool {
		return q.Name == greenHost || strings.HasSuffix(q.Name, "."+greenHost)
	})
	e.Flows = slices.DeleteFunc(e.Flows,
		func(f link.Flow) bool { return strconv.Itoa(int(f.Server.Port())) == p.pages.greenPort })
	if p.pages.server != nil {
		e.Connections, e.Exchanges = p.pages.server.Witnessed()
	} else {
		r.note("%s has TLS of its own, so the requests were not seen", p.pages.address)
	}
	var names map[string]schemes
	if p.pages.site != nil {
		e.Exchanges = slices.DeleteFunc(e.Exchanges, func(x serve.Exchange) bool {
			u, err := url.Parse(x.URL)
			return err == nil && site.Reporting(u.Path)
		})
	}
	figures := *p.figures
	t := &traffic{figures: &figures, fall: har.New(e), hidden: p.pages.server == nil}
	if p.pages.archive != nil {
		names = p.pages.archive.names
		figures.Replay = r.replayed(p.pages.archive)
	}
	t.byTCP = askedByTCP(p.pages.protocol, names, e)
	t.wall, _ = timeline.WallOffset(timeline.Monotonic())
	figures.count(t.fall)
	for _, event := range events(t.fall, timeline.Monotonic().Now()) {
		emit(event)
	}
	if p.pages.server != nil {
		if refused, lost := p.pages.server.Unnoted(); refused+lost > 0 {
			t.unnoted = true
			r.note("%d connections were refused, and %d requests were not noted, since there were too many", refused,
				lost)
		}
	}
	r.log.Info("the network", "requests", figures.Requests, "missed", figures.Missed, "bytes up", figures.BytesUp,
		"bytes down", figures.BytesDown)
	return t
}

// askedByTCP returns "the page", or a name of an archive, that was requested over TCP though only
// QUIC is served; "": nothing.
func askedByTCP(protocol suite.Protocol, names map[string]schemes, e har.Evidence) string {
	if protocol != suite.HTTP3 {
		return ""
	}
	var tried []link.Flow
	for _, f := range e.Flows {
		if f.Protocol == "tcp" && strconv.Itoa(int(f.Server.Port())) == securePort {
			tried = append(tried, f)
		}
	}
	switch {
	case len(tried) == 0:
		return ""
	case len(e.Exchanges) == 0:
		return "the page"
	}
	// While a browser waits for QUIC, it also tries TCP. Such a flow proves nothing.
	tried = slices.DeleteFunc(tried, func(f link.Flow) bool { return besideQUIC(f, e) })
	heard := map[string]bool{}
	for _, x := range e.Exchanges {
		if u, err := url.Parse(x.URL); err == nil && u.Scheme == "https" {
			heard[nameOf(u)] = true
		}
	}
	for _, c := range e.Connections {
		if c.Network == "udp" && c.Secured > 0 { // nothing was requested, but could have been
			heard[strings.ToLower(c.Name)] = true
		}
	}
	for _, q := range e.Names { // all names have one address, so flows have no name
		name := strings.ToLower(q.Name)
		if names[name].secure && !heard[name] &&
			slices.ContainsFunc(tried, func(f link.Flow) bool { return f.Opened >= q.At }) {
			return name
		}
	}
	return ""
}

// besideQUIC reports if a flow was begun while the browser waited for a QUIC connection that then
// succeeded.
func besideQUIC(f link.Flow, e har.Evidence) bool {
	return slices.ContainsFunc(e.Flows, func(g link.Flow) bool {
		return g.Protocol == "udp" && g.Opened <= f.Opened &&
			slices.ContainsFunc(e.Connections, func(c serve.Connection) bool {
				return c.Network == "udp" && c.Client == g.Device && c.Secured >= f.Opened
			})
	})
}

// whyUnseen adds to the error of a run what its network saw of the cause. A run without an error
// fails then: it showed an error page of the browser, or a page that lacks something.
func (t *traffic) whyUnseen(err error) error {
	if t == nil || t.byTCP == "" {
		return err
	}
	why := fmt.Errorf("the browser requested %s over TCP, not QUIC; repeat the run, or use h2", t.byTCP)
	if err == nil {
		return why
	}
	return fmt.Errorf("%w; %w", err, why)
}

// count takes the counts of a waterfall.
func (n *Network) count(fall *har.Waterfall) {
	over := map[int]bool{}
	n.Requests, n.BytesUp, n.BytesDown = len(fall.Requests), fall.BytesUp, fall.BytesDown
	for i := range fall.Requests {
		r := &fall.Requests[i]
		over[r.Over.ID] = true
		if r.Missed() {
			n.Missed++
		}
	}
	n.Connections = len(over)
	for _, l := range fall.Lookups {
		if l.Query.Result == dns.Refused {
			n.NamesRefused++
		}
	}
}

// requestData is the data of a request's events.
type requestData struct {
	Number int    `json:"number"`
	Method string `json:"method"`
	URL    string `json:"url"`
	Status int    `json:"status,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"` // of the body, as received
}

// events returns the events of the first requests. A moment without an upper bound was before now.
func events(fall *har.Waterfall, now timeline.Time) (all []timeline.Event) {
	tell := func(m har.Moment, kind string, about requestData) {
		latest := m.Latest
		if latest == 0 {
			latest = max(m.At, now)
		}
		data, err := json.Marshal(about)
		if err != nil {
			return // texts and numbers can be encoded
		}
		all = append(all, timeline.Event{At: m.At, Uncertainty: max(m.At.Sub(m.Earliest), latest.Sub(m.At)),
			Source: eventSource, Kind: kind, Data: data})
	}
	for i := range fall.Requests[:min(len(fall.Requests), maxEvents)] {
		r := &fall.Requests[i]
		about := requestData{Number: i + 1, Method: r.Served.Method, URL: cut(r.Served.URL, 500)}
		if m := r.Begins(); m.Known() {
			tell(m, requestBegun, about)
		}
		if r.Ended.Known() {
			about.Status, about.Bytes = r.Served.Status, r.Served.ResponseBytes
			tell(r.Ended, requestEnded, about)
		}
	}
	return all
}

// cut shortens a text to at most limit bytes, and adds an ellipsis.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return strings.ToValidUTF8(text, "?")
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return strings.ToValidUTF8(text[:limit], "?") + "…"
}

func writeTo(path string, write func(io.Writer) error) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(out), out.Close())
}

// writeHAR writes the HAR file into a folder. A run that failed has no times of its content.
func (r *run) writeHAR(dir string, record *Record, t *traffic, found *runfolder.Found) error {
	t.fall.Recording = har.ID(record.Recording)
	if t.figures.Replay != nil {
		withoutSecrets(t.fall)
	}
	name, version, _ := strings.Cut(r.Program, " ")
	o := har.Options{Creator: har.Program{Name: name, Version: version}, Title: r.Test.Name, Wall: t.wall,
		Comment: "Times are those at the device. Nothing was hooked in it: names, line and servers have seen them."}
	o.Browser = runfolder.Browser(record.Environment)
	if found != nil && len(found.Results.Windows) > 0 && record.State != Failed {
		w := &found.Results.Windows[0]
		o.StartRender, o.LastChange = runfolder.Seen(w)
		if w.T0 != nil {
			o.Started = timeline.Time(w.T0.AtNS)
		}
	}
	err := writeTo(filepath.Join(dir, HARFile), func(to io.Writer) error { return t.fall.Write(to, o) })
	t.kept = err == nil
	return err
}

// withheld replaces the values of headers with secrets.
const withheld = "(withheld)"

// withoutSecrets withholds cookies and credentials of a replayed site. Its archive has them, and
// stays on this machine.
func withoutSecrets(fall *har.Waterfall) {
	for i := range fall.Requests {
		x := &fall.Requests[i].Served
		x.Header, x.ResponseHeader = x.Header.Clone(), x.ResponseHeader.Clone()
		for _, h := range []http.Header{x.Header, x.ResponseHeader} {
			for _, name := range []string{"Cookie", "Set-Cookie", "Authorization", "Proxy-Authorization"} {
				for n := range h[name] {
					h[name][n] = withheld
				}
			}
		}
	}
}

// results returns the network part of results.json. Without a waterfall it lists no requests.
func (n *Network) results(fall *har.Waterfall) *result.Network {
	found := &result.Network{
		Profile: n.Profile, RTTAskedNS: int64(n.RTT.Asked), RTTNS: int64(n.RTT.Got), DownAsked: int64(n.Down.Asked),
		Down: int64(n.Down.Got), UpAsked: int64(n.Up.Asked), Up: int64(n.Up.Got),
		LossAsked: n.Loss.Asked, Loss: n.Loss.Got, Requests: n.Requests, Missed: n.Missed, NamesRefused: n.NamesRefused,
		Connections: n.Connections,
		BytesUp:     int64(n.BytesUp), BytesDown: int64(n.BytesDown), File: HARFile, List: []result.Request{},
	}
	if fall == nil {
		return found
	}
	for i := range fall.Requests[:min(len(fall.Requests), result.MostRequests)] {
		found.List = append(found.List, requestResults(&fall.Requests[i]))
	}
	found.ByType, found.ByDomain = vitals.Count(requestsOf(fall))
	return found
}

func requestResults(r *har.Request) result.Request {
	x := &r.Served
	part := func(from, to har.Moment) int64 {
		if !from.Known() || !to.Known() {
			return -1
		}
		return int64(max(0, to.At.Sub(from.At)) / time.Nanosecond)
	}
	priority := "u=" + strconv.Itoa(x.Urgency)
	if x.Incremental {
		priority += ", i"
	}
	return result.Request{
		Method: cut(x.Method, 40), URL: cut(x.URL, 2000), Status: x.Status, Protocol: r.Over.Protocol,
		Priority: priority, Reused: r.Reused, BeginNS: int64(r.Begins().At),
		NameNS: part(r.Name.From, r.Name.To), ConnectNS: part(r.Connect.From, r.Connect.To),
		TLSNS: part(r.TLS.From, r.TLS.To), WaitNS: part(r.Sent, r.FirstByte), LoadNS: part(r.FirstByte, r.Ended),
		Exact: r.FirstByte.Exact() && r.Ended.Exact(), WireBytes: r.WireBytes, BodyBytes: x.ResponseBytes,
		DecodedBytes: x.DecodedBytes, EndNS: int64(r.Ended.At),
	}
}
