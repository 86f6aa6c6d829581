package link

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

func openStream(t testing.TB, c Conditions) *Stream {
	t.Helper()
	s, err := OpenStream(c, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.conns) != 0 || s.unsent != 0 || s.unread != 0 {
			t.Errorf("%d connections, %d and %d bytes are left", len(s.conns), s.unsent, s.unread)
		}
	})
	return s
}

func listenStream(t testing.TB, s *Stream) net.Listener {
	t.Helper()
	below, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := s.Listen(below)
	t.Cleanup(func() { l.Close() })
	return l
}

// accepts passes each connection of a listener to f, and closes it then.
func accepts(l net.Listener, f func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() { defer c.Close(); f(c) }()
	}
}

func pair(t testing.TB, s *Stream) (device, server net.Conn) {
	t.Helper()
	device, server, err := s.pair(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { device.Close(); server.Close() })
	return device, server
}

// TestStreamTakesItsTime: by either end a request and its answer take two round trips at least, the
// first of them to connect.
func TestStreamTakesItsTime(t *testing.T) {
	const rtt = 40 * time.Millisecond
	c := Conditions{Down: Direction{Delay: rtt / 2}, Up: Direction{Delay: rtt / 2}}
	serve := func(l net.Listener) { accepts(l, func(c net.Conn) { _, _ = io.Copy(c, c) }) }
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	go serve(plain)
	s := openStream(t, c)
	l := listenStream(t, s)
	go serve(l)
	for name, dial := range map[string]func() (net.Conn, error){
		"listen": func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) },
		"dial":   func() (net.Conn, error) { return s.dial(t.Context(), "tcp", plain.Addr().String()) },
	} {
		began := time.Now()
		c, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		b := []byte("ping")
		for round := range 3 {
			if _, err := c.Write(b); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, b); err != nil || string(b) != "ping" {
				t.Fatal(string(b), err)
			}
			if took := time.Since(began); took < rtt*time.Duration(2+round) {
				t.Errorf("%s: answer %d is there after %v", name, round+1, took)
			}
		}
	}
}

// TestStreamEnds: each way ends on its own, after all written data. Deadlines pass. Closed
// connections stay closed.
func TestStreamEnds(t *testing.T) {
	s := openStream(t, Conditions{Down: Direction{Rate: 10 * Mbit, Delay: time.Millisecond},
		Up: Direction{Rate: 10 * Mbit, Delay: time.Millisecond}})
	device, server := pair(t, s)
	if err := server.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := server.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d, %v, after the deadline", n, err)
	}
	if err := server.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	sent := bytes.Repeat([]byte("all of it "), 10_000)
	go func() {
		_, _ = device.Write(sent)
		_ = device.(*net.TCPConn).CloseWrite()
	}()
	if got, err := io.ReadAll(server); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes of %d, %v", len(got), len(sent), err)
	}
	if _, err := server.Write(sent); err != nil { // the other way is open
		t.Fatal(err)
	}
	if err := errors.Join(server.Close(), device.SetReadDeadline(time.Now().Add(lingering/2))); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(device); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes of %d, %v, after who wrote them has closed", len(got), len(sent), err)
	}
	if _, err := server.Write(sent); !errors.Is(err, net.ErrClosed) {
		t.Errorf("written after closing: %v", err)
	}
	if _, err := server.Read(sent); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read after closing: %v", err)
	}
	if err := server.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}

	// A read that waits ends with its connection, and with the deadline that is set meanwhile.
	for name, end := range map[string]func(net.Conn){"close": func(c net.Conn) { c.Close() },
		"deadline": func(c net.Conn) { _ = c.SetDeadline(time.Unix(1, 0)) }, "line": func(net.Conn) { s.Close() }} {
		if name == "line" {
			continue // it is the last
		}
		_, server := pair(t, s)
		done := make(chan error, 1)
		go func() { _, err := server.Read(make([]byte, 1)); done <- err }()
		end(server)
		if err := <-done; err == nil {
			t.Errorf("%s: a read that waited got something", name)
		}
	}
	// Who does not read stops who writes; a deadline sets him free.
	_, server = pair(t, s)
	if err := server.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := server.Write(make([]byte, 64<<20)); n == 64<<20 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes are written to one who does not read, %v", n, err)
	}
	// The link ends, and with it all that wait.
	_, server = pair(t, s)
	done := make(chan error, 1)
	go func() { _, err := server.Read(make([]byte, 1)); done <- err }()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read ended with %v when the line did", err)
	}
	if _, err := s.dial(t.Context(), "tcp", device.RemoteAddr().String()); err == nil {
		t.Error("a link that is closed connects")
	}
}

// TestStreamReset: the other end gets the error of an aborted connection after the data sent
// before. A writer gets it at once.
func TestStreamReset(t *testing.T) {
	s := openStream(t, Conditions{Down: Direction{Delay: time.Millisecond}, Up: Direction{Delay: time.Millisecond}})
	device, server := pair(t, s)
	_ = device.(*net.TCPConn).SetLinger(0)
	device.Close()
	n, err := server.Read(make([]byte, 1))
	if err == nil || err == io.EOF { //nolint:errorlint // it would be given as it is
		t.Errorf("%d, %v is read of a connection that was reset", n, err)
	}
}

