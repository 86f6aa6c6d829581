package har

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/dns"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/serve"
)

// Evidence is what the network's parts recorded of a page's loading. Flows are missing without a
// packet link: then all times are the servers'.
type Evidence struct {
	Names       []dns.Query
	Flows       []link.Flow
	Connections []serve.Connection
	Exchanges   []serve.Exchange
	// Up and Down are the shortest times that the link takes, one way each: nothing is ever there
	// earlier.
	Up, Down time.Duration
}

// Delays are the shortest times that a link takes, as Evidence wants them.
func Delays(c link.Conditions) (up, down time.Duration) {
	least := func(d link.Direction) time.Duration { return max(0, d.Delay-d.Jitter) }
	return least(c.Up), least(c.Down)
}

// Witness is who saw when something was.
type Witness string

// The witnesses.
const (
	Line   Witness = "line"   // a packet passed the device's end of it: exact
	Server Witness = "server" // its own time, and the link's delay
)

// Moment is when something was at the device. The zero value: nobody saw it.
type Moment struct {
	At timeline.Time // the best that is known
	// Earliest and Latest bound it. A Latest of 0: nothing bounds it.
	Earliest, Latest timeline.Time
	By               Witness
}

// Known reports whether it was seen at all.
func (m Moment) Known() bool { return m.By != "" }

// Exact reports whether a packet told it.
func (m Moment) Exact() bool { return m.By == Line }

func exactly(t timeline.Time) Moment {
	if t == 0 {
		return Moment{}
	}
	return Moment{t, t, t, Line}
}

// notAfter is a time that something took the link's delay to tell the server of: it may have waited
// before.
func notAfter(t timeline.Time, earliest Moment) Moment {
	m := Moment{At: t, Earliest: t, Latest: t, By: Server}
	if earliest.Known() && earliest.Earliest < t {
		m.Earliest = earliest.Earliest
	}
	return m
}

// notBefore is a time at which what a server wrote can be there; latest of 0: nobody knows.
func notBefore(t, latest timeline.Time) Moment {
	if latest != 0 {
		latest = max(latest, t)
	}
	return Moment{At: t, Earliest: t, Latest: latest, By: Server}
}

// Phase is something that took time.
type Phase struct{ From, To Moment }

// known reports whether its begin was seen.
func (p Phase) known() bool { return p.From.Known() }

// duration is 0 where its end was not seen.
func (p Phase) duration() time.Duration {
	if !p.From.Known() || !p.To.Known() {
		return 0
	}
	return max(0, p.To.At.Sub(p.From.At))
}

// Request is one of the waterfall. Its phases are those of the first request of a connection, or
// not Known.
type Request struct {
	Served serve.Exchange   // as the server saw it
	Over   serve.Connection // that it came over
	Reused bool             // others came over it before

	Name    Phase // from the query to the answer
	Connect Phase // of TCP, from the SYN to the SYN and ACK; of QUIC, all of its handshake
	TLS     Phase // from the hello to what the browser could send requests under

	Sent      Moment // its first byte left the device
	FirstByte Moment // the device had the first byte of the response
	Ended     Moment // the device had the last

	// WireBytes are those of the response as they came over its connection, head and TLS included;
	// -1: not known, since responses share bytes.
	WireBytes int64
}

// Begins is the first that was seen of it.
func (r *Request) Begins() Moment {
	for _, p := range []Phase{r.Name, r.Connect, r.TLS} {
		if p.known() {
			return p.From
		}
	}
	return r.Sent
}

// ends is the last that was seen of it.
func (r *Request) ends() Moment {
	for _, m := range []Moment{r.Ended, r.FirstByte, r.Sent} {
		if m.Known() {
			return m
		}
	}
	return r.Begins()
}

// Missed reports whether the servers had nothing to answer with.
func (r *Request) Missed() bool { return r.Served.Status >= 400 || r.Served.Status == 0 }

// Lookup is a name that the device asked for.
type Lookup struct {
	Query dns.Query
	Sent  Moment
	Had   Moment
}

// Waterfall is the requests of a page's loading in the order in which they began.
type Waterfall struct {
	Requests           []Request
	Lookups            []Lookup // of all names, refused ones too
	Idle               []Idle   // connections over which nothing was asked
	BytesUp, BytesDown uint64   // of IP: that the device sent, and was given
	Recording          ID       // of the recording that was made meanwhile; "": none, or it is not known
}

// Idle is a connection over which nothing was asked.
type Idle struct {
	Over    serve.Connection
	Connect Phase
}

