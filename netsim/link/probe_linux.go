package link

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/timeline"
)

// A link is probed in two steps. Small packets go there and back, answered by the other side's
// kernel. Then full packets are sent at once, each way, as many as the queue certainly holds. They
// arrive as far apart as the rate makes them. Each carries its number, so losses in between do not
// matter. Times are those at which the kernel had the packet. The time at which this program reads
// it does not matter.
const (
	pingBytes  = 64 // of ICMP's payload; with its header and IP's 28 more
	probePort  = 9
	headersUDP = 28 // IPv4 and UDP, bytes
	headers    = 28 // IPv4 and ICMP
)

// Probe sends packets through the link, for a second or two, while nothing else is sent.
func (p *Packet) Probe(ctx context.Context) (Probe, error) {
	clock := timeline.Monotonic()
	began := clock.Now()
	result, err := p.probe(ctx)
	if err != nil {
		return Probe{}, fmt.Errorf("probe the link: %w", err)
	}
	result.Took = clock.Now().Sub(began)
	return result, nil
}

func (p *Packet) probe(ctx context.Context) (result Probe, err error) {
	before := p.lost()
	trips, err := p.pings(ctx, pings)
	if err != nil {
		return result, err
	}
	result.RTT = spreadOf(trips)
	for _, way := range []struct {
		from, to *Namespace
		address  netip.Addr
		d        Direction
		got      *Rate
	}{{p.Server, p.Device, DeviceAddress.Addr(), p.conditions.Down, &result.Down},
		{p.Device, p.Server, ServerAddress.Addr(), p.conditions.Up, &result.Up}} {
		if *way.got, err = train(ctx, way.from, way.to, way.address, way.d); err != nil {
			return result, err
		}
	}
	after := p.lost()
	result.Sent, result.Lost = int(after.Packets-before.Packets), int(after.LostOnWay-before.LostOnWay)
	return result, nil
}

// lost is what both directions count.
func (p *Packet) lost() Counts {
	down, up := p.Counts()
	down.Packets, down.LostOnWay = down.Packets+up.Packets, down.LostOnWay+up.LostOnWay
	return down
}

// pings sends so many echo requests from the device's side, far enough apart not to wait for each
// other. It returns the round trips of the answered ones, less the time of a packet's own bits. It
// fails if none is answered.
func (p *Packet) pings(ctx context.Context, count int) ([]time.Duration, error) {
	sock, err := p.Device.probe(unix.SOCK_RAW, unix.IPPROTO_ICMP, 0)
	if err != nil {
		return nil, err
	}
	defer sock.close()
	c := p.conditions
	own := c.Down.takes(pingBytes+headers) + c.Up.takes(pingBytes+headers)
	apart := max(5*time.Millisecond, 2*own)
	patience := c.RTT() + c.Down.Jitter + c.Up.Jitter + c.Down.Behind + c.Up.Behind + time.Duration(count)*own +
		time.Second
	over := make(chan struct{})         // all are sent
	sent := make([]atomic.Int64, count) // realtime
	trips := make([]time.Duration, 0, count)
	answered := make(chan error, 1)
	go func() {
		answered <- sock.receive(ctx, over, patience, func(b []byte, at int64) bool {
			const ipHeader = 20
			if len(b) < ipHeader+8+2 || b[ipHeader] != 0 { // an echo reply
				return false
			}
			if i := int(binary.BigEndian.Uint16(b[ipHeader+6:])); i < count {
				if began := sent[i].Load(); began != 0 {
					trips = append(trips, time.Duration(at-began)-own)
				}
			}
			return len(trips) == count
		})
	}()
	send := func() error {
		// A packet that is stamped and has to wait to be sent would seem late. The thread is not
		// given back.
		runtime.LockOSThread()
		schedule(true)
		request := make([]byte, 8+pingBytes)
		next := timeline.Monotonic().Now()
		for i := range sent {
			request[0], request[2], request[3] = 8, 0, 0
			binary.BigEndian.PutUint16(request[6:], uint16(i))
			binary.BigEndian.PutUint16(request[2:], checksum(request))
			sent[i].Store(realtime())
			if err := sock.send(request, ServerAddress.Addr()); err != nil {
				return err
			}
			next = next.Add(apart)
			if err := timeline.SleepUntil(ctx, next); err != nil {
				return err
			}
		}
		return nil
	}
	written := make(chan error, 1)
	go func() { written <- send() }()
	err = <-written
	close(over)
	if err = errors.Join(err, <-answered); err != nil {
		return nil, err
	}
	if len(trips) == 0 {
		return nil, fmt.Errorf("no packet of %d came back", count)
	}
	return trips, nil
}

