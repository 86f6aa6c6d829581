package har

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/netsim/serve"
)

// TestParts: parts follow each other, whatever is unknown or overlaps.
func TestParts(t *testing.T) {
	phase := func(from, to float64) Phase { return Phase{exactly(at(from)), exactly(at(to))} }
	for _, tc := range []struct {
		name string
		r    Request
		want string
	}{
		{"new connection", Request{Name: phase(0, 10), Connect: phase(12, 20), TLS: phase(20, 30),
			Sent: exactly(at(35)), FirstByte: exactly(at(50)), Ended: exactly(at(60)),
			Served: serve.Exchange{Began: at(36), Received: at(38)}},
			"dns 0-10 blocked 10-12 connect 12-20 tls 20-30 blocked 30-35 send 35-37 wait 37-50 receive 50-60"},
		{"reused", Request{Reused: true, Sent: exactly(at(5)), FirstByte: exactly(at(6)), Ended: exactly(at(7))},
			"wait 5-6 receive 6-7"},
		{"quic", Request{Connect: phase(0, 9), TLS: phase(0, 9), Sent: exactly(at(9)), FirstByte: exactly(at(20)),
			Over: serve.Connection{Protocol: "h3"}}, "tls 0-9 wait 9-20"},
		{"sent before TLS ended", Request{Connect: phase(0, 5), TLS: phase(4, 12), Sent: exactly(at(10)),
			FirstByte: exactly(at(20)), Ended: exactly(at(18))}, "connect 0-5 tls 5-12 wait 12-20"},
		{"sent for longer than the answer took", Request{Sent: exactly(at(0)), FirstByte: exactly(at(3)),
			Ended: exactly(at(4)), Served: serve.Exchange{Began: at(1), Received: at(30)}}, "send 0-3 receive 3-4"},
		{"no answer", Request{Connect: phase(0, 5), Sent: exactly(at(6))}, "connect 0-5 blocked 5-6"},
		{"nothing", Request{Ended: exactly(at(6))}, ""},
	} {
		var got []string
		for _, p := range tc.r.Parts() {
			ms := func(d time.Duration) int { return int(d / time.Millisecond) }
			got = append(got, fmt.Sprintf("%s %d-%d", p.Name, ms(p.From.Sub(at(0))), ms(p.To.Sub(at(0)))))
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