// TestStreamProbe: a probe finds the configured values.
func TestStreamProbe(t *testing.T) {
	t.Parallel() // it waits
	for _, name := range []string{"none", "cable", "3g", "dsl"} {
		profile, _ := ProfileNamed(name)
		probed(t, profile, openStream(t, profile.Conditions).Probe)
	}
}

// TestStreamGoodput: as for packets.
func TestStreamGoodput(t *testing.T) {
	t.Parallel() // it waits
	s := openStream(t, Conditions{Down: Direction{Rate: 5 * Mbit, Delay: 10 * time.Millisecond},
		Up: Direction{Rate: 5 * Mbit, Delay: 10 * time.Millisecond}})
	for _, connections := range []int{1, 32} {
		goodEnough(t, 5*Mbit, connections, s.Goodput)
	}
}

// TestStreamFates: as for packets.
func TestStreamFates(t *testing.T) {
	t.Parallel() // it waits
	d := Direction{Loss: 0.05, Burst: 3, Delay: time.Millisecond}
	lossy(t, d, func(seed uint64) func(context.Context, int) ([]bool, error) {
		s, err := OpenStream(Conditions{Down: d}, seed)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s.deliveries
	})
}

// TestStreamCrowd: thousands of clients that never read or never write are bounded, and leave the
// link to others.
//
// Fault: Many clients of a stream link never read, or more than 10,000 connect
func TestStreamCrowd(t *testing.T) {
	crowd := 400
	if testing.Short() {
		crowd = 100
	}
	s := openStream(t, Conditions{Down: Direction{Rate: 100 * Mbit, Delay: 5 * time.Millisecond},
		Up: Direction{Rate: 100 * Mbit, Delay: 5 * time.Millisecond}})
	l := listenStream(t, s)
	go accepts(l, func(c net.Conn) {
		b := make([]byte, 1)
		if _, err := io.ReadFull(c, b); err != nil {
			return
		}
		if b[0] == 'p' {
			_, _ = io.Copy(c, c)
			return
		}
		_, _ = c.Write(make([]byte, 1<<20))
	})
	ask := func(first byte) net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := c.Write([]byte{first}); err != nil {
			t.Fatal(err)
		}
		return c
	}
	ping := func(c net.Conn) time.Duration {
		var trips []time.Duration
		b := make([]byte, 1)
		for range 20 {
			began := time.Now()
			if _, err := c.Write(b); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, b); err != nil {
				t.Fatal(err)
			}
			trips = append(trips, time.Since(began))
		}
		return spreadOf(trips).Median
	}
	good := ask('p')
	alone := ping(good)
	for i := range crowd {
		ask("dp"[i%2]) // who downloads and never reads; who says no more
	}
	// All that goes to those who never read has gone when nothing more is under way.
	var sum, before int
	tries := 0
	for last := uint64(0); ; {
		together := ping(good)
		down, _ := s.Counts()
		s.mu.Lock()
		sum = s.unread + s.unsent
		s.mu.Unlock()
		if down.Packets-last < 100 && sum == before {
			t.Logf("%v alone, %v beside %d others, for whom %d bytes are kept", alone, together, crowd, sum)
			if tries++; together > 10*alone && tries < busyTries {
				continue
			} else if together > 10*alone {
				t.Errorf("a round trip takes %v beside others who do nothing, and %v alone", together, alone)
			}
			break
		}
		last, before = down.Packets, sum
	}
	if most := maxOfAll*2 + crowd*2*minBuffer + 64*mss*crowd; sum > most {
		t.Errorf("%d bytes are kept for %d who do not read, want at most %d", sum, crowd, most)
	}
}

// TestStreamRefuses: beyond its bound connections end at once, and those that are there go on.
//
// Fault: Many clients of a stream link never read, or more than 10,000 connect
func TestStreamRefuses(t *testing.T) {
	s := openStream(t, Conditions{})
	s.mu.Lock()
	fake := map[*streamConn]struct{}{}
	for range MaxStreams {
		c := &streamConn{}
		fake[c], s.conns[c] = struct{}{}, struct{}{}
	}
	s.mu.Unlock()
	l := listenStream(t, s)
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes of a connection that there is no room for", n)
	}
	if _, err := s.dial(t.Context(), "tcp", l.Addr().String()); err == nil {
		t.Error("it is dialled")
	}
	if s.Refused() < 2 {
		t.Errorf("%d were refused", s.Refused())
	}
	s.mu.Lock()
	for c := range fake {
		delete(s.conns, c)
	}
	s.mu.Unlock()
}

