package link

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

var (
	aDevice = netip.MustParseAddrPort("198.18.0.2:40000")
	aServer = netip.MustParseAddrPort("93.184.215.14:443")
)

// segment makes a packet of TCP.
func segment(from, to netip.AddrPort, flags uint8, seq, ack uint32, payload int) []byte {
	tcp := make([]byte, 20+payload)
	binary.BigEndian.PutUint16(tcp, from.Port())
	binary.BigEndian.PutUint16(tcp[2:], to.Port())
	binary.BigEndian.PutUint32(tcp[4:], seq)
	binary.BigEndian.PutUint32(tcp[8:], ack)
	tcp[12], tcp[13] = 5<<4, flags
	return inIP(from.Addr(), to.Addr(), protocolTCP, tcp)
}

// datagram makes one of UDP.
func datagram(from, to netip.AddrPort, payload int) []byte {
	udp := make([]byte, 8+payload)
	binary.BigEndian.PutUint16(udp, from.Port())
	binary.BigEndian.PutUint16(udp[2:], to.Port())
	return inIP(from.Addr(), to.Addr(), protocolUDP, udp)
}

func inIP(from, to netip.Addr, protocol uint8, b []byte) []byte {
	if from.Is6() {
		p := make([]byte, 40, 40+16+len(b))
		p[0] = 6 << 4
		p[6] = 60 // options that say nothing, so that they have to be stepped over
		binary.BigEndian.PutUint16(p[4:], uint16(16+len(b)))
		copy(p[8:], from.AsSlice())
		copy(p[24:], to.AsSlice())
		p = append(p, protocol, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		return append(p, b...)
	}
	p := make([]byte, 24, 24+len(b))
	p[0], p[9] = 4<<4|6, protocol // with an option of 4 bytes
	binary.BigEndian.PutUint16(p[2:], uint16(24+len(b)))
	copy(p[12:], from.AsSlice())
	copy(p[16:], to.AsSlice())
	return append(p, b...)
}

// A connection, by hand: its numbers begin again at 0 after 3000 bytes; a packet is lost on the
// way, what follows waits for it, and the server sends both again.
func TestFlowByHand(t *testing.T) {
	for _, ends := range [][2]netip.AddrPort{{aDevice, aServer},
		{netip.MustParseAddrPort("[2001:2::2]:40000"), netip.MustParseAddrPort("[2606::1]:443")}} {
		device, server := ends[0], ends[1]
		table := newFlows()
		isn := uint32(1<<32 - 3001)
		at := func(seq int) uint32 { return isn + 1 + uint32(seq) }
		up := func(ms_ int64, flags uint8, seq uint32, payload int, lost bool) {
			table.up(segment(device, server, flags, seq, 0, payload), ms(ms_), lost)
		}
		down := func(sent int64, flags uint8, seq uint32, payload int, lost bool) {
			b := segment(server, device, flags, seq, 0, payload)
			if table.sent(b, lost); !lost {
				table.given(b, ms(sent))
			}
		}
		up(1, flagSYN, 100, 0, true)
		up(2, flagSYN, 100, 0, false)
		down(22, flagSYN|flagACK, isn, 0, false)
		up(22, flagACK, 101, 0, false)
		up(23, flagACK, 101, 300, false)
		down(50, flagACK, at(0), 1000, false)
		down(51, flagACK, at(1000), 1000, true)
		down(52, flagACK, at(2000), 1000, false)
		down(54, flagACK, at(4000), 1000, false)
		down(53, flagACK, at(3000), 1000, false)
		down(60, flagACK, at(1000), 1000, false)
		down(61, flagACK, at(2000), 1000, false)
		down(61, flagACK|flagFIN, at(5250), 250, false)
		down(62, flagACK, at(5000), 250, false)
		f := table.snapshot()[0]
		want := fmt.Sprint([]Arrival{{ms(50), 1000}, {ms(60), 5000}, {ms(62), 5500}})
		if got := fmt.Sprint(f.Arrivals); got != want || f.Coarse != 0 {
			t.Errorf("%v: arrivals %s ± %v, want %s", device, got, f.Coarse, want)
		}
		if f.Protocol != "tcp" || f.Device != device || f.Server != server || f.Opened != ms(1) ||
			f.Answered != ms(22) || f.First != ms(23) || f.Closed != ms(62) {
			t.Errorf("%+v", f)
		}
		// 3000 came after 4000, and 5000 after 5250
		if f.PacketsUp != 4 || f.LostUp != 1 || f.PacketsDown != 9 || f.LostDown != 1 || f.SentAgain != 1 ||
			f.RepeatedUp != 1 || f.RepeatedDown != 4 {
			t.Errorf("%+v", f)
		}
		if when, ok := f.Had(1001); !ok || when != ms(60) {
			t.Errorf("it had 1001 bytes at %v, %t", when, ok)
		}
		if when, ok := f.Had(5501); ok {
			t.Errorf("it had 5501 bytes of 5500 at %v", when)
		}
		// The ports again.
		up(100, flagSYN, 7777, 0, false)
		if all := table.snapshot(); len(all) != 2 || all[1].Opened != ms(100) || all[0].PacketsUp != 4 {
			t.Errorf("%+v", all)
		}
	}
}

// For packets in any order, with repetitions, the device's bytes and times equal those of a slow,
// plain account.
func TestFlowArrivalsAreThose(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		table := newFlows()
		isn := r.Uint32()
		if seed%4 == 0 {
			isn = 1<<32 - 1 - uint32(r.IntN(20_000))
		}
		table.given(segment(aServer, aDevice, flagSYN|flagACK, isn, 0, 0), 1) // nobody asked: no flow
		table.sent(segment(aServer, aDevice, flagSYN|flagACK, isn, 0, 0), false)
		table.given(segment(aServer, aDevice, flagSYN|flagACK, isn, 0, 0), 1)
		has := make([]bool, 40_000)
		had, again := 0, uint64(0)
		var want []Arrival
		for n := range 300 {
			at := timeline.Time(n + 2)
			from := min(max(0, had+r.IntN(8000)-2000), len(has)-2000)
			size := 1 + r.IntN(1448)
			repeats := false
			for i := from; i < from+size; i++ {
				repeats = repeats || has[i]
				has[i] = true
			}
			if repeats {
				again++
			}
			before := had
			for had < len(has) && has[had] {
				had++
			}
			if had != before {
				want = append(want, Arrival{at, int64(had)})
			}
			table.given(segment(aServer, aDevice, flagACK, isn+1+uint32(from), 0, size), at)
		}
		f := table.snapshot()[0]
		if fmt.Sprint(f.Arrivals) != fmt.Sprint(want) || f.SentAgain != again {
			t.Fatalf("seed %d: arrivals %v, %d sent again, want %v, %d", seed, f.Arrivals, f.SentAgain, want, again)
		}
	}
}

