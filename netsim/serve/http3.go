package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// quicSocket is an address on which packets of QUIC come.
type quicSocket struct {
	net.PacketConn
	mu        sync.Mutex
	transport *quic.Transport
	closed    bool
}

// close ends its connections, telling clients so, and the socket.
func (q *quicSocket) close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil
	}
	q.closed = true
	var err error
	if q.transport != nil {
		err = q.transport.Close()
	}
	return errors.Join(err, q.PacketConn.Close())
}

// streamOfHTTP3 returns the number of a request's stream.
func streamOfHTTP3(r *http.Request) int64 {
	b := r.Body
	if noted, ok := b.(*body); ok {
		b = noted.ReadCloser
	}
	if s, ok := b.(interface{ StreamID() quic.StreamID }); ok {
		return int64(s.StreamID())
	}
	return 0
}

// serveQUIC takes connections until the socket is closed.
func (s *Server) serveQUIC(ctx context.Context, q *quicSocket) error {
	h3 := &http3.Server{
		Handler: http.HandlerFunc(s.serveHTTP), MaxHeaderBytes: maxHead, IdleTimeout: idleTime,
		ConnContext: func(ctx context.Context, _ *quic.Conn) context.Context { return ctx },
	}
	transport := &quic.Transport{Conn: q.PacketConn,
		ConnContext: func(ctx context.Context, info *quic.ClientInfo) (context.Context, error) {
			c := &connection{s: s, streams: map[int64]*exchange{}}
			now := s.clock.Now()
			c.seen = Connection{Network: "udp", Client: addrPort(info.RemoteAddr), Server: addrPort(q.LocalAddr()),
				Accepted: now, Hello: now, Protocol: "h3"}
			closer := &quicCloser{}
			closer.over = sync.OnceFunc(func() {
				c.over("")
				s.unregister(closer)
			})
			if !s.register(c, closer) {
				return nil, errors.New("too many connections are open")
			}
			context.AfterFunc(ctx, closer.over)
			return context.WithValue(ctx, connectionKey{}, c), nil
		}}
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return nil
	}
	q.transport = transport
	q.mu.Unlock()
	l, err := transport.Listen(http3.ConfigureTLSConfig(s.tlsConfig()),
		&quic.Config{MaxIncomingStreams: maxStreams, MaxIdleTimeout: idleTime,
			HandshakeIdleTimeout: s.options.Patience})
	if err != nil {
		return err
	}
	defer l.Close()
	for {
		conn, err := l.Accept(ctx)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, quic.ErrServerClosed) || errors.Is(err, quic.ErrTransportClosed) ||
				errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		s.running.Go(func() {
			s.noteQUIC(conn)
			if err := h3.ServeQUICConn(conn); err != nil {
				s.log.Printf("HTTP/3 with %s: %v", conn.RemoteAddr(), err)
			}
			_ = conn.CloseWithError(0, "")
		})
	}
}

// noteQUIC records the negotiated parameters.
func (s *Server) noteQUIC(conn *quic.Conn) {
	c, _ := conn.Context().Value(connectionKey{}).(*connection)
	if c == nil {
		return
	}
	now := s.clock.Now()
	state := conn.ConnectionState().TLS
	c.says(func(seen *Connection) {
		seen.Secured, seen.Server = now, addrPort(conn.LocalAddr()) // the socket's own may be every address
		seen.TLS, seen.Resumed, seen.Name = tls.VersionName(state.Version), state.DidResume, state.ServerName
		c.count = func() (in, out int64) {
			stats := conn.ConnectionStats()
			return int64(stats.BytesReceived), int64(stats.BytesSent)
		}
	})
}

// quicCloser stands for a connection among those that are open; closing the socket closes it.
type quicCloser struct{ over func() }

func (*quicCloser) Close() error { return nil }

// overQUIC notes the end of all connections of QUIC, after that of their sockets, so that nothing
// is noted later.
func (s *Server) overQUIC() {
	s.mu.Lock()
	var open []*quicCloser
	for c := range s.open {
		if q, is := c.(*quicCloser); is {
			open = append(open, q)
		}
	}
	s.mu.Unlock()
	for _, q := range open {
		q.over()
	}
}
