package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/internal/handover"
)

// Options of a server.
type Options struct {
	Handler   http.Handler
	Authority *Authority // makes the certificates; nil: TLS and QUIC are off
	// Certificate makes certificates instead of the authority; may be nil
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// which names are served, in lower case and without a port; nil: all. Others are refused with a
	// sentence
	Hosts func(name string) bool
	// takes the secrets of TLS in the format of NSS, which takes the secrecy from it; may be nil
	KeyLog io.Writer
	Clock  timeline.Clock // nil: the rig's own
	Log    *log.Logger    // takes what clients do wrong; nil: nobody does

	Connections int           // open at once; 0: maxConnections. More are closed at once
	Stall       time.Duration // how long a client may read nothing of its data; 0: a minute
	// for how long the head of a request may take to come; 0: half a minute, for a long one takes a
	// while on a slow line
	Patience time.Duration
	HTTP1    bool // do not speak HTTP/2
	HTTP2    bool // do not speak HTTP/1.1 under TLS
	Blind    bool // witness nothing
}

const (
	// maxConnections is how many are open at once if nothing else is said.
	maxConnections = 16_384

	defaultStall    = time.Minute
	defaultPatience = 30 * time.Second
	idleTime        = 5 * time.Minute
	slowestBody     = 1 << 10 // bytes a second of a request's body, after the patience for its head
	maxHead         = 64 << 10
	maxStreams      = 250
	readFrame       = 32 << 10 // bytes of a frame of HTTP/2, at most
)

// Server serves one handler by HTTP/1.1, HTTP/2 and HTTP/3, and notes what it sees.
type Server struct {
	options Options
	clock   timeline.Clock
	log     *log.Logger

	h1   *http.Server
	h1in *handover.Listener
	h2   *http2.Server //lint:ignore SA1019 see New
	// Of HTTP/2, what net/http's fields have a meaning for.
	h1of2 *http.Server
	tls   *tls.Config

	sockets []socket
	quics   []*quicSocket
	altSvc  string // of HTTP/3; "": there is none

	started  atomic.Bool
	running  sync.WaitGroup  // what serves connections
	handling sync.WaitGroup  // requests
	until    context.Context // ends with the server

	mu          sync.Mutex
	open        map[io.Closer]struct{} // connections
	closed      bool
	refused     int
	connections []*connection
	exchanges   []*exchange
	lost        int // exchanges and connections of which nothing was kept
	headerBytes int // kept of all headers
}

// socket is an address on which connections come.
type socket struct {
	net.Listener
	secure bool
}

// New returns a server without sockets.
func New(o Options) (*Server, error) {
	if o.Handler == nil {
		return nil, errors.New("serve: no handler")
	}
	if o.HTTP1 && o.HTTP2 {
		return nil, errors.New("serve: of HTTP/1.1 and HTTP/2 each is to be the only one")
	}
	if o.Clock == nil {
		o.Clock = timeline.Monotonic()
	}
	if o.Log == nil {
		o.Log = log.New(io.Discard, "", 0)
	}
	o.Connections, o.Stall, o.Patience = cmp.Or(o.Connections, maxConnections), cmp.Or(o.Stall, defaultStall),
		cmp.Or(o.Patience, defaultPatience)
	s := &Server{options: o, clock: o.Clock, log: o.Log, open: map[io.Closer]struct{}{}}
	s.h1in = handover.New()
	s.h1 = &http.Server{
		Handler:           http.HandlerFunc(s.serveHTTP),
		ReadHeaderTimeout: o.Patience,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHead,
		ErrorLog:          o.Log,
		ConnState:         stateOfHTTP1,
		BaseContext:       func(net.Listener) context.Context { return s.until },
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return withConnection(ctx, c) },
	}
	// Note: net/http's own HTTP/2 sends to all streams in turn up to Go 1.26. This library lets
	// callers decide the next stream. turns uses the priorities that browsers give. Otherwise a
	// page would load as from an unusual server. The library also accepts a connection without its
	// TLS layer, which gives access to a stream's number and offset.
	s.h1of2 = &http.Server{MaxHeaderBytes: maxHead, ErrorLog: o.Log}
	if o.Certificate == nil && o.Authority != nil {
		s.options.Certificate = o.Authority.CertificateFor
	}
	if s.options.Certificate != nil {
		switch {
		case o.HTTP1:
			s.tls = s.tlsConfig("http/1.1")
		case o.HTTP2:
			s.tls = s.tlsConfig("h2")
		default:
			s.tls = s.tlsConfig("h2", "http/1.1")
		}
	}
	// See endings for the number of streams.
	//lint:ignore SA1019 see above
	s.h2 = &http2.Server{MaxConcurrentStreams: 2 * maxStreams, MaxReadFrameSize: readFrame, IdleTimeout: idleTime}
	// Its connections share the state of their own server, not the program's.
	//lint:ignore SA1019 see above
	if err := http2.ConfigureServer(s.h1of2, s.h2); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	return s, nil
}

