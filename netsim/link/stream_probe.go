package link

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// A stream link is probed like a packet link: by small segments that go there and back, and by full
// ones at once, each way. They use a loopback connection of this machine over the link, on which
// each segment is independent. It has no window, and lost segments are not sent again. Times are
// those of this program, which may read late.

// probeRecord is what a segment of a probe has: its number, and as much as makes it full.
const probeRecord = mss

// Probe sends segments over the link, for a second or two, while nothing else is sent.
func (s *Stream) Probe(ctx context.Context) (result Probe, err error) {
	began := s.clock.Now()
	before := s.lost()
	trips, err := s.pings(ctx, pings)
	if err != nil {
		return Probe{}, fmt.Errorf("probe the link: %w", err)
	}
	result.RTT = spreadOf(trips)
	device, server, err := s.pair(ctx, probeRecord)
	if err != nil {
		return Probe{}, fmt.Errorf("probe the link: %w", err)
	}
	defer device.Close()
	defer server.Close()
	c := s.asked()
	for _, way := range []struct {
		from, to net.Conn
		d        Direction
		got      *Rate
	}{{server, device, c.Down, &result.Down}, {device, server, c.Up, &result.Up}} {
		if *way.got, err = s.train(ctx, way.from, way.to, way.d); err != nil {
			return Probe{}, fmt.Errorf("probe the link: %w", err)
		}
	}
	after := s.lost()
	result.Sent, result.Lost = int(after.Packets-before.Packets), int(after.LostOnWay-before.LostOnWay)
	result.Took = s.clock.Now().Sub(began)
	return result, nil
}

func (s *Stream) asked() Conditions {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conditions
}

// lost is what both directions count.
func (s *Stream) lost() Counts {
	down, up := s.Counts()
	down.Packets, down.LostOnWay = down.Packets+up.Packets, down.LostOnWay+up.LostOnWay
	return down
}

// maxConnecting is how long it may take to connect over the link, besides its round trips: until
// all that begins a connection has been sent, and the last of it is waited for.
const maxConnecting = synAgain << maxSYN

