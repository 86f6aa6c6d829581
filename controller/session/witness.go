package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/dns"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/serve"
	"github.com/eideticker/eideticker/netsim/site"
)

// witnessed is what was seen on a run's own network.
type witnessed struct {
	line     link.Conditions
	lineFrom timeline.Time // the run's; what was there before was probes
	fall     *har.Waterfall
	wall     int64 // from the recording's clock to the wall's
	harKept  bool
	byTCP    string // what was asked for by TCP where all is served by QUIC alone; "": nothing
	unnoted  bool   // there were more requests than servers note
}

// EventSource is who says that requests began and ended.
const EventSource = "netsim"

// Kinds of its events.
const (
	RequestBegun = "request-begun" // its first byte left the device, or what it waited for before began
	RequestEnded = "request-ended" // the device had all of the answer
)

// maxEvents is of how many requests a recording tells; the HAR file has all.
const maxEvents = 500

// witness puts together what names, line and servers have seen of a run, and tells the recording of
// it. The recording is still being written.
func (s *session) witness(emit func(timeline.Event)) {
	if s.network == nil || s.pages.server == nil {
		return
	}
	// The green page and the red, and what a page tells of itself, are none of the test's.
	e := s.network.Evidence(s.lineFrom)
	e.Names = slices.DeleteFunc(e.Names, func(q dns.Query) bool {
		return q.Name == greenHost ||
			strings.HasSuffix(q.Name, "."+greenHost)
	})
	e.Flows = slices.DeleteFunc(e.Flows,
		func(f link.Flow) bool { return strconv.Itoa(int(f.Server.Port())) == greenPort })
	e.Connections, e.Exchanges = s.pages.server.Witnessed()
	e.Exchanges = slices.DeleteFunc(e.Exchanges, func(x serve.Exchange) bool {
		if s.pages.site == nil {
			return false // a site of others has whatever paths it likes
		}
		u, err := url.Parse(x.URL)
		return err == nil && site.Reporting(u.Path)
	})
	var names map[string]came
	if s.pages.archive != nil {
		names = s.pages.archive.names
	}
	s.byTCP = askedByTCP(s.pages.protocol, names, e)
	s.fall = har.New(e)
	s.wall, _ = timeline.WallOffset(timeline.Monotonic())
	s.count()
	s.tellReplayed()
	for _, event := range events(s.fall, timeline.Monotonic().Now()) {
		emit(event)
	}
	if refused, lost := s.pages.server.Unnoted(); refused+lost > 0 {
		s.unnoted = true
		s.note("%d connections were refused, and %d requests were not noted, since there were too many", refused, lost)
	}
	s.log.Info("the network", "requests", s.record.Network.Requests, "missed", s.record.Network.Missed, "bytes up",
		s.record.Network.BytesUp, "bytes down", s.record.Network.BytesDown)
}

// askedByTCP says what of a page, or of an archive's names, was asked for by TCP where QUIC alone
// is served, so that nobody answered; "": nothing.
func askedByTCP(protocol suite.Protocol, names map[string]came, e har.Evidence) string {
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
	// A browser that waits for QUIC tries TCP beside it, which says nothing.
	tried = slices.DeleteFunc(tried, func(f link.Flow) bool { return besideQUIC(f, e) })
	heard := map[string]bool{}
	for _, x := range e.Exchanges {
		if u, err := url.Parse(x.URL); err == nil && u.Scheme == "https" {
			heard[nameOf(u)] = true
		}
	}
	for _, c := range e.Connections {
		if c.Network == "udp" && c.Secured > 0 { // nothing was asked for, and could have been
			heard[strings.ToLower(c.Name)] = true
		}
	}
	for _, q := range e.Names { // flows do not say of which name they are, as all names are of one address
		name := strings.ToLower(q.Name)
		if names[name].secure && !heard[name] &&
			slices.ContainsFunc(tried, func(f link.Flow) bool { return f.Opened >= q.At }) {
			return name
		}
	}
	return ""
}

// besideQUIC reports whether a flow was begun while a connection by QUIC was waited for, which then
// came.
func besideQUIC(f link.Flow, e har.Evidence) bool {
	return slices.ContainsFunc(e.Flows, func(g link.Flow) bool {
		return g.Protocol == "udp" && g.Opened <= f.Opened &&
			slices.ContainsFunc(e.Connections, func(c serve.Connection) bool {
				return c.Network == "udp" && c.Client == g.Device && c.Secured >= f.Opened
			})
	})
}

// whyUnseen adds to why a run failed what its network has seen of that. A run that did not fail has
// then: it saw a page of the browser's own, or a page that lacks something.
func (s *session) whyUnseen(err error) error {
	if s.byTCP == "" {
		return err
	}
	why := fmt.Errorf("the browser requested %s over TCP, not QUIC; repeat the run, or use h2", s.byTCP)
	if err == nil {
		return why
	}
	return fmt.Errorf("%w; %w", err, why)
}