// train sends full packets at once and returns the rate at which they arrive; 0 where none was
// asked for.
func train(ctx context.Context, from, to *Namespace, address netip.Addr, d Direction) (Rate, error) {
	if d.Rate == 0 {
		return 0, nil
	}
	count := d.train()
	in, err := to.probe(unix.SOCK_DGRAM, unix.IPPROTO_UDP, probePort)
	if err != nil {
		return 0, err
	}
	defer in.close()
	out, err := from.probe(unix.SOCK_DGRAM, unix.IPPROTO_UDP, 0)
	if err != nil {
		return 0, err
	}
	defer out.close()
	arrived := make([]int64, count) // realtime, 0: not
	received, over := make(chan error, 1), make(chan struct{})
	go func() {
		patience := 2*time.Duration(count)*d.takes(MTU) + d.Delay + d.Jitter + d.Behind + time.Second
		received <- in.receive(ctx, over, patience, func(b []byte, at int64) bool {
			if len(b) != MTU-headersUDP {
				return false
			}
			i := int(binary.BigEndian.Uint32(b))
			if i < count {
				arrived[i] = at
			}
			return i == count-1
		})
	}()
	send := func() error {
		packet := make([]byte, MTU-headersUDP)
		for i := range count {
			binary.BigEndian.PutUint32(packet, uint32(i))
			if err := out.send(packet, address); err != nil {
				return err
			}
		}
		return nil
	}
	err = send()
	close(over)
	if err = errors.Join(err, <-received); err != nil {
		return 0, err
	}
	return slope(arrived), nil
}

// probeSocket is one of IPv4 that says when the kernel had a packet. It blocks its thread, for a
// moment at a time.
type probeSocket struct{ fd int }

const receiveSlice = 50 * time.Millisecond

func (n *Namespace) probe(kind, protocol, port int) (s *probeSocket, err error) {
	err = n.Do(func() error {
		fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, protocol)
		if err != nil {
			return refused("open a socket to probe with", err)
		}
		s = &probeSocket{fd}
		slice := unix.NsecToTimeval(int64(receiveSlice))
		err = errors.Join(
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 4<<20),
			unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &slice))
		if port != 0 {
			err = errors.Join(err, unix.Bind(fd, &unix.SockaddrInet4{Port: port}))
		}
		if err != nil {
			s.close()
		}
		return err
	})
	return s, err
}

func (s *probeSocket) close() { _ = unix.Close(s.fd) }

func (s *probeSocket) send(b []byte, to netip.Addr) error {
	return unix.Sendto(s.fd, b, 0, &unix.SockaddrInet4{Port: probePort, Addr: to.As4()})
}

// receive hands over arriving packets with their times, until there are enough or patience ends.
// Patience begins when all are sent: packets sent late, on a busy machine, are not lost.
func (s *probeSocket) receive(ctx context.Context, sent <-chan struct{}, patience time.Duration,
	enough func(b []byte, at int64) bool) error {
	b, oob := make([]byte, MTU), make([]byte, 128)
	clock := timeline.Monotonic()
	end := timeline.Time(math.MaxInt64)
	for clock.Now() < end {
		if err := ctx.Err(); err != nil {
			return err
		}
		select {
		case <-sent:
			sent, end = nil, clock.Now().Add(patience)
		default:
		}
		n, oobn, _, _, err := unix.Recvmsg(s.fd, b, oob, 0)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		messages, err := unix.ParseSocketControlMessage(oob[:oobn])
		if err != nil || len(messages) == 0 || len(messages[0].Data) < 16 {
			return errors.New("receive: the kernel does not say when")
		}
		// struct timespec
		at := int64(binary.NativeEndian.Uint64(messages[0].Data))*int64(time.Second) +
			int64(binary.NativeEndian.Uint64(messages[0].Data[8:]))
		if enough(b[:n], at) {
			return nil
		}
	}
	return nil
}

// realtime is the clock in which the kernel stamps packets. It is read without a system call, after
// which a thread may have to wait.
func realtime() int64 { return time.Now().UnixNano() }

// checksum is the Internet's (RFC 1071).
func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
