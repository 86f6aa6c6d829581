package link

import (
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestBypassTakes: only packets of the address are taken, in their own direction.
func TestBypassTakes(t *testing.T) {
	at := netip.AddrPortFrom(ServerAddress.Addr(), 4999)
	port := func(a netip.AddrPort, port uint16) netip.AddrPort { return netip.AddrPortFrom(a.Addr(), port) }
	whole := segment(aDevice, at, flagACK, 1, 1, 100)
	for name, tc := range map[string]struct {
		packet     []byte
		fromDevice bool
		want       bool
	}{
		"to it":              {whole, true, true},
		"from it":            {segment(at, aDevice, flagACK, 1, 1, 100), false, true},
		"its own direction":  {whole, false, false},
		"the device's port":  {segment(port(aDevice, 4999), aServer, flagACK, 1, 1, 100), true, false},
		"another port":       {segment(aDevice, port(at, 80), flagACK, 1, 1, 100), true, false},
		"another address":    {segment(aDevice, port(aServer, 4999), flagACK, 1, 1, 100), true, false},
		"UDP":                {datagram(aDevice, at, 100), true, true},
		"UDP from it":        {datagram(at, aDevice, 100), false, true},
		"another protocol":   {inIP(aDevice.Addr(), at.Addr(), 1, make([]byte, 100)), true, false},
		"a packet cut short": {whole[:len(whole)-101], true, false},
		"nothing":            {nil, true, false},
	} {
		var b bypass
		if b.takes(tc.packet, tc.fromDevice) {
			t.Errorf("%s: taken without an address", name)
		}
		b.at.Store(&at)
		got := b.takes(tc.packet, tc.fromDevice)
		count := b.down.counts()
		if tc.fromDevice {
			count = b.up.counts()
		}
		var counted Counts
		if tc.want {
			counted = Counts{Packets: 1, Bytes: uint64(len(tc.packet))}
		}
		if got != tc.want || count != counted {
			t.Errorf("%s: taken %v, counted %+v", name, got, count)
		}
	}
}

// serveTCP answers connections at a port of the servers' namespace with f.
func serveTCP(t *testing.T, p *Packet, at netip.AddrPort, f func(net.Conn)) {
	t.Helper()
	l, err := p.Server.Listen("tcp4", at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go accepts(l, f)
}

// TestBypass: an address that is bypassed has no added round-trip time. Its packets take nothing of
// the link and are counted apart.
func TestBypass(t *testing.T) {
	profile, _ := ProfileNamed("3g")
	p := openPacket(t, profile.Conditions)
	page, beside := netip.AddrPortFrom(ServerAddress.Addr(), 80), netip.AddrPortFrom(ServerAddress.Addr(), 4999)
	p.Bypass(beside)
	for _, at := range []netip.AddrPort{page, beside} {
		serveTCP(t, p, at, func(c net.Conn) { _, _ = io.Copy(c, c) })
	}
	ask := func(at netip.AddrPort, bytes int) (took time.Duration) {
		t.Helper()
		began := time.Now()
		c, err := p.Device.Dial(t.Context(), "tcp4", at.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() { _, _ = c.Write(make([]byte, bytes)) }()
		if _, err := io.ReadFull(c, make([]byte, bytes)); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	const tries, large, small = 3, 4 << 20, 1 << 10
	var shaped, passed []time.Duration
	for range tries {
		shaped, passed = append(shaped, ask(page, small)), append(passed, ask(beside, small))
	}
	if s, b := slices.Min(shaped), slices.Min(passed); s < 2*profile.Conditions.RTT() || b > s/4 {
		t.Errorf("connection and echo took %v over the link and %v beside it", s, b)
	}
	flooded := make(chan time.Duration, 1)
	go func() { flooded <- ask(beside, large) }()
	ask(page, small)
	<-flooded
	down, up := p.Counts()
	// of the connections of the page: a few packets and their headers
	if most := uint64(10 * (tries + 1) * (small + 400)); down.Bytes > most || up.Bytes > most || down.Packets == 0 {
		t.Errorf("the link carried %+v down and %+v up, want up to %d bytes", down, up, most)
	}
	if lost := down.LostInQueue + up.LostInQueue; lost > 0 {
		t.Errorf("%d packets of the page were lost in a queue", lost)
	}
	down, up = p.Bypassed()
	if down.Bytes < large || up.Bytes < large || down.Packets < large/MTU {
		t.Errorf("beside the link went %+v down and %+v up", down, up)
	}
	flows := p.Flows()
	if len(flows) != tries+1 || slices.ContainsFunc(flows, func(f Flow) bool { return f.Server != page }) {
		t.Errorf("flows %+v", flows)
	}
	if c, err := p.Device.Dial(t.Context(), "tcp4", "198.18.0.2:"+strconv.Itoa(int(beside.Port()))); err == nil ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("another address at the port: %v, %v", c, err)
	}
}