// Where there are more holes than can be kept in mind, the device's own word says what it has.
func TestFlowHolesAreBounded(t *testing.T) {
	table := newFlows()
	down := func(at int64, seq uint32, payload int) {
		b := segment(aServer, aDevice, flagACK, seq, 0, payload)
		table.sent(b, false)
		table.given(b, ms(at))
	}
	down(1, 0, 10)
	const pieces = maxHeld + 50
	for i := range uint32(pieces) {
		down(2, 20*(i+1), 10)
	}
	if n := len(table.all[0].held); n != maxHeld {
		t.Errorf("%d pieces are held, want %d", n, maxHeld)
	}
	for i := range uint32(pieces) {
		down(3, 20*i+10, 10)
	}
	// acknowledgements of bytes that were never sent are ignored
	for _, ack := range []uint32{20*pieces + 11, 20*pieces + 10} {
		table.up(segment(aDevice, aServer, flagACK, 0, ack, 0), ms(4), false)
	}
	f := table.snapshot()[0]
	if when, ok := f.Had(20*pieces + 10); !ok || when != ms(4) {
		t.Errorf("it had all of it at %v, %t: %v", when, ok, f.Arrivals)
	}
	if _, ok := f.Had(20*pieces + 11); ok {
		t.Errorf("it had more than was sent: %v", f.Arrivals)
	}
	if when, _ := f.Had(20 * maxHeld); when != ms(3) {
		t.Errorf("it had what was held at %v", when)
	}
}

