package har

import (
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/dns"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/serve"
)

// at is a time of the tests' day.
func at(ms float64) timeline.Time { return timeline.Time(1e12 + ms*1e6) }

const way = 50 * time.Millisecond

func end(text string) netip.AddrPort { return netip.MustParseAddrPort(text) }

// aLoad is a page over a link of 50 ms each way. It has a name, a connection of two requests, and
// one that was never used. A resource of another host comes by TLS and HTTP/2.
func aLoad() Evidence {
	page := func(id int, path string, began, from, to float64) serve.Exchange {
		return serve.Exchange{
			ID: id, Connection: 1, Stream: int64(id), Method: "GET", URL: "http://page.test" + path,
			Header: http.Header{"User-Agent": {"x"}}, Urgency: 3, Status: 200,
			ResponseHeader: http.Header{"Content-Type": {"text/html"}}, Began: at(began), Received: at(began),
			FirstByte: at(began + 1), Ended: at(began + 2), ResponseBytes: int64(to-from) - 100,
			DecodedBytes: int64(to-from) - 100,
			From:         int64(from), To: int64(to),
		}
	}
	return Evidence{
		Up: way, Down: way,
		Names: []dns.Query{
			{At: at(60), Answered: at(61), Client: "198.18.0.2:4000", Name: "page.test", Type: "A", Protocol: "udp",
				Result: dns.Answered, Answers: 1},
			{At: at(62), Answered: at(63), Client: "198.18.0.2:4000", Name: "page.test", Type: "AAAA", Protocol: "udp",
				Result: dns.Answered},
			// in advance
			{At: at(-700), Answered: at(-699), Client: "198.18.0.2:3999", Name: "page.test", Type: "A", Protocol: "udp",
				Result: dns.Answered, Answers: 1},
			{At: at(70), Answered: at(70), Client: "198.18.0.2:4001", Name: "telemetry.example", Type: "A",
				Protocol: "udp", Result: dns.Refused},
		},
		Flows: []link.Flow{
			{Protocol: "udp", Device: end("198.18.0.2:4000"), Server: end("198.18.0.1:53"), Opened: at(10),
				Answered: at(111), BytesUp: 100, BytesDown: 200, Arrivals: []link.Arrival{{At: at(111), Bytes: 50},
					{At: at(113), Bytes: 120}}},
			{Protocol: "tcp", Device: end("198.18.0.2:5000"), Server: end("198.18.0.1:80"), Opened: at(120),
				Answered: at(221), First: at(222), BytesUp: 1000, BytesDown: 21000,
				Arrivals: []link.Arrival{{At: at(323), Bytes: 1460}, {At: at(330), Bytes: 5000},
					{At: at(450), Bytes: 6460}, {At: at(470), Bytes: 20000}}},
			{Protocol: "tcp", Device: end("198.18.0.2:5001"), Server: end("198.18.0.1:80"), Opened: at(121),
				Answered: at(222)},
			// The port of the first, long before.
			{Protocol: "tcp", Device: end("198.18.0.2:5000"), Server: end("198.18.0.1:80"), Opened: at(-900),
				Answered: at(-800), Arrivals: []link.Arrival{{At: at(-700), Bytes: 1e6}}},
			// And after it.
			{Protocol: "tcp", Device: end("198.18.0.2:5000"), Server: end("198.18.0.1:80"), Opened: at(900),
				Answered: at(1000)},
			{Protocol: "tcp", Device: end("198.18.0.2:6000"), Server: end("198.18.0.1:443"), Opened: at(340),
				Answered: at(441), First: at(442), Arrivals: []link.Arrival{{At: at(545), Bytes: 3000},
					{At: at(650), Bytes: 9000}, {At: at(660), Bytes: 12000}}},
		},
		Connections: []serve.Connection{
			{ID: 1, Network: "tcp", Client: end("[::ffff:198.18.0.2]:5000"), Server: end("198.18.0.1:80"),
				Accepted: at(271), Protocol: "http/1.1"},
			{ID: 2, Network: "tcp", Client: end("198.18.0.2:5001"), Server: end("198.18.0.1:80"), Accepted: at(272),
				Protocol: "http/1.1"},
			{ID: 3, Network: "tcp", Client: end("198.18.0.2:6000"), Server: end("198.18.0.1:443"), Accepted: at(491),
				Hello: at(493), Secured: at(596), TLS: "TLS 1.3", Protocol: "h2", Name: "cdn.test"},
		},
		Exchanges: []serve.Exchange{
			page(1, "/", 272, 0, 5000), page(2, "/app.js", 399, 5000, 20000),
			{ID: 3, Connection: 3, Stream: 1, Method: "GET", URL: "https://cdn.test/a.png", Status: 200, Began: at(598),
				Received: at(598), FirstByte: at(599), Ended: at(601), ResponseBytes: 5000, DecodedBytes: 5000,
				From: 3000, To: 9000},
			{ID: 4, Connection: 3, Stream: 3, Method: "GET", URL: "https://cdn.test/b.png", Status: 404,
				Began: at(598.5), Received: at(598.5), FirstByte: at(599.5), Ended: at(602), ResponseBytes: 5000,
				DecodedBytes: 5000, From: 3500, To: 40000, Error: "the client went away"},
		},
	}
}

