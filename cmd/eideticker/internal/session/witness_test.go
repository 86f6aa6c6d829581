package session

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/serve"
)

// TestAskedByTCP: where nobody asks for a page as it is served, and somebody by TCP, a run that failed says so.
func TestAskedByTCP(t *testing.T) {
	flow := func(protocol string, port uint16) []link.Flow {
		return []link.Flow{{Protocol: protocol, Server: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), port)}}
	}
	for name, tc := range map[string]struct {
		protocol suite.Protocol
		seen     har.Evidence
		want     bool
	}{
		"by TCP":            {suite.HTTP3, har.Evidence{Flows: flow("tcp", 443)}, true},
		"by QUIC":           {suite.HTTP3, har.Evidence{Flows: flow("udp", 443)}, false},
		"something else":    {suite.HTTP3, har.Evidence{Flows: flow("tcp", 80)}, false},
		"by both, answered": {suite.HTTP3, har.Evidence{Flows: flow("tcp", 443), Exchanges: make([]serve.Exchange, 1)}, false},
		"h2":                {suite.HTTP2, har.Evidence{Flows: flow("tcp", 443)}, false},
		"nothing":           {suite.HTTP3, har.Evidence{}, false},
	} {
		s := &session{}
		s.byTCP = askedByTCP(tc.protocol, tc.seen)
		failed := errors.New("the screen did not change")
		err := s.whyUnseen(failed)
		if !errors.Is(err, failed) || strings.Contains(err.Error(), "by TCP, not by QUIC") != tc.want {
			t.Errorf("%s: %v, want it to say so: %v", name, err, tc.want)
		}
		if err := s.whyUnseen(nil); err != nil {
			t.Errorf("%s: a run that passed: %v", name, err)
		}
	}
}
