package dns

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// asker is a client, with the server's reports of its queries.
type asker struct {
	t    *testing.T
	udp  string
	tcp  string
	mu   sync.Mutex
	told []Query
}

func serve(t *testing.T, o Options) *asker {
	t.Helper()
	a := &asker{t: t}
	o.Asked = func(q Query) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.told = append(a.told, q)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connections, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a.udp, a.tcp = packets.LocalAddr().String(), connections.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, packets, connections) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return a
}

// ask returns the answer and the server's report of the query.
func (a *asker) ask(network, name string, kind uint16) (*dns.Msg, Query) {
	a.t.Helper()
	m := new(dns.Msg)
	m.SetQuestion(dns.Fqdn(name), kind)
	address := a.udp
	if network == "tcp" {
		address = a.tcp
	}
	reply, _, err := (&dns.Client{Net: network, Timeout: 10 * time.Second}).Exchange(m, address)
	if err != nil {
		a.t.Fatalf("%s %s: %v", name, dns.TypeToString[kind], err)
	}
	for {
		a.mu.Lock()
		if n := len(a.told); n > 0 && a.told[n-1].Name == name && a.told[n-1].Type == dns.TypeToString[kind] &&
			a.told[n-1].Protocol == network {
			defer a.mu.Unlock()
			return reply, a.told[n-1]
		}
		a.mu.Unlock()
		time.Sleep(time.Millisecond) // the report comes after the answer
	}
}

var world = World{Names: []string{"rig.test", "*.shop.test"}, Addresses: []netip.Addr{netip.MustParseAddr("198.18.0.1"),
	netip.MustParseAddr("2001:2::1")}, ALPN: []string{"h3", "h2"},
	Secure: func(name string) bool { return name != "plain.shop.test" }, TTL: 60}

func TestAnswers(t *testing.T) {
	a := serve(t, Options{World: world})
	for _, want := range []struct {
		name string
		kind uint16
		text string // of the only record; "": none, "refused": that
	}{
		{"rig.test", dns.TypeA, "198.18.0.1"},
		{"RIG.Test", dns.TypeA, "198.18.0.1"},
		{"rig.test", dns.TypeAAAA, "2001:2::1"},
		{"rig.test", dns.TypeHTTPS, `1 . alpn="h3,h2" no-default-alpn=""`},
		{"a.shop.test", dns.TypeHTTPS, `1 . alpn="h3,h2" no-default-alpn=""`},
		{"PLAIN.shop.test", dns.TypeHTTPS, ""},
		{"_8000._https.a.shop.test", dns.TypeHTTPS, ""},
		{"rig.test", dns.TypeTXT, ""},
		{"a.b.shop.test", dns.TypeA, "198.18.0.1"},
		{"shop.test", dns.TypeA, "refused"},
		{"notshop.test", dns.TypeA, "refused"},
		{"example.org", dns.TypeA, "refused"},
		{"test", dns.TypeNS, "refused"},
	} {
		for _, network := range []string{"udp", "tcp"} {
			reply, told := a.ask(network, want.name, want.kind)
			got := ""
			if reply.Rcode == dns.RcodeRefused {
				got = "refused"
			} else if len(reply.Answer) > 0 {
				rr := reply.Answer[0]
				got = rr.String()[len(rr.Header().String()):]
			}
			if got != want.text || len(reply.Answer) > 1 {
				t.Errorf("%s %s by %s: %q, want %q", want.name, dns.TypeToString[want.kind], network, got, want.text)
			}
			result := Answered
			if want.text == "refused" {
				result = Refused
			}
			if told.Result != result || told.Answers != len(reply.Answer) || told.Answered < told.At ||
				told.Client == "" {
				t.Errorf("told %+v", told)
			}
		}
	}
}

// TestLatency: an answer is never there before its time.
func TestLatency(t *testing.T) {
	const latency = 30 * time.Millisecond
	a := serve(t, Options{World: world, Latency: latency})
	began := time.Now()
	_, told := a.ask("udp", "rig.test", dns.TypeA)
	if took := time.Since(began); took < latency || told.Answered.Sub(told.At) < latency {
		t.Errorf("answered after %v (told: %v), want %v or more", took, told.Answered.Sub(told.At), latency)
	}
}

// TestGarbage: a datagram that is not a query gets no answer, and the next query gets one.
func TestGarbage(t *testing.T) {
	a := serve(t, Options{World: world})
	c, err := net.Dial("udp", a.udp)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	two := new(dns.Msg)
	two.SetQuestion("rig.test.", dns.TypeA)
	two.Question = append(two.Question, two.Question[0])
	many, err := two.Pack()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{{}, {1}, make([]byte, 12), many, make([]byte, 4000)} {
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if reply, _ := a.ask("udp", "rig.test", dns.TypeA); len(reply.Answer) != 1 {
		t.Errorf("%v", reply)
	}
	// More connections than there is room for, none of which says anything.
	for range maxTCP + 10 {
		c, err := net.Dial("tcp", a.tcp)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if reply, _ := a.ask("udp", "rig.test", dns.TypeA); len(reply.Answer) != 1 {
		t.Errorf("%v", reply)
	}
}

func TestRefusedWorlds(t *testing.T) {
	for _, w := range []World{{Names: []string{""}}, {Names: []string{"*."}}, {Names: []string{"a..b"}},
		{Addresses: make([]netip.Addr, 1)}, {Names: make([]string, maxNames+1)}} {
		if _, err := New(Options{World: w}); err == nil {
			t.Errorf("%.100s is taken", fmt.Sprintf("%+v", w))
		}
	}
	if _, err := New(Options{Latency: time.Hour}); err == nil {
		t.Error("a latency of an hour is taken")
	}
}

func FuzzNames(f *testing.F) {
	f.Add("*.shop.test", "a.shop.test.")
	f.Fuzz(func(t *testing.T, known, asked string) {
		n, err := (&World{Names: []string{known}}).index()
		if err != nil {
			return
		}
		if n.holds(asked) && known != "*" && len(asked) < len(known)-2 {
			t.Errorf("%q is taken for one of %q", asked, known)
		}
	})
}
