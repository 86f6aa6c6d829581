package session

import (
	"errors"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/dns"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/replay"
	"github.com/eideticker/eideticker/netsim/serve"
)

// TestAskedByTCP: a run fails if a page or a name was only requested over TCP, though only QUIC is
// served.
func TestAskedByTCP(t *testing.T) {
	device := netip.AddrFrom4([4]byte{10, 0, 0, 2})
	flow := func(protocol string, port, from uint16, at timeline.Time) link.Flow {
		return link.Flow{Protocol: protocol, Device: netip.AddrPortFrom(device, from),
			Server: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), port), Opened: at}
	}
	flows := func(f ...link.Flow) har.Evidence { return har.Evidence{Flows: f} }
	names := map[string]schemes{"shop.example": {secure: true}, "cdn.example": {secure: true, plain: true},
		"plain.example": {plain: true}}
	// The page came by QUIC, for which TCP was tried too; then something was asked for at another
	// name.
	shop := func(name string, answered ...string) har.Evidence {
		e := har.Evidence{
			Names: []dns.Query{{Name: "Shop.example", At: 10}, {Name: name, At: 100}},
			Flows: []link.Flow{flow("udp", 443, 5000, 20), flow("tcp", 443, 5001, 30),
				flow("tcp", 443, 5002, 120)},
			Connections: []serve.Connection{{Network: "udp", Client: netip.AddrPortFrom(device, 5000), Secured: 60,
				Name: "shop.example"}},
		}
		for _, a := range append(answered, "https://shop.example/") {
			e.Exchanges = append(e.Exchanges, serve.Exchange{URL: a})
		}
		return e
	}
	late := shop("cdn.example")
	// before the other name was asked for
	late.Flows = []link.Flow{flow("udp", 443, 5000, 20), flow("tcp", 443, 5001, 70)}
	beside := shop("cdn.example")
	beside.Names[1].At, beside.Flows = 25, beside.Flows[:2]
	spoken := shop("cdn.example")
	spoken.Connections = append(spoken.Connections, serve.Connection{Network: "udp", Secured: 110, Name: "cdn.example"})
	for name, tc := range map[string]struct {
		protocol suite.Protocol
		names    map[string]schemes
		seen     har.Evidence
		want     string
	}{
		"by TCP":         {suite.HTTP3, nil, flows(flow("tcp", 443, 1, 0)), "the page"},
		"by QUIC":        {suite.HTTP3, nil, flows(flow("udp", 443, 1, 0)), ""},
		"something else": {suite.HTTP3, nil, flows(flow("tcp", 80, 1, 0)), ""},
		"by both, answered": {suite.HTTP3, nil, har.Evidence{Flows: []link.Flow{flow("tcp", 443, 1, 0)},
			Exchanges: make([]serve.Exchange, 1)}, ""},
		"h2":                        {suite.HTTP2, nil, flows(flow("tcp", 443, 1, 0)), ""},
		"nothing":                   {suite.HTTP3, nil, har.Evidence{}, ""},
		"a name of subresources":    {suite.HTTP3, names, shop("cdn.example"), "cdn.example"},
		"after a redirect":          {suite.HTTP3, names, shop("cdn.example", "http://cdn.example/"), "cdn.example"},
		"a name that was answered":  {suite.HTTP3, names, shop("cdn.example", "https://cdn.example/a.svg"), ""},
		"a name that was spoken to": {suite.HTTP3, names, spoken, ""},
		"a name without TLS":        {suite.HTTP3, names, shop("plain.example"), ""},
		"a name of nobody":          {suite.HTTP3, names, shop("other.example"), ""},
		"before the name":           {suite.HTTP3, names, late, ""},
		"beside QUIC":               {suite.HTTP3, names, beside, ""},
		"h2, a name":                {suite.HTTP2, names, shop("cdn.example"), ""},
	} {
		s := &traffic{}
		s.byTCP = askedByTCP(tc.protocol, tc.names, tc.seen)
		want := ""
		if tc.want != "" {
			want = "the browser requested " + tc.want + " over TCP, not QUIC"
		}
		failed := errors.New("the screen did not change")
		if err := s.whyUnseen(failed); !errors.Is(err, failed) ||
			strings.Contains(err.Error(), "over TCP, not QUIC") != (want != "") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if err := s.whyUnseen(nil); (err != nil) != (want != "") || err != nil &&
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: a run that passed: %v, want %q", name, err, want)
		}
	}
}

// TestAskedAtAll: a run fails if nothing was requested at the name of its address.
func TestAskedAtAll(t *testing.T) {
	archive := &replay.Archive{}
	player, err := replay.NewReplayer(archive, replay.ReplayerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		address string
		asked   []string
		unnoted bool
		want    string
	}{
		"asked":  {"https://Shop.example:443/a", []string{"https://shop.example/a"}, false, ""},
		"by TLS": {"http://shop.example", []string{"https://shop.example/"}, false, ""},
		"nothing": {"https://shop.example/", nil, false,
			"no request to shop.example reached shop.har: the browser did not load https://shop.example/"},
		"another": {"https://shop.example/", []string{"https://cdn.example/"}, false,
			"no request to shop.example reached shop.har"},
		"too many":      {"https://shop.example/", []string{"https://cdn.example/"}, true, ""},
		"as it is read": {"https://b\u00fccher.example/", []string{"https://xn--bcher-kva.example/"}, false, ""},
	} {
		s := &traffic{fall: &har.Waterfall{}, unnoted: tc.unnoted}
		for _, a := range tc.asked {
			s.fall.Requests = append(s.fall.Requests, har.Request{Served: serve.Exchange{URL: a}})
		}
		err := answered([]string{tc.address}, &archived{name: "shop.har", replayer: player}, s)
		if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestSecretsStay: a run, which may be pushed, has the requests of a replayed site without cookies.
//
// Fault: A recorded site has cookies, and its runs are pushed
func TestSecretsStay(t *testing.T) {
	for _, replayed := range []bool{true, false} {
		o := options(t, &scene{name: "d"})
		r := &run{Options: o, journal: newJournal(io.Discard, untold{})}
		header := http.Header{"Cookie": {"a=s3cret"}, "Authorization": {"Bearer s3cret"}, "Accept": {"text/html"}}
		fall := &har.Waterfall{Requests: []har.Request{{Served: serve.Exchange{Method: "GET", URL: "https://a.test/",
			Status: 200, Header: header, ResponseHeader: http.Header{"Set-Cookie": {"b=s3cret; Path=/"}}}}}}
		figures := &Network{}
		if replayed {
			figures.Replay = &Replayed{}
		}
		dir := t.TempDir()
		if err := r.writeHAR(dir, &Record{}, &traffic{fall: fall, figures: figures}, nil); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, HARFile))
		if err != nil || strings.Contains(string(text), "s3cret") == replayed ||
			!strings.Contains(string(text), "text/html") {
			t.Errorf("replayed %v: %v\n%s", replayed, err, text)
		}
		if header.Get("Cookie") != "a=s3cret" {
			t.Error("the headers of the caller changed")
		}
	}
}