// TestStreamMany: what many connections say to each other at once, on a link that loses, is what
// they say.
func TestStreamMany(t *testing.T) {
	d := Direction{Rate: 50 * Mbit, Delay: 2 * time.Millisecond, Jitter: time.Millisecond, Loss: 0.02, Reorder: 0.05}
	s := openStream(t, Conditions{Down: d, Up: d})
	var wg sync.WaitGroup
	for n := range 8 {
		device, server := pair(t, s)
		for i, c := range []net.Conn{device, server} {
			data := make([]byte, 100_000)
			r := rand.New(rand.NewPCG(uint64(n), uint64(1-i)))
			for k := range data {
				data[k] = byte(r.Uint32())
			}
			want := make([]byte, len(data))
			r = rand.New(rand.NewPCG(uint64(n), uint64(i)))
			for k := range want {
				want[k] = byte(r.Uint32())
			}
			wg.Go(func() {
				if _, err := c.Write(data); err != nil {
					t.Error(err)
				}
				if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() {
				if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
				}
			})
		}
	}
	wg.Wait()
}

// TestStreamPatience: late data is not lost. Patience begins when all is sent.
func TestStreamPatience(t *testing.T) {
	s := openStream(t, Conditions{})
	from, to := net.Pipe()
	defer from.Close()
	defer to.Close()
	const patience = 10 * time.Millisecond
	written := make(chan error, 1)
	time.AfterFunc(10*patience, func() {
		_, err := from.Write(make([]byte, pingSize))
		written <- err
	})
	over := make(chan struct{})
	got := 0
	err := s.receive(t.Context(), to, pingSize, over, patience, func(int, timeline.Time) bool { got++; return true })
	if err != nil || got != 1 {
		t.Fatalf("%d have come, and %v", got, err)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	close(over)
	if err := s.receive(t.Context(), to, pingSize, over, patience, func(int, timeline.Time) bool {
		got++
		return true
	}); err != nil || got != 1 {
		t.Errorf("after all were sent %d came, and %v", got-1, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.receive(ctx, to, pingSize, make(chan struct{}), time.Hour,
		func(int, timeline.Time) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("who gives it up is told %v", err)
	}
}

// TestStreamProbeGivesUp: where nothing gets through, who probes is not kept waiting for ever.
func TestStreamProbeGivesUp(t *testing.T) {
	s := openStream(t, Conditions{Up: Direction{Loss: 1}})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Probe(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it is told %v", err)
	}
}

// overdue is a context whose deadline is past, and whose timer fires later.
type overdue struct{ context.Context }

func (overdue) Deadline() (time.Time, bool) { return time.Unix(1, 0), true }

// TestStreamProbeDials: the context's reason is the error of a probe that connects when its time is
// over.
func TestStreamProbeDials(t *testing.T) {
	s := openStream(t, Conditions{})
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("the time is over")
	time.AfterFunc(10*time.Millisecond, func() { cancel(over) })
	if _, err := s.Probe(overdue{ctx}); !errors.Is(err, over) {
		t.Errorf("it is told %v", err)
	}
}

// TestStreamListenAfterClose: a listener over a link that has ended is closed, and so is the one
// below.
func TestStreamListenAfterClose(t *testing.T) {
	s := openStream(t, Conditions{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	below, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer below.Close()
	l := s.Listen(below)
	if err := below.(*net.TCPListener).SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener below is not closed: %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it accepts, or says %v", err)
	}
}

// TestStreamBreaksWhileLent: data passed on in part when a connection breaks is no longer counted.
func TestStreamBreaksWhileLent(t *testing.T) {
	s, clock := byHand(t, Conditions{}, 1)
	h := opened(s, streamDown)
	if _, err := h.put(make([]byte, 4*mss), nil); err != nil {
		t.Fatal(err)
	}
	if got := h.read(clock, ms(1000)); got != 4*mss {
		t.Fatalf("%d bytes are there", got)
	}
	b, err := h.get(nil, nil)
	if err != nil || len(b) < 2 {
		t.Fatal(len(b), err)
	}
	h.passedOn(1, len(b)-1)
	h.breakOff(net.ErrClosed)
	if s.unread != 0 || s.unsent != 0 {
		t.Errorf("%d bytes unread and %d unsent are counted when nothing is left", s.unread, s.unsent)
	}
}

// dial connects to an address over the link: who dials is the device. What the way to the address
// itself takes is on top.
func (s *Stream) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	real, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c, err := s.join(real, streamUp, 0)
	if err != nil {
		return nil, errors.Join(err, real.Close())
	}
	connected := make(chan error, 1)
	s.mu.Lock()
	s.handshake(func(at timeline.Time) { c.out.begin(at); connected <- nil }, c.in.begin,
		func(err error) { connected <- err })
	s.mu.Unlock()
	select {
	case err = <-connected:
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.over.Done():
		err = net.ErrClosed
	}
	if err != nil {
		c.abort(err)
		return nil, fmt.Errorf("dial %s over the link: %w", address, err)
	}
	return c, nil
}

// deliveries sends so many full segments to the device, one after the other, each once. It returns
// which of them came.
func (s *Stream) deliveries(ctx context.Context, count int) (came []bool, err error) {
	device, server, err := s.pair(ctx, probeRecord)
	if err != nil {
		return nil, err
	}
	defer device.Close()
	defer server.Close()
	came = make([]bool, count)
	d := s.asked().Down
	err = s.records(ctx, server, device, count, 2*time.Duration(count)*d.takes(MTU)+d.Delay+4*time.Second,
		func(n int, _ timeline.Time) { came[n] = true })
	return came, err
}