// Of long flows times become coarser, by as much as is said, and never earlier. Memory is bounded.
//
// Fault: Packets are cut or have false headers
func TestFlowArrivalsAreBounded(t *testing.T) {
	table := newFlows()
	r := rand.New(rand.NewPCG(1, 1))
	at := timeline.Time(0)
	var when []timeline.Time
	for n := range 50_000 {
		at = at.Add(time.Duration(r.IntN(int(300 * time.Microsecond))))
		if n%1000 == 0 {
			at = at.Add(time.Second) // between one response and the next
		}
		when = append(when, at)
		table.sent(segment(aServer, aDevice, flagACK, uint32(n*100), 0, 100), false)
		table.given(segment(aServer, aDevice, flagACK, uint32(n*100), 0, 100), at)
	}
	f := table.snapshot()[0]
	if cap(table.all[0].Arrivals) > maxArrivals || f.Coarse == 0 || f.Coarse > 20*time.Millisecond {
		t.Errorf("%d arrivals ± %v", cap(table.all[0].Arrivals), f.Coarse)
	}
	for n, truth := range when {
		got, ok := f.Had(int64(n*100 + 1))
		if late := got.Sub(truth); !ok || late < 0 || late > f.Coarse {
			t.Fatalf("packet %d was there at %v, and is said to have been at %v ± %v", n, truth, got, f.Coarse)
		}
	}

	table = newFlows()
	for n := range maxFlows + 5 {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 1)
		for i := range 400 {
			table.given(segment(aServer, from, flagACK, uint32(i), 0, 1), ms(int64(i)))
			if i == 0 {
				table.up(segment(from, aServer, flagSYN, 1, 0, 0), 1, false)
			}
		}
	}
	if n := len(table.snapshot()); n != maxFlows || table.missing().NoRoom != 5 {
		t.Errorf("%d flows, and %+v", n, table.missing())
	}
	if most := allArrivals + maxFlows*minArrivals; table.kept > most {
		t.Errorf("%d arrivals are kept, want at most %d", table.kept, most)
	}
	table.up([]byte{4 << 4}, 1, false)
	if table.missing().Other != 1 {
		t.Errorf("%+v", table.missing())
	}
}

// A packet that is cut, or shorter than its stated length, is rejected.
//
// Fault: Packets are cut or have false headers
func TestHeaderRefuses(t *testing.T) {
	whole := segment(aDevice, aServer, flagSYN, 1, 2, 3)
	var h header
	if !h.read(whole) || h.payload != 3 || h.seq != 1 || h.ack != 2 || h.flags != flagSYN ||
		h.source != aDevice.Port() || h.dst != aServer.Port() {
		t.Errorf("%+v", h)
	}
	for n := range whole {
		if h.read(whole[:n]) {
			t.Errorf("%d bytes of %d are taken for all", n, len(whole))
		}
	}
	for name, change := range map[string]func(b []byte){
		"fragment":          func(b []byte) { b[7] = 1 },
		"more fragments":    func(b []byte) { b[6] = 0x20 },
		"header too short":  func(b []byte) { b[0] = 0x44 },
		"TCP header short":  func(b []byte) { b[24+12] = 4 << 4 },
		"TCP header long":   func(b []byte) { b[24+12] = 15 << 4 },
		"ICMP":              func(b []byte) { b[9] = 1 },
		"version 5":         func(b []byte) { b[0] = 0x56 },
		"shorter than said": func(b []byte) { b[3]++ },
	} {
		b := append([]byte(nil), whole...)
		if change(b); h.read(b) {
			t.Errorf("%s: it is taken", name)
		}
	}
}