// pair connects two ends over the link.
func (s *Stream) pair(ctx context.Context, plain int) (device, server net.Conn, err error) {
	c := s.asked()
	ctx, cancel := context.WithTimeoutCause(ctx, maxConnecting+2*(c.RTT()+c.Down.Jitter+c.Up.Jitter+c.Down.Behind+
		c.Up.Behind), errors.New("connect over the link: nothing gets through"))
	defer cancel()
	below, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	l := s.listen(below, plain)
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	if device, err = new(net.Dialer).DialContext(ctx, "tcp", below.Addr().String()); err != nil {
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= 0 {
			<-ctx.Done() // The dial has a timer of its own for the deadline, which may be the first to fire.
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, nil, err
	}
	if server, err = l.Accept(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, nil, errors.Join(err, device.Close())
	}
	return device, server, nil
}

// receive reads records until there are enough or patience ends. Patience begins when all are sent:
// records sent late, on a busy machine, are not lost.
func (s *Stream) receive(ctx context.Context, from net.Conn, size int, sent <-chan struct{}, patience time.Duration,
	enough func(number int, at timeline.Time) bool) error {
	var waiting sync.WaitGroup
	defer waiting.Wait()
	read := make(chan struct{})
	defer close(read)
	waiting.Go(func() {
		var ended <-chan time.Time
		for {
			select {
			case <-sent:
				sent, ended = nil, time.After(patience)
				continue
			case <-ended:
			case <-ctx.Done():
			case <-read:
				return
			}
			_ = from.SetReadDeadline(time.Unix(1, 0))
			return
		}
	})
	b := make([]byte, size)
	for {
		_, err := io.ReadFull(from, b)
		if n := net.Error(nil); errors.As(err, &n) && n.Timeout() {
			return ctx.Err() // records that have not come by now are lost
		}
		if err != nil {
			return err
		}
		if enough(int(binary.BigEndian.Uint32(b)), s.clock.Now()) {
			return nil
		}
	}
}

// pingSize is what a small segment has.
const pingSize = 8

// pings sends so many small segments from the device's side, far enough apart not to wait for each
// other. It returns the round trips of the answered ones, less the time of a segment's own bits. It
// fails if none is answered.
func (s *Stream) pings(ctx context.Context, count int) ([]time.Duration, error) {
	device, server, err := s.pair(ctx, pingSize)
	if err != nil {
		return nil, err
	}
	defer device.Close()
	defer server.Close()
	c := s.asked()
	own := c.Down.takes(pingSize+headersTCP) + c.Up.takes(pingSize+headersTCP)
	apart := max(5*time.Millisecond, 2*own)
	patience := c.RTT() + c.Down.Jitter + c.Up.Jitter + c.Down.Behind + c.Up.Behind + time.Duration(count)*own +
		time.Second
	echoed, over := make(chan error, 1), make(chan struct{})
	go func() {
		b := make([]byte, pingSize)
		echoed <- s.receive(ctx, server, pingSize, over, patience, func(n int, _ timeline.Time) bool {
			binary.BigEndian.PutUint32(b, uint32(n))
			_, err := server.Write(b)
			return err != nil || n == count-1
		})
	}()
	trips := make([]time.Duration, 0, count)
	sent := make([]timeline.Time, count)
	answered := make(chan error, 1)
	started := make(chan int, count) // so that a segment is known as sent before its answer is read
	go func() {
		known := -1
		answered <- s.receive(ctx, device, pingSize, over, patience, func(n int, at timeline.Time) bool {
			for known < n {
				known = <-started
			}
			if n < count {
				trips = append(trips, at.Sub(sent[n])-own)
			}
			return n == count-1
		})
	}()
	b := make([]byte, pingSize)
	next := s.clock.Now()
	var failed error
	for i := range sent {
		binary.BigEndian.PutUint32(b, uint32(i))
		sent[i] = s.clock.Now()
		started <- i
		if _, failed = device.Write(b); failed != nil {
			break
		}
		next = next.Add(apart)
		if failed = timeline.SleepUntil(ctx, next); failed != nil {
			break
		}
	}
	close(over)
	if failed != nil {
		_, _ = device.SetReadDeadline(time.Unix(1, 0)), server.SetReadDeadline(time.Unix(1, 0))
	}
	if err := errors.Join(failed, <-answered, <-echoed); err != nil {
		return nil, err
	}
	if len(trips) == 0 {
		return nil, fmt.Errorf("no segment of %d came back", count)
	}
	return trips, nil
}

// train sends full segments at once and returns the rate at which they arrive; 0 where none was
// asked for.
func (s *Stream) train(ctx context.Context, from, to net.Conn, d Direction) (Rate, error) {
	if d.Rate == 0 {
		return 0, nil
	}
	count := d.train()
	arrived := make([]int64, count)
	patience := 2*time.Duration(count)*d.takes(MTU) + d.Delay + d.Jitter + d.Behind + time.Second
	err := s.records(ctx, from, to, count, patience, func(n int, at timeline.Time) { arrived[n] = int64(at) })
	if err != nil {
		return 0, err
	}
	return slope(arrived), nil
}

// records sends so many full segments at once, and returns those that arrive.
func (s *Stream) records(ctx context.Context, from, to net.Conn, count int, patience time.Duration,
	came func(n int, at timeline.Time)) error {
	written, over := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(over)
		all := make([]byte, count*probeRecord)
		for i := range count {
			binary.BigEndian.PutUint32(all[i*probeRecord:], uint32(i))
		}
		_, err := from.Write(all)
		written <- err
	}()
	err := s.receive(ctx, to, probeRecord, over, patience, func(n int, at timeline.Time) bool {
		if n < count {
			came(n, at)
		}
		return n == count-1
	})
	if err != nil {
		_ = from.SetWriteDeadline(time.Unix(1, 0)) // nobody reads it any more
	}
	return errors.Join(err, <-written)
}

// Goodput downloads by so many connections at once, and begins to count when the first rush is
// over.
func (s *Stream) Goodput(ctx context.Context, connections int) (Goodput, error) {
	d := s.asked().Down
	if d.Rate == 0 {
		return Goodput{}, errNoRate
	}
	below, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Goodput{}, fmt.Errorf("measure goodput: %w", err)
	}
	m := newMeter(d, connections)
	before, _ := s.Counts()
	err = download(ctx, d, connections, s.Listen(below), func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", below.Addr().String())
	}, m, func(n int) { m.add(int64(n), s.clock.Now()) })
	if err != nil {
		return Goodput{}, err
	}
	after, _ := s.Counts()
	return Goodput{Rate: m.rate(), Packets: after.Packets - before.Packets, Lost: after.LostOnWay +
		after.LostInQueue - before.LostOnWay - before.LostInQueue}, nil
}
