package siterecord

import (
	"errors"
	"net"
	"testing"

	"github.com/eideticker/eideticker/controller/device"
)

// TestWay: a recorder reaches no service of this machine but the page itself.
//
// Fault: A recorded page that asks for services of this machine
func TestWay(t *testing.T) {
	var ports []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, port)
	}
	own, other := ports[0], ports[1]
	for _, tc := range []struct {
		page, to string
		reached  bool
	}{
		{"http://127.0.0.1:" + own, "127.0.0.1:" + own, true},
		{"http://127.0.0.1:" + own, "127.0.0.1:" + other, false},
		{"http://127.0.0.1:" + own, "localhost:" + own, false},
		{"http://LOCALHOST:" + own, "localhost:" + own, true},
		{"http://app.localhost:" + own, "app.localhost:" + own, true},
		{"http://192.0.2.1:" + own, "127.0.0.1:" + own, false},
		{"http://192.0.2.1:" + own, "localhost:" + own, false},
	} {
		page, err := parse(tc.page)
		if err != nil {
			t.Fatal(err)
		}
		w := wayTo(t.Context(), page)
		c, err := w.dial(t.Context(), "tcp", tc.to)
		if err == nil {
			_ = c.Close()
		}
		if (err == nil) != tc.reached || err != nil && !errors.Is(err, device.ErrInside) {
			t.Errorf("%s from %s: %v", tc.to, tc.page, err)
		}
		w.without(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(pageAt(w))})
		if c, err := w.dial(t.Context(), "tcp4", tc.to); err == nil {
			_ = c.Close()
			t.Errorf("%s from %s: reached as the recorder's own", tc.to, tc.page)
		}
	}
}

func pageAt(w *way) uint16 {
	if len(w.at) == 0 {
		return 0
	}
	return w.at[0].Port()
}
