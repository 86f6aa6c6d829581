package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Goodput is what TCP got through a link to the device.
type Goodput struct {
	Rate    float64 // bits per second of TCP's own bytes, each counted once
	Packets uint64  // that the device was given
	Again   uint64  // of them, those with something that it had already: the link's time that nobody has anything of
	Lost    uint64  // packets to the device, on the way and in the queue
}

// What a measurement waits for. Connections that begin together overrun the queue together, lose a
// lot, and stand still until they time out; what they do then is what lasts.
const (
	// of the link at its rate; at least the first bursts of all senders and the queue
	goodputSkip   = 3 * time.Second
	goodputWindow = 3 * time.Second
	minWindow     = 300 // full packets, so that one more or less is a third of a hundredth
)

// goodputPackets is how many full packets of a link are skipped, and how many counted.
func goodputPackets(d Direction, connections int) (skip, window int) {
	each := max(1, d.takes(MTU))
	skip = max(int(goodputSkip/each), connections*firstWindow/mss+min(d.queue(), defaultQueue)/MTU)
	return skip, max(int(goodputWindow/each), minWindow)
}

// download has connections to a listener begin together, and have them read until the meter has
// enough.
func download(ctx context.Context, d Direction, connections int, l net.Listener,
	dial func(context.Context) (net.Conn, error), m *meter, read func(int)) error {
	skip, window := goodputPackets(d, connections)
	ctx, cancel := context.WithTimeout(ctx, time.Minute+4*time.Duration(skip+window)*d.takes(MTU))
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer l.Close()
	wg.Go(func() { pour(l) })
	conns := make([]net.Conn, connections)
	for i := range conns {
		conn, err := dial(ctx)
		if err != nil {
			return fmt.Errorf("measure goodput: %w", err)
		}
		defer conn.Close()
		conns[i] = conn
	}
	for _, conn := range conns {
		if _, err := conn.Write([]byte{0}); err != nil {
			return fmt.Errorf("measure goodput: %w", err)
		}
		wg.Go(func() {
			for b := make([]byte, 64<<10); ; {
				n, err := conn.Read(b)
				if err != nil {
					return
				}
				read(n)
			}
		})
	}
	select {
	case <-m.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("measure goodput: only %d bytes came: %w", m.counted(), ctx.Err())
	}
}

// pour writes to all who connect and ask for it, until they or the listener close.
func pour(l net.Listener) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		wg.Go(func() {
			defer conn.Close()
			b := make([]byte, 64<<10)
			_, err := io.ReadFull(conn, b[:1])
			for err == nil {
				_, err = conn.Write(b)
			}
		})
	}
}

// meter counts bytes between two moments: from the first byte after some, to the one that is
// enough.
type meter struct {
	skip, enough int64
	done         chan struct{}

	mu          sync.Mutex
	bytes       int64
	first, last timeline.Time
	at, until   int64 // bytes by then
	over        bool
}

func newMeter(d Direction, connections int) *meter {
	skip, window := goodputPackets(d, connections)
	return &meter{skip: int64(skip) * MTU, enough: int64(skip+window) * MTU, done: make(chan struct{})}
}

func (m *meter) add(n int64, at timeline.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += n
	switch {
	case m.over:
	case m.first == 0 && m.bytes >= m.skip:
		m.first, m.at = at, m.bytes
	case m.first != 0 && m.bytes >= m.enough && at > m.first:
		m.last, m.until, m.over = at, m.bytes, true
		close(m.done)
	}
}

func (m *meter) counted() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}

// rate is in bits per second.
func (m *meter) rate() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return float64(m.until-m.at) * 8 / m.last.Sub(m.first).Seconds()
}

var errNoRate = errors.New("measure goodput: the link has no rate")