// FuzzFlows: whatever goes over a link does no harm, and arrivals ascend.
//
// Fault: Packets are cut or have false headers
func FuzzFlows(f *testing.F) {
	six := netip.MustParseAddrPort("[2001:2::2]:1")
	long := segment(six, six, 0, 0, 0, 0)
	long[41] = 255 // options longer than the packet
	offset := segment(aDevice, aServer, 0, 0, 0, 0)
	offset[24+12] = 15 << 4
	for _, b := range [][]byte{
		long, offset,
		segment(aDevice, aServer, flagSYN, 1, 0, 0), segment(aServer, aDevice, flagSYN|flagACK, 1<<32-1, 2, 0),
		segment(aServer, aDevice, flagACK|flagFIN, 5, 2, 9),
		segment(six, netip.MustParseAddrPort("[::1]:2"), flagRST, 0, 0, 3), datagram(aDevice, aServer, 30),
		datagram(six, six, 0), {}, {0x45}, {0x60, 0, 0, 0},
	} {
		f.Add(b, segment(aServer, aDevice, flagACK, 1<<31, 2, 100), uint8(1))
		f.Add(segment(aServer, aDevice, flagACK, 0, 2, 10), b, uint8(2))
	}
	f.Fuzz(func(t *testing.T, a, b []byte, order uint8) {
		table := newFlows()
		for n := range 8 {
			packet, at := a, timeline.Time(n)
			if order>>n&1 != 0 {
				packet = b
			}
			table.sent(packet, n == 3)
			table.given(packet, at)
			table.up(packet, at, n == 4)
		}
		if n := len(table.all); n > 16 {
			t.Fatalf("%d flows of 8 packets", n)
		}
		for _, flow := range table.snapshot() {
			for i := range flow.Arrivals {
				if i > 0 && (flow.Arrivals[i].Bytes <= flow.Arrivals[i-1].Bytes ||
					flow.Arrivals[i].At < flow.Arrivals[i-1].At) {
					t.Fatalf("%v", flow.Arrivals)
				}
			}
			if !flow.Device.IsValid() || !flow.Server.IsValid() {
				t.Fatalf("%+v", flow)
			}
		}
	})
}

// Nothing is allocated for a packet of a flow that is known, whose arrivals have room.
func TestFlowsAllocateNothing(t *testing.T) {
	table := newFlows()
	b := segment(aServer, aDevice, flagACK, 0, 0, MTU-44)
	ack := segment(aDevice, aServer, flagACK, 0, 0, 0)
	seq, at := uint32(0), timeline.Time(0)
	step := func() {
		binary.BigEndian.PutUint32(b[24+4:], seq)
		seq += MTU - 44
		at = at.Add(120 * time.Microsecond)
		table.sent(b, false)
		table.given(b, at)
		table.up(ack, at, false)
	}
	for range 3 * maxArrivals {
		step()
	}
	if n := testing.AllocsPerRun(10_000, step); n != 0 {
		t.Errorf("%v allocations for a packet and its answer", n)
	}
}

// BenchmarkFlows is what looking at a packet costs, beside copying one.
func BenchmarkFlows(b *testing.B) {
	packet := segment(aServer, aDevice, flagACK, 0, 0, MTU-44)
	b.Run("what=copy", func(b *testing.B) {
		to := make([]byte, MTU)
		b.SetBytes(MTU)
		for b.Loop() {
			copy(to, packet)
		}
	})
	b.Run("what=carry", func(b *testing.B) { // what the kernel takes to give a packet and to take it, at least
		out, in, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		defer out.Close()
		defer in.Close()
		to := make([]byte, MTU)
		b.SetBytes(MTU)
		for b.Loop() {
			if _, err := in.Write(packet); err != nil {
				b.Fatal(err)
			}
			if _, err := out.Read(to); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, flows := range []int{1, 1000} {
		b.Run(fmt.Sprintf("what=look/flows=%d", flows), func(b *testing.B) {
			table := newFlows()
			var packets [][]byte
			for n := range flows {
				from := netip.AddrPortFrom(aDevice.Addr(), uint16(n+1))
				packets = append(packets, segment(aServer, from, flagACK, 0, 0, MTU-44))
				table.up(segment(from, aServer, flagSYN, 1, 0, 0), 1, false)
			}
			b.ReportAllocs()
			b.SetBytes(MTU)
			n, at := 0, timeline.Time(0)
			for b.Loop() {
				at = at.Add(12 * time.Microsecond)
				p := packets[n%flows]
				binary.BigEndian.PutUint32(p[24+4:], uint32(n/flows*(MTU-44)))
				n++
				table.sent(p, false)
				table.given(p, at)
			}
		})
	}
}

func (t *flows) missing() missed {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.missed
}
