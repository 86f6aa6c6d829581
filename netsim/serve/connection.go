package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// connection is a TCP connection below TLS. It counts its bytes with their times. It is closed if
// the client reads nothing for too long.
type connection struct {
	net.Conn // nil: QUIC
	s        *Server
	kept     bool   // is one of the server's list
	turns    *turns // of HTTP/2

	mu        sync.Mutex
	seen      Connection
	requests  int64 // that have begun
	lastRead  timeline.Time
	lastWrite timeline.Time
	current   *exchange           // of HTTP/1.1; nil: none
	streams   map[int64]*exchange // of HTTP/2 and HTTP/3, without those that are over
	// streams of HTTP/2 that the client has given up and that were not among the above, perhaps not
	// yet
	unwanted map[int64]struct{}
	// bytes of each body of HTTP/2 whose length is known that are not out yet; 0: and its end is
	toCome map[int64]int64
	room   func() error // waits until earlier data is nearly sent; nil: does not wait
	count  func() (in, out int64)
}

// connected notes a new connection; nil: it is one too many.
func (s *Server) connected(raw net.Conn) *connection {
	c := &connection{Conn: raw, s: s, streams: map[int64]*exchange{}}
	c.seen = Connection{Network: "tcp", Client: addrPort(raw.RemoteAddr()), Server: addrPort(raw.LocalAddr()),
		Accepted: s.clock.Now()}
	if !s.register(c, c) {
		return nil
	}
	return c
}

// register adds a connection to those that are open.
func (s *Server) register(c *connection, closer io.Closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if len(s.open) >= s.options.Connections {
		s.refused++
		return false
	}
	s.open[closer] = struct{}{}
	if s.options.Blind {
		return true
	}
	if len(s.connections) >= maxExchanges {
		s.lost++
		return true
	}
	c.kept = true
	s.connections = append(s.connections, c)
	c.seen.ID = len(s.connections)
	return true
}

func (s *Server) unregister(closer io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, closer)
}

func addrPort(a net.Addr) netip.AddrPort {
	if a, ok := a.(interface{ AddrPort() netip.AddrPort }); ok {
		p := a.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	}
	return netip.AddrPort{}
}

// says notes something of the connection.
func (c *connection) says(note func(*Connection)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	note(&c.seen)
}

func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		now := c.s.clock.Now()
		c.mu.Lock()
		if c.seen.BytesIn == 0 && c.seen.Protocol == "" {
			c.seen.Hello = now
		}
		c.seen.BytesIn += int64(n)
		c.lastRead = now
		c.mu.Unlock()
	}
	return n, err
}

const (
	writeAtOnce = 256 << 10 // bytes, after which it is noted how far a response is

	// slowest is the minimum number of bytes that a connection must take within the server's
	// patience. Otherwise its streams that wait to send are given up. It is less than any measured
	// link carries, and more than answers to pings.
	slowest = 4 << 10
)

func (c *connection) Write(b []byte) (written int, err error) {
	for len(b) > 0 && err == nil {
		part := b[:min(len(b), writeAtOnce)]
		before := c.s.clock.Now()
		_ = c.Conn.SetWriteDeadline(time.Now().Add(c.s.options.Stall))
		c.mu.Lock()
		if e := c.current; e != nil && e.seen.FirstByte == 0 && e.answering {
			e.seen.FirstByte, e.seen.From = before, c.seen.BytesOut
		}
		c.mu.Unlock()
		var n int
		if c.room != nil && c.room() == nil { // after that which took too long, the write is what does
			_ = c.Conn.SetWriteDeadline(time.Now().Add(c.s.options.Stall))
		}
		n, err = c.Conn.Write(part)
		if n > 0 && errors.Is(err, os.ErrDeadlineExceeded) { // a slow link still takes data
			err = nil
		}
		now := c.s.clock.Now()
		c.mu.Lock()
		c.seen.BytesOut += int64(n)
		c.lastWrite = now
		c.mu.Unlock()
		written, b = written+n, b[n:]
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.says(func(c *Connection) { c.Error = tookNothing })
		_ = c.Close()
	}
	return written, err
}

// SetWriteDeadline does nothing: each write has its own.
func (c *connection) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline sets that of reads.
func (c *connection) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// out returns how many bytes went out.
func (c *connection) out() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count != nil {
		_, out := c.count()
		return out
	}
	return c.seen.BytesOut
}

func (c *connection) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// Close closes the connection and aborts its exchanges.
func (c *connection) Close() error {
	err := c.Conn.Close()
	c.over("")
	c.s.unregister(c)
	return err
}

// over notes the end.
func (c *connection) over(reason string) {
	now := c.s.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen.Closed != 0 {
		return
	}
	if c.count != nil {
		c.seen.BytesIn, c.seen.BytesOut = c.count()
		c.count = nil
	}
	c.seen.Closed = now
	if c.seen.Error == "" {
		c.seen.Error = reason
	}
	if e := c.current; e != nil {
		c.current = nil
		c.ended(e, now)
	}
	for id, e := range c.streams {
		if e.ending { // see frames.announced
			continue
		}
		e.cut()
		e.seen.Ended = now
		delete(c.streams, id)
	}
}

// ended notes that a response of HTTP/1.1 is out. The lock is held.
func (c *connection) ended(e *exchange, now timeline.Time) {
	e.seen.Ended = now
	if e.seen.FirstByte != 0 {
		e.seen.Ended, e.seen.To = c.lastWrite, c.seen.BytesOut
	}
	switch {
	case e.taken:
		e.seen.ResponseBytes = e.seen.To - e.seen.From
		e.seen.DecodedBytes = e.seen.ResponseBytes
	case !e.handled:
		e.cut()
	}
}

// idle notes that a response of HTTP/1.1 is out and the next request may come.
func (c *connection) idle() {
	now := c.s.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.current; e != nil {
		c.current = nil
		c.ended(e, now)
	}
}

type connectionKey struct{}

func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, connectionOf(c))
}

func connectionOf(c net.Conn) *connection {
	if s, ok := c.(*secured); ok {
		return s.connection
	}
	return c.(*connection)
}

// stateOfHTTP1 hears from net/http how far a connection is: it is idle once a response has been
// flushed.
func stateOfHTTP1(c net.Conn, state http.ConnState) {
	if state == http.StateIdle {
		connectionOf(c).idle()
	}
}