// TestPhases: phases has a request's known times in ms of the tests' day. x marks an exact time.
func TestPhases(t *testing.T) {
	w := New(aLoad())
	type known struct {
		at    float64
		exact bool
	}
	none := known{at: -1}
	for i, want := range []struct {
		url                                                            string
		reused                                                         bool
		nameFrom, nameTo, connectFrom, connectTo, tlsFrom, tlsTo, sent known
		first, ended                                                   known
		wire                                                           int64
	}{
		{"http://page.test/", false, known{10, true}, known{113, false}, known{120, true}, known{221, true}, none, none,
			known{222, true}, known{323, true}, known{330, true}, 5000},
		{"https://cdn.test/a.png", false, none, none, known{340, true}, known{441, true}, known{442, true},
			known{546, false}, known{548, false}, known{650, true}, known{650, true}, -1},
		{"http://page.test/app.js", true, none, none, none, none, none, none, known{349, false}, known{450, true},
			known{470, true}, 15000},
		{"https://cdn.test/b.png", true, none, none, none, none, none, none, known{548.5, false}, known{650, true},
			none, -1},
	} {
		r := w.Requests[i]
		if r.Served.URL != want.url || r.Reused != want.reused || r.WireBytes != want.wire {
			t.Errorf("request %d: %s, reused %v, %d on the wire, want %s, %v, %d", i, r.Served.URL, r.Reused,
				r.WireBytes, want.url, want.reused, want.wire)
		}
		for name, m := range map[string]struct {
			got  Moment
			want known
		}{
			"name from": {r.Name.From, want.nameFrom}, "name to": {r.Name.To, want.nameTo},
			"connect from": {r.Connect.From, want.connectFrom}, "connect to": {r.Connect.To, want.connectTo},
			"TLS from": {r.TLS.From, want.tlsFrom}, "TLS to": {r.TLS.To, want.tlsTo}, "sent": {r.Sent, want.sent},
			"first byte": {r.FirstByte, want.first}, "ended": {r.Ended, want.ended},
		} {
			if want := m.want; m.got.Known() != (want != none) || want != none &&
				(m.got.At != at(want.at) || m.got.Exact() != want.exact) {
				t.Errorf("%s: %s at %v (%v), want %v", r.Served.URL, name, float64(m.got.At-at(0))/1e6, m.got.By, want)
			}
			if m.got.Known() && (m.got.Earliest > m.got.At || m.got.Latest != 0 && m.got.Latest < m.got.At) {
				t.Errorf("%s: %s is not within its bounds: %+v", r.Served.URL, name, m.got)
			}
		}
	}
	if len(w.Idle) != 1 || w.Idle[0].Over.ID != 2 || w.Idle[0].Connect.duration() != 101*time.Millisecond {
		t.Errorf("idle: %+v", w.Idle)
	}
	if len(w.Lookups) != 4 || w.Lookups[3].Query.Result != dns.Refused || w.Lookups[3].Sent.At != at(20) {
		t.Errorf("lookups: %+v", w.Lookups)
	}
	if w.BytesUp != 1100 || w.BytesDown != 21200 {
		t.Errorf("%d bytes up, %d down", w.BytesUp, w.BytesDown)
	}
	// A request was sent between the end of the previous response and the time when the server had
	// it.
	if js := w.Requests[2].Sent; js.Earliest != at(330) || js.Latest != at(349) {
		t.Errorf("the second request was sent between %v and %v", js.Earliest-at(0), js.Latest-at(0))
	}
}