// count is what run.json says of a waterfall.
func (s *session) count() {
	n, over := s.record.Network, map[int]bool{}
	n.Requests, n.BytesUp, n.BytesDown = len(s.fall.Requests), s.fall.BytesUp, s.fall.BytesDown
	for i := range s.fall.Requests {
		r := &s.fall.Requests[i]
		over[r.Over.ID] = true
		if r.Missed() {
			n.Missed++
		}
	}
	n.Connections = len(over)
	for _, l := range s.fall.Lookups {
		if l.Query.Result == dns.Refused {
			n.NamesRefused++
		}
	}
}

// asked is the data of a request's events.
type asked struct {
	Number int    `json:"number"`
	Method string `json:"method"`
	URL    string `json:"url"`
	Status int    `json:"status,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"` // of the body, as they came
}

// events are those of the first requests. What nothing bounds was before now.
func events(fall *har.Waterfall, now timeline.Time) (all []timeline.Event) {
	tell := func(m har.Moment, kind string, about asked) {
		latest := m.Latest
		if latest == 0 {
			latest = max(m.At, now)
		}
		data, err := json.Marshal(about)
		if err != nil {
			return // texts and numbers cannot fail
		}
		all = append(all, timeline.Event{At: m.At, Uncertainty: max(m.At.Sub(m.Earliest), latest.Sub(m.At)),
			Source: EventSource, Kind: kind, Data: data})
	}
	for i := range fall.Requests[:min(len(fall.Requests), maxEvents)] {
		r := &fall.Requests[i]
		about := asked{Number: i + 1, Method: r.Served.Method, URL: cut(r.Served.URL, 500)}
		if m := r.Begins(); m.Known() {
			tell(m, RequestBegun, about)
		}
		if r.Ended.Known() {
			about.Status, about.Bytes = r.Served.Status, r.Served.ResponseBytes
			tell(r.Ended, RequestEnded, about)
		}
	}
	return all
}

// cut shortens a text to so many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return strings.ToValidUTF8(text, "?")
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.ToValidUTF8(text[:most], "?") + "…"
}

// brought is what the run's network brought, for its folder; nil: it had none of its own.
func (s *session) brought() *runfolder.Network {
	if s.fall == nil {
		return nil
	}
	return &runfolder.Network{Results: s.record.Network.results(s.fall), Fall: s.fall, HAR: s.writeHAR}
}

func writeTo(path string, write func(io.Writer) error) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(out), out.Close())
}

// keepHAR writes the HAR file of a run that was not measured.
func (s *session) keepHAR() error {
	if s.fall == nil || s.harKept {
		return nil
	}
	return s.writeHAR(s.Dir)
}

func (s *session) writeHAR(dir string) error {
	s.fall.Recording = har.ID(s.record.Recording)
	name, version, _ := strings.Cut(s.Program, " ")
	o := har.Options{Creator: har.Program{Name: name, Version: version}, Title: s.Test.Name, Wall: s.wall,
		Comment: "Times are those at the device. Nothing was hooked in it: names, line and servers have seen them."}
	o.Browser = runfolder.Browser(s.record.Environment)
	if s.found != nil && len(s.found.Results.Windows) > 0 && s.record.State != Failed {
		w := &s.found.Results.Windows[0]
		o.StartRender, o.LastChange = runfolder.Seen(w)
		if w.T0 != nil {
			o.Started = timeline.Time(w.T0.AtNS)
		}
	}
	err := writeTo(filepath.Join(dir, HARFile), func(to io.Writer) error { return s.fall.Write(to, o) })
	s.harKept = err == nil
	return err
}

// results is what results.json says of the network; without a waterfall, nothing of single
// requests.
func (n *Network) results(fall *har.Waterfall) *report.Network {
	found := &report.Network{
		Profile: n.Profile, RTTAskedNS: int64(n.RTT.Asked), RTTNS: int64(n.RTT.Got), DownAsked: int64(n.Down.Asked),
		Down: int64(n.Down.Got), UpAsked: int64(n.Up.Asked), Up: int64(n.Up.Got),
		LossAsked: n.Loss.Asked, Loss: n.Loss.Got, Requests: n.Requests, Missed: n.Missed, NamesRefused: n.NamesRefused,
		Connections: n.Connections,
		BytesUp:     int64(n.BytesUp), BytesDown: int64(n.BytesDown), File: HARFile, List: []report.Request{},
	}
	if fall == nil {
		return found
	}
	for i := range fall.Requests[:min(len(fall.Requests), report.MostRequests)] {
		found.List = append(found.List, requestResults(&fall.Requests[i]))
	}
	return found
}

func requestResults(r *har.Request) report.Request {
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
	return report.Request{
		Method: cut(x.Method, 40), URL: cut(x.URL, 2000), Status: x.Status, Protocol: r.Over.Protocol,
		Priority: priority, Reused: r.Reused, BeginNS: int64(r.Begins().At),
		NameNS: part(r.Name.From, r.Name.To), ConnectNS: part(r.Connect.From, r.Connect.To),
		TLSNS: part(r.TLS.From, r.TLS.To), WaitNS: part(r.Sent, r.FirstByte), LoadNS: part(r.FirstByte, r.Ended),
		Exact: r.FirstByte.Exact() && r.Ended.Exact(), WireBytes: r.WireBytes, BodyBytes: x.ResponseBytes,
		DecodedBytes: x.DecodedBytes,
	}
}