// New puts evidence together.
func New(e Evidence) *Waterfall {
	b := builder{Evidence: e, flows: map[ends][]*link.Flow{}}
	w := &Waterfall{}
	for i := range e.Flows {
		f := &b.Flows[i]
		of := endsOf(f.Protocol, f.Device, f.Server)
		b.flows[of] = append(b.flows[of], f)
		if of.server.Port() == namePort { // at any of its addresses
			of.server = netip.AddrPort{}
			b.flows[of] = append(b.flows[of], f)
		}
		w.BytesUp, w.BytesDown = w.BytesUp+f.BytesUp, w.BytesDown+f.BytesDown
	}
	for _, of := range b.flows {
		slices.SortFunc(of, func(a, c *link.Flow) int { return cmp.Compare(a.Opened, c.Opened) })
	}
	w.Lookups = b.lookups()
	b.names = slices.Clone(w.Lookups)
	w.Requests, w.Idle = b.requests()
	slices.SortStableFunc(w.Requests, func(a, c Request) int { return cmp.Compare(a.Begins().At, c.Begins().At) })
	return w
}

// ends are those of a flow.
type ends struct {
	protocol       string
	device, server netip.AddrPort
}

func endsOf(protocol string, device, server netip.AddrPort) ends {
	plain := func(a netip.AddrPort) netip.AddrPort {
		return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
	}
	return ends{protocol, plain(device), plain(server)}
}

// builder puts a waterfall together.
type builder struct {
	Evidence
	flows map[ends][]*link.Flow
	names []Lookup // that no connection is known to have waited for yet
}

// flow is that of a connection which a server took at a time: ports are used again.
func (b *builder) flow(of ends, before timeline.Time) *link.Flow {
	all := b.flows[of]
	i, _ := slices.BinarySearchFunc(all, before, func(f *link.Flow, t timeline.Time) int {
		if f.Opened <= t {
			return -1
		}
		return 1
	})
	if i == 0 {
		return nil
	}
	return all[i-1]
}

// requests makes those of each connection.
func (b *builder) requests() (all []Request, idle []Idle) {
	of := map[int][]serve.Exchange{}
	for _, x := range b.Exchanges {
		of[x.Connection] = append(of[x.Connection], x)
	}
	var connections []serve.Connection
	known := map[int]bool{}
	for _, c := range b.Connections {
		if !known[c.ID] {
			connections, known[c.ID] = append(connections, c), true
		}
	}
	for id := range of {
		if !known[id] { // it was not kept
			connections = append(connections, serve.Connection{ID: id})
		}
	}
	type open struct {
		connection serve.Connection
		made       made
	}
	opened := make([]open, 0, len(connections))
	for _, c := range connections {
		opened = append(opened, open{c, b.made(c)})
	}
	slices.SortStableFunc(opened, func(a, c open) int {
		return cmp.Or(cmp.Compare(a.made.connect.From.At, c.made.connect.From.At),
			cmp.Compare(a.connection.ID, c.connection.ID))
	})
	for _, o := range opened {
		exchanges := of[o.connection.ID]
		if len(exchanges) == 0 {
			idle = append(idle, Idle{o.connection, o.made.connect})
			continue
		}
		slices.SortFunc(exchanges,
			func(a, c serve.Exchange) int { return cmp.Or(cmp.Compare(a.Began, c.Began), cmp.Compare(a.ID, c.ID)) })
		all = append(all, b.over(o.connection, o.made, exchanges)...)
	}
	return all, idle
}

// made is how a connection came to be, at the device.
type made struct {
	flow         *link.Flow // nil: the link saw none
	connect, tls Phase
	ready        Moment // from when on requests could be sent
}

func (b *builder) made(c serve.Connection) (m made) {
	m.flow = b.flow(endsOf(c.Network, c.Client, c.Server), c.Accepted)
	if m.flow != nil {
		m.connect = Phase{exactly(m.flow.Opened), exactly(m.flow.Answered)}
	} else if c.Accepted != 0 { // the last of three ways of its handshake is over
		had := c.Accepted.Add(-b.Up)
		m.connect = Phase{notAfter(had.Add(-b.Up-b.Down), Moment{}), notAfter(had, Moment{})}
	}
	m.ready = m.connect.To
	if c.Secured == 0 {
		return m
	}
	hello := notAfter(c.Hello.Add(-b.Up), m.connect.To)
	if m.flow != nil && m.flow.First != 0 && c.Network == "tcp" {
		hello = exactly(m.flow.First)
	}
	// The device's last message of TLS 1.3 is what secures it for the server, and requests may
	// follow at once; before 1.3 the server's comes last.
	secured := notAfter(c.Secured.Add(-b.Up), hello)
	if c.Network == "tcp" && c.TLS != "" && c.TLS < "TLS 1.3" {
		secured = notBefore(c.Secured.Add(b.Down), 0)
	}
	if c.Network == "udp" { // one handshake is both
		if m.connect.From.Known() {
			hello = m.connect.From
		}
		m.connect = Phase{hello, secured}
	}
	m.tls = Phase{hello, secured}
	m.ready = secured
	return m
}

