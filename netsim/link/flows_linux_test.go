package link

import (
	"io"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// TestPacketFlows: the link's record of a download has the transferred bytes, at times that the
// rate allows.
func TestPacketFlows(t *testing.T) {
	d := Direction{Rate: 5 * Mbit, Delay: 20 * time.Millisecond, Loss: 0.01}
	p := openPacket(t, Conditions{Down: d, Up: Direction{Rate: 5 * Mbit, Delay: 20 * time.Millisecond}})
	l, err := p.Server.Listen("tcp4", ":80")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const size = 500_000
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.ReadFull(c, make([]byte, 4))
		_, _ = c.Write(make([]byte, size))
	}()
	clock := timeline.Monotonic()
	began := clock.Now()
	c, err := p.Device.Dial(t.Context(), "tcp4", "198.18.0.1:80")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	connected := clock.Now()
	if _, err := c.Write([]byte("send")); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, c); err != nil || n != size {
		t.Fatal(n, err)
	}
	ended := clock.Now()
	if err := p.Close(); err != nil { // so that nothing changes between one count and the next
		t.Fatal(err)
	}
	all := p.Flows()
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	f := all[0]
	t.Logf("%d arrivals, %d lost, %d repeated, %d sent again", len(f.Arrivals), f.LostDown, f.RepeatedDown, f.SentAgain)
	if f.Device.String() != c.LocalAddr().String() || f.Server.String() != c.RemoteAddr().String() ||
		f.Protocol != "tcp" {
		t.Errorf("%+v", f)
	}
	if !(began <= f.Opened && f.Opened.Add(40*time.Millisecond) <= f.Answered && f.Answered <= connected &&
		f.Answered <= f.First && f.Closed != 0 && f.Closed <= ended) {
		t.Errorf("from %v to %v, connected at %v: opened at %v, answered at %v, first data at %v, closed at %v", began,
			ended, connected, f.Opened, f.Answered, f.First, f.Closed)
	}
	if last := f.Arrivals[len(f.Arrivals)-1]; last.Bytes != size || last.At > f.Closed {
		t.Errorf("%+v is the last arrival, of %d bytes", last, size)
	}
	for _, a := range f.Arrivals {
		// Data received without a hole may have come in any order, but not faster than the link. It
		// was sent after the connection was open. A machine that stalled has noted the first of it
		// late.
		if a.At.Sub(f.Answered).Seconds() < float64(a.Bytes)*8/5e6 {
			t.Errorf("%+v is faster than the line, where the device was answered at %v", a, f.Answered)
		}
	}
	down, up := p.Counts()
	// Packets on the way when the link was closed have neither arrived nor are they lost. The
	// server's bare ACKs are not repeated.
	if gone, went := f.PacketsDown+f.LostDown, down.Packets-p.flows.missing().Other; gone > went || gone+5 < went ||
		f.PacketsUp != up.Packets || f.LostDown != down.LostInQueue+down.LostOnWay || f.LostDown > f.RepeatedDown+5 {
		t.Errorf("%+v, where %+v and %+v went through, and %+v", f, down, up, p.flows.missing())
	}
}
