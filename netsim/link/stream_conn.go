package link

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// streamConn is a connection over a link. On the one side are those who use it; on the other a
// connection below, for which two goroutines read and write.
type streamConn struct {
	s       *Stream
	below   net.Conn
	out, in *half // of who uses it

	reading, writing sync.Mutex // one at a time
	toRead, toWrite  deadline

	mu     sync.Mutex
	closed bool
	timer  *time.Timer // of lingering
	passed int64       // when it was looked last
}

func newStreamConn(s *Stream, below net.Conn, out, plain int) *streamConn {
	return &streamConn{s: s, below: below, out: newHalf(s, out, plain), in: newHalf(s, 1-out, plain)}
}

// readAll takes what the connection below has, until it has no more.
func (c *streamConn) readAll() {
	b := make([]byte, 2<<10)
	for {
		n, err := c.below.Read(b)
		if n > 0 {
			if _, err := c.in.put(b[:n], nil); err != nil {
				return
			}
		}
		if err != nil {
			c.in.finish(endOf(err))
			return
		}
		if n == len(b) && n < copyAtOnce {
			b = make([]byte, 2*n)
		}
	}
}

// endOf is the error at one end when the other end is closed.
func endOf(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		err = op.Err // its addresses are those of the connection below, and will be told of again
	}
	return err
}

// writeAll writes the arrived data to the connection below, until the end has arrived.
func (c *streamConn) writeAll() {
	defer c.ended()
	for {
		b, err := c.out.get(nil, nil)
		if errors.Is(err, io.EOF) {
			if w, ok := c.below.(interface{ CloseWrite() error }); ok {
				_ = w.CloseWrite() // if it cannot be told, it is gone
			} else {
				_ = c.below.Close()
			}
			return
		}
		if err != nil {
			return
		}
		for len(b) > 0 {
			n, err := c.below.Write(b[:min(len(b), copyAtOnce)])
			if err != nil {
				c.out.breakOff(endOf(err))
				return
			}
			c.out.passedOn(n, len(b)-n)
			b = b[n:]
		}
	}
}

// ended lets go of the connection below, if nobody wants anything of it any more.
func (c *streamConn) ended() {
	if c.isClosed() {
		c.abort(net.ErrClosed)
	}
}

func (c *streamConn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

func (c *streamConn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	got, err := c.in.get(b, &c.toRead)
	return len(got), c.wrong("read", err)
}

func (c *streamConn) Write(b []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	n, err := c.out.put(b, &c.toWrite)
	if c.isClosed() && err != nil {
		err = net.ErrClosed
	}
	return n, c.wrong("write", err)
}

func (c *streamConn) wrong(op string, err error) error {
	if err == nil || err == io.EOF { //nolint:errorlint // it is given as it is, as by every connection
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// CloseWrite ends the written data, after everything written before.
func (c *streamConn) CloseWrite() error {
	c.out.finish(io.EOF)
	return nil
}

// Close closes the connection as in TCP: written data still goes over the link, as long as it makes
// progress.
func (c *streamConn) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return c.wrong("close", net.ErrClosed)
	}
	c.closed = true
	c.timer = time.AfterFunc(lingering, c.linger)
	c.mu.Unlock()
	c.out.finish(io.EOF)
	c.in.breakOff(net.ErrClosed)
	c.s.mu.Lock()
	done := c.out.ended != nil && c.out.unread.len()+c.out.taken == 0 || c.out.broken != nil
	c.s.mu.Unlock()
	if done {
		c.abort(net.ErrClosed)
	}
	return nil
}

// linger gives up a closed connection that has not got on.
func (c *streamConn) linger() {
	c.s.mu.Lock()
	passed := c.out.passed
	c.s.mu.Unlock()
	c.mu.Lock()
	on := passed != c.passed
	if c.passed = passed; on {
		c.timer.Reset(lingering)
	}
	c.mu.Unlock()
	if !on {
		c.abort(os.ErrDeadlineExceeded)
	}
}

// abort ends it at once, with all that belongs to it.
func (c *streamConn) abort(why error) {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.out.breakOff(why)
	c.in.breakOff(why)
	_ = c.below.Close()
	c.s.mu.Lock()
	delete(c.s.conns, c)
	c.s.mu.Unlock()
}

func (c *streamConn) LocalAddr() net.Addr  { return c.below.LocalAddr() }
func (c *streamConn) RemoteAddr() net.Addr { return c.below.RemoteAddr() }

func (c *streamConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *streamConn) SetReadDeadline(t time.Time) error  { return c.set(&c.toRead, t) }
func (c *streamConn) SetWriteDeadline(t time.Time) error { return c.set(&c.toWrite, t) }

func (c *streamConn) set(d *deadline, t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.wrong("set deadline", net.ErrClosed)
	}
	d.set(t)
	return nil
}

// deadline is a time that passes. The zero value and nil never do.
type deadline struct {
	mu     sync.Mutex
	passes chan struct{} // closed when it has
	passed bool
	timer  *time.Timer
}

// set replaces it. Those who wait for the one before go on waiting for this one.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if d.passes == nil || d.passed {
		d.passes, d.passed = make(chan struct{}), false
	}
	if t.IsZero() {
		return
	}
	if wait := time.Until(t); wait > 0 {
		var timer *time.Timer
		timer = time.AfterFunc(wait, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.timer == timer { // it has not been replaced meanwhile
				d.pass()
			}
		})
		d.timer = timer
		return
	}
	d.pass()
}

func (d *deadline) pass() {
	if !d.passed {
		d.passed = true
		close(d.passes)
	}
}

// wait returns a channel that is closed when the deadline passes.
func (d *deadline) wait() <-chan struct{} {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.passes == nil {
		d.passes = make(chan struct{})
	}
	return d.passes
}

func (d *deadline) over() bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed
}