// over makes the requests of one connection, in their order.
func (b *builder) over(c serve.Connection, m made, exchanges []serve.Exchange) []Request {
	all := make([]Request, 0, len(exchanges))
	for i, x := range exchanges {
		r := Request{Served: x, Over: c, Reused: i > 0, WireBytes: -1}
		ready := m.ready
		if i == 0 {
			r.Connect, r.TLS = m.connect, m.tls
			r.Name = b.waitedFor(hostOf(x.URL), m.connect.From)
		} else if before := all[i-1].Ended; single(c) && before.Known() { // one after the other
			ready = before
		}
		r.Sent = notAfter(x.Began.Add(-b.Up), ready)
		if i == 0 && m.flow != nil && m.flow.First != 0 && m.flow.First <= x.Began && c.Secured == 0 &&
			c.Network == "tcp" {
			r.Sent = exactly(m.flow.First)
		}
		b.had(&r, m.flow)
		if single(c) && x.To > x.From {
			r.WireBytes = x.To - x.From
		}
		all = append(all, r)
	}
	return all
}

// single reports whether responses of a connection come one after the other.
func single(c serve.Connection) bool { return c.Protocol != "h2" && c.Protocol != "h3" }

// had finds out when the device had the response.
func (b *builder) had(r *Request, f *link.Flow) {
	x := &r.Served
	if f != nil && x.To > x.From {
		if t, ok := f.Had(x.From + 1); ok {
			r.FirstByte = exactly(t)
		}
		if t, ok := f.Had(x.To); ok {
			r.Ended = exactly(t)
		}
		return
	}
	var last timeline.Time // that anything came over the connection
	if f != nil && len(f.Arrivals) > 0 {
		last = f.Arrivals[len(f.Arrivals)-1].At
	}
	if x.FirstByte != 0 {
		r.FirstByte = notBefore(x.FirstByte.Add(b.Down), last)
	}
	if x.Ended != 0 && x.Error == "" {
		r.Ended = notBefore(x.Ended.Add(b.Down), last)
	}
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// lookups says when the device asked for names and had the answers.
func (b *builder) lookups() []Lookup {
	queries := slices.Clone(b.Names)
	slices.SortStableFunc(queries, func(a, c dns.Query) int { return cmp.Compare(a.At, c.At) })
	flows := make([]*link.Flow, len(queries))
	// queries of each: by the first that came and the first that was answered its times are known
	first := map[*link.Flow]int{}
	quick := map[*link.Flow]int{}
	for i, q := range queries {
		f := b.flowOfQuery(q)
		if flows[i] = f; f == nil {
			continue
		}
		if _, ok := first[f]; !ok {
			first[f] = i
		}
		if k, ok := quick[f]; q.Result != dns.Dropped && (!ok || q.Answered < queries[k].Answered) {
			quick[f] = i
		}
	}
	all := make([]Lookup, 0, len(queries))
	for i, q := range queries {
		l := Lookup{Query: q, Sent: notAfter(q.At.Add(-b.Up), Moment{})}
		f := flows[i]
		if f != nil && first[f] == i {
			l.Sent = exactly(f.Opened)
		} else if f != nil {
			l.Sent = notAfter(q.At.Add(-b.Up), exactly(f.Opened))
		}
		if q.Answered != 0 && q.Result != dns.Dropped {
			var last timeline.Time
			if f != nil && len(f.Arrivals) > 0 {
				last = f.Arrivals[len(f.Arrivals)-1].At
			}
			l.Had = notBefore(q.Answered.Add(b.Down), last)
			if k, ok := quick[f]; f != nil && ok && k == i && q.Protocol == "udp" && f.Answered != 0 {
				l.Had = exactly(f.Answered)
			}
		}
		all = append(all, l)
	}
	return all
}

// namePort is where name servers listen.
const namePort = 53

// flowOfQuery is nil where the link saw none.
func (b *builder) flowOfQuery(q dns.Query) *link.Flow {
	client, err := netip.ParseAddrPort(q.Client)
	if err != nil {
		return nil
	}
	of := endsOf(q.Protocol, client, client)
	of.server = netip.AddrPort{}
	return b.flow(of, q.At)
}

// waitedFor returns the lookup that a connection waited for: the last lookup of its host that ended
// before it began, with those that overlap it. An earlier, separate lookup is not waited for.
func (b *builder) waitedFor(host string, connect Moment) (p Phase) {
	if host == "" || !connect.Known() {
		return p
	}
	var over []Lookup
	b.names = slices.DeleteFunc(b.names, func(l Lookup) bool {
		if !strings.EqualFold(l.Query.Name, host) || l.Query.Result != dns.Answered || l.Sent.Earliest > connect.At {
			return false
		}
		if l.Had.Known() && l.Had.Earliest <= connect.At {
			if l.Had.At > connect.At { // it was there when it was needed
				l.Had.At, l.Had.Latest = connect.At, connect.At
			}
			over = append(over, l)
		}
		return true
	})
	slices.SortStableFunc(over, func(a, c Lookup) int { return cmp.Compare(c.Had.At, a.Had.At) })
	for _, l := range over {
		switch {
		case !p.known():
			p = Phase{l.Sent, l.Had}
		case l.Had.At >= p.From.At && l.Sent.At < p.From.At:
			p.From = l.Sent
		}
	}
	return p
}
