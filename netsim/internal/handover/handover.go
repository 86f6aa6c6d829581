// Package handover is a net.Listener that accepts existing connections.
package handover

import (
	"net"
	"sync"
)

// Listener accepts the connections that Give passes on. It may be used from several goroutines.
type Listener struct {
	came   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// New returns a listener, until Close.
func New() *Listener { return &Listener{came: make(chan net.Conn), closed: make(chan struct{})} }

// Give hands over a connection when the server takes it, or closes it if none does any more.
func (l *Listener) Give(c net.Conn) {
	select {
	case l.came <- c:
	case <-l.closed:
		_ = c.Close() // closing reports it to the client
	}
}

// Accept waits for a connection. It returns [net.ErrClosed] after Close.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.came:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept. Connections that were taken stay as they are.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is none.
func (l *Listener) Addr() net.Addr { return &net.TCPAddr{} }
