package sockets

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"sort"

	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/serve"
)

// Request has the times of a response of the waterfall. Unknown times are 0.
type Request struct {
	Index  int    // in the waterfall
	URL    string // without query and fragment
	Socket int32  // index in Sockets; -1: unknown
	// Link is the time at which the device had the last byte, LinkBy its latest time.
	Link, LinkBy int64
	Arrived      int64 // the socket had the last byte
	Read         int64 // the call that read the last byte returned
	Call         int   // index of that call in Calls; -1: unknown
	// Datagrams counts those that the socket received during the request. Others share its connection.
	Datagrams int64
	from, to  int64 // bytes of the stream
}

// Requests joins calls to requests by connection and byte offset.
func (t *Table) Requests(fall *har.Waterfall) []Request {
	if fall == nil {
		return nil
	}
	x := t.index()
	all := make([]Request, 0, len(fall.Requests))
	for i := range fall.Requests {
		r := &fall.Requests[i]
		q := Request{Index: i, URL: plain(r.Served.URL), Socket: x.socket(r.Over, int64(r.Begins().At)), Call: -1,
			from: r.Served.From, to: r.Served.To}
		if r.Ended.Known() {
			q.Link, q.LinkBy = int64(r.Ended.At), int64(r.Ended.Latest)
		}
		if q.Socket >= 0 {
			x.times(&q, r)
		}
		all = append(all, q)
	}
	return all
}

func (x *index) times(q *Request, r *har.Request) {
	u := &x.used[q.Socket]
	if x.t.Sockets[q.Socket].Type == datagram {
		from, to := int64(r.Sent.At), q.LinkBy
		for _, i := range u.receives {
			if c := &x.t.Calls[i]; c.End >= from && (to == 0 || c.Begin <= to) {
				q.Datagrams += c.Messages()
			}
		}
		return
	}
	if q.to == 0 {
		return
	}
	q.Arrived = x.arrived(q.Socket, q.to)
	if k := sort.Search(len(u.reach), func(k int) bool { return u.reach[k] >= q.to }); k < len(u.reach) {
		q.Call = u.receives[k]
		q.Read = x.t.Calls[q.Call].End
	}
}

// plain returns an address without query, fragment and user.
func plain(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// index finds calls and arrivals of sockets.
type index struct {
	t     *Table
	used  []used
	ports map[uint16][]int32 // sockets by local port, by first call
}

// used has the calls and arrivals of a socket by time.
type used struct {
	first    int64 // begin of the first call
	receives []int // calls that read from it and did not fail
	// reach is how much of the stream was read after a call, at least as much as after those before.
	reach    []int64
	messages map[int]int64 // datagrams that were read after a call
	arrivals []Arrival
}

func (t *Table) index() *index {
	x := &index{t: t, used: make([]used, len(t.Sockets)), ports: map[uint16][]int32{}}
	for i := range t.Calls {
		c := &t.Calls[i]
		if c.Socket < 0 {
			continue
		}
		u := &x.used[c.Socket]
		if u.first == 0 {
			u.first = c.Begin
		}
		if c.Name.Receives() && c.Result > 0 && c.Flags&(Peek|Unfinished) == 0 {
			u.receives = append(u.receives, i)
		}
	}
	for i := range x.used {
		u := &x.used[i]
		slices.SortStableFunc(u.receives, func(a, b int) int { return cmp.Compare(t.Calls[a].End, t.Calls[b].End) })
		reach, messages := int64(-1), int64(0)
		u.messages = map[int]int64{}
		for _, k := range u.receives {
			messages += t.Calls[k].Messages()
			u.messages[k] = messages
			reach = max(reach, t.Calls[k].Offset)
			u.reach = append(u.reach, reach)
		}
		if port := t.Sockets[i].Local.Port(); port != 0 && u.first != 0 {
			x.ports[port] = append(x.ports[port], int32(i))
		}
	}
	for _, all := range x.ports {
		slices.SortFunc(all, func(a, b int32) int { return cmp.Compare(x.used[a].first, x.used[b].first) })
	}
	for _, a := range t.Arrivals {
		x.used[a.Socket].arrivals = append(x.used[a.Socket].arrivals, a)
	}
	return x
}

// socket returns the device's socket of a connection: of those at its port, the last one that was
// used before the request's begin. A later one serves if there was none. Without one it is -1.
func (x *index) socket(over serve.Connection, at int64) int32 {
	found := int32(-1)
	kind := uint16(stream)
	if over.Network == "udp" {
		kind = datagram
	}
	bare := func(a netip.AddrPort) netip.AddrPort {
		return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
	}
	client, server := bare(over.Client), bare(over.Server)
	for _, i := range x.ports[client.Port()] {
		s := &x.t.Sockets[i]
		here := s.Local == client || s.Local.Addr().IsUnspecified()
		there := s.Remote == server || !s.Remote.IsValid()
		if s.Type == kind && here && there && (found < 0 || x.used[i].first <= at) {
			found = i
		}
	}
	return found
}

// arrival returns the time at which the socket had all that a call read; 0: unknown.
func (x *index) arrival(call int) int64 {
	c := &x.t.Calls[call]
	if c.Socket < 0 {
		return 0
	}
	u := &x.used[c.Socket]
	if x.t.Sockets[c.Socket].Type != datagram {
		if c.Offset <= 0 {
			return 0
		}
		return x.arrived(c.Socket, c.Offset)
	}
	// Lost records make the count of datagrams useless.
	if n := u.messages[call]; len(x.t.Gaps) == 0 && n > 0 && n <= int64(len(u.arrivals)) {
		return u.arrivals[n-1].At
	}
	return 0
}

// arrived returns the time at which a socket had so many bytes of a stream; 0: unknown.
func (x *index) arrived(socket int32, bytes int64) int64 {
	all := x.used[socket].arrivals
	// An arrival with lost records before it can have more.
	k := sort.Search(len(all), func(k int) bool { return all[k].Offset >= bytes })
	if k == len(all) {
		return 0
	}
	return all[k].At
}