// Where no line has seen packets the servers' times are all there is, and QUIC's always are.
func TestWithoutPackets(t *testing.T) {
	e := aLoad()
	quic := link.Flow{Protocol: "udp", Device: end("198.18.0.2:7000"), Server: end("198.18.0.1:443"), Opened: at(700),
		Answered: at(801), Arrivals: []link.Arrival{{At: at(801), Bytes: 1200}, {At: at(990), Bytes: 9000}}}
	e.Flows = []link.Flow{quic}
	e.Connections = append(e.Connections, serve.Connection{ID: 4, Network: "udp", Client: quic.Device,
		Server: quic.Server, Accepted: at(750), Hello: at(750), Secured: at(852), TLS: "TLS 1.3", Protocol: "h3"})
	e.Exchanges = append(e.Exchanges, serve.Exchange{ID: 5, Connection: 4, URL: "https://quic.test/", Began: at(853),
		FirstByte: at(860), Ended: at(862), Status: 200})
	w := New(e)
	for _, r := range w.Requests {
		if r.FirstByte.Known() && (r.FirstByte.By != Server || r.FirstByte.At != r.Served.FirstByte.Add(way)) {
			t.Errorf("%s: first byte %+v", r.Served.URL, r.FirstByte)
		}
	}
	i := slices.IndexFunc(w.Requests, func(r Request) bool { return r.Served.URL == "https://quic.test/" })
	r := w.Requests[i]
	if r.Connect.From != exactly(at(700)) || r.Connect.To.At != at(802) || r.TLS != r.Connect {
		t.Errorf("QUIC: connect %+v, TLS %+v", r.Connect, r.TLS)
	}
	if want := (Moment{at(912), at(912), at(990), Server}); r.Ended != want {
		t.Errorf("QUIC: ended %+v, want %+v", r.Ended, want)
	}
	first := w.Requests[slices.IndexFunc(w.Requests, func(r Request) bool { return r.Served.ID == 1 })]
	if first.Connect.To.At != at(221) || first.Connect.From.At != at(121) || first.Connect.From.By != Server {
		t.Errorf("connect of TCP by the server: %+v", first.Connect)
	}
}

// Evidence of anybody's making is put together without a panic, and in order.
func FuzzNew(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, uint8(3))
	f.Add([]byte{0, 0, 255, 255, 128, 9, 9, 9, 200, 1}, uint8(1))
	f.Fuzz(func(t *testing.T, raw []byte, n uint8) {
		e := aLoad()
		next := func() timeline.Time {
			if len(raw) == 0 {
				return 0
			}
			b := raw[0]
			raw = raw[1:]
			return at(float64(b) * 5)
		}
		for i := range e.Flows {
			f := &e.Flows[i]
			f.Opened, f.Answered, f.First = next(), next(), next()
			f.Arrivals = f.Arrivals[:min(len(f.Arrivals), int(n)%4)]
		}
		for i := range e.Connections {
			c := &e.Connections[i]
			c.Accepted, c.Hello, c.Secured = next(), next(), next()
			c.ID = int(n) % 5
		}
		for i := range e.Exchanges {
			x := &e.Exchanges[i]
			x.Began, x.Received, x.FirstByte, x.Ended = next(), next(), next(), next()
			x.From, x.To = int64(next()-at(0)), int64(next())
		}
		w := New(e)
		if len(w.Requests) != len(e.Exchanges) {
			t.Fatalf("%d requests of %d", len(w.Requests), len(e.Exchanges))
		}
		file := w.file(Options{Creator: Program{Name: "x", Version: "1"}})
		for i := range w.Requests {
			if i > 0 && w.Requests[i].Begins().At < w.Requests[i-1].Begins().At {
				t.Fatal("not in order")
			}
		}
		if err := file.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}