// HTTP adds a socket for HTTP/1.1 without TLS. The server closes it when it ends. Sockets are added
// before Run.
func (s *Server) HTTP(l net.Listener) { s.sockets = append(s.sockets, socket{l, false}) }

// HTTPS adds a socket for HTTP/1.1 and HTTP/2 with TLS, or one of them.
func (s *Server) HTTPS(l net.Listener) { s.sockets = append(s.sockets, socket{l, true}) }

// QUIC adds a socket for HTTP/3. Responses by TCP say that it is there (Alt-Svc, RFC 7838), on the
// port of the last that was added.
func (s *Server) QUIC(c net.PacketConn) {
	s.quics = append(s.quics, &quicSocket{PacketConn: c})
	if a, ok := c.LocalAddr().(*net.UDPAddr); ok {
		s.altSvc = fmt.Sprintf(`h3=":%d"; ma=86400`, a.Port)
	}
}

// Run serves until ctx ends, then closes all sockets and connections and returns nil; or until a
// socket fails. It may be called once.
func (s *Server) Run(ctx context.Context) error {
	if s.started.Swap(true) {
		return errors.New("serve: a server runs once")
	}
	for _, l := range s.sockets {
		if l.secure && s.tls == nil {
			return errors.Join(errors.New("serve: HTTPS without an authority that makes certificates"), s.Close())
		}
	}
	if len(s.quics) > 0 && s.tls == nil {
		return errors.Join(errors.New("serve: QUIC without an authority that makes certificates"), s.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.until = ctx
	failed := make(chan error, len(s.sockets)+len(s.quics)+1)
	var accepting sync.WaitGroup
	for _, l := range s.sockets {
		accepting.Go(func() {
			if err := s.accept(ctx, l); err != nil {
				failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
			}
		})
	}
	for _, q := range s.quics {
		accepting.Go(func() {
			if err := s.serveQUIC(ctx, q); err != nil {
				failed <- fmt.Errorf("serve %s: %w", q.LocalAddr(), err)
			}
		})
	}
	accepting.Go(func() { _ = s.h1.Serve(s.h1in) })
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel()
	// Nobody waits for what a client has not finished: its run is over.
	closed := s.Close()
	accepting.Wait()
	s.running.Wait()
	s.handling.Wait()
	s.overQUIC()
	return errors.Join(err, closed)
}

// Close closes all sockets and connections. Run calls it.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	open := make([]io.Closer, 0, len(s.open))
	for c := range s.open {
		open = append(open, c)
	}
	s.mu.Unlock()
	var errs []error
	for _, l := range s.sockets {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	for _, c := range open {
		_ = c.Close()
	}
	for _, q := range s.quics {
		if err := q.close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	_ = s.h1in.Close()
	_ = s.h1.Close()
	return errors.Join(errs...)
}

// accept takes connections until the socket is closed.
func (s *Server) accept(ctx context.Context, l socket) error {
	pause := time.Duration(0)
	for {
		raw, err := l.Accept()
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			if err == nil {
				_ = raw.Close()
			}
			return nil
		}
		if err != nil {
			var net net.Error
			//lint:ignore SA1019 what else says that there are no file descriptors for now?
			if !errors.As(err, &net) || !net.Temporary() {
				return err
			}
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.log.Printf("accept: %v; again in %v", err, pause)
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			continue
		}
		pause = 0
		c := s.connected(raw)
		if c == nil {
			_ = raw.Close()
			continue
		}
		if !l.secure {
			c.says(func(c *Connection) { c.Protocol = "http/1.1" })
			s.h1in.Give(c)
			continue
		}
		s.running.Go(func() { s.secure(ctx, c) })
	}
}
