package replay

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/eideticker/eideticker/netsim/internal/handover"
)

// ProxyOptions are how a [Proxy] works.
type ProxyOptions struct {
	Handler http.Handler // of all requests, which have the site in their first line or in Host
	// TLS has a GetCertificate that makes certificates for any name, of an authority that the
	// device trusts. If a device gives no name, the name is the host that the device wanted to
	// connect to.
	TLS *tls.Config
	// ConnContext is called for each connection, see http.Server. May be nil.
	ConnContext func(ctx context.Context, c net.Conn) context.Context
}

// Door says what devices expect behind a listener.
type Door int

// The doors.
const (
	AsProxy Door = iota // an HTTP proxy: https by CONNECT
	Plain               // the sites themselves, http
	Secure              // the sites themselves, https
)

// Entrance is a listener and its handler.
type Entrance struct {
	Listener net.Listener
	Door     Door
}

// Proxy brings a device's requests to a handler, of HTTP/1.1 and HTTP/2, in the clear and by TLS.
type Proxy struct {
	options ProxyOptions
	came    *handover.Listener
	room    chan struct{}
}

const (
	maxConnections = 4096
	// helloTime is how long a device may take to say what it wants of a connection.
	helloTime = 30 * time.Second
	// lastMoment is what requests have that are on their way when all ends.
	lastMoment = 300 * time.Millisecond
)

// NewProxy makes a proxy, which does nothing until [Proxy.Run].
func NewProxy(o ProxyOptions) *Proxy {
	return &Proxy{options: o, came: handover.New(), room: make(chan struct{}, maxConnections)}
}

// doorConn is a device's connection, with the door that it came by.
type doorConn struct {
	net.Conn
	proxy bool
	leave func()
}

func (c *doorConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

type proxyKey struct{}

// Run serves until ctx ends, and closes the listeners. It may be called once.
func (p *Proxy) Run(ctx context.Context, entrances ...Entrance) error {
	server := &http.Server{
		Handler:           http.HandlerFunc(p.serve),
		ReadHeaderTimeout: helloTime,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    256 << 10,
		ErrorLog:          log.New(io.Discard, "", 0), // errors of a device are returned to it
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if p.options.ConnContext != nil {
				ctx = p.options.ConnContext(ctx, c)
			}
			d, _ := c.(*doorConn)
			return context.WithValue(ctx, proxyKey{}, d != nil && d.proxy)
		},
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, e := range entrances {
		wg.Go(func() {
			if err := p.accept(ctx, e); err != nil {
				cancel(err)
			}
		})
	}
	wg.Go(func() { _ = server.Serve(p.came) })
	<-ctx.Done()
	for _, e := range entrances {
		e.Listener.Close()
	}
	p.came.Close()
	// Requests that are nearly over may end normally.
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), lastMoment)
	_ = server.Shutdown(last)
	stop()
	server.Close()
	wg.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

func (p *Proxy) accept(ctx context.Context, e Entrance) error {
	pause := time.Duration(0)
	for {
		c, err := e.Listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			var passes net.Error
			//lint:ignore SA1019 what else says that there are no file descriptors for now?
			if !errors.As(err, &passes) || !passes.Temporary() {
				return fmt.Errorf("wait for devices at %s: %w", e.Listener.Addr(), err)
			}
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			continue
		}
		pause = 0
		select {
		case p.room <- struct{}{}:
		default:
			c.Close()
			continue
		}
		var held net.Conn = &doorConn{c, e.Door == AsProxy, sync.OnceFunc(func() { <-p.room })}
		if e.Door == Secure {
			held = tls.Server(held, p.secure(""))
		}
		p.came.Give(held)
	}
}

// secure is what a device that comes for a host agrees on.
func (p *Proxy) secure(host string) *tls.Config {
	c := p.options.TLS.Clone()
	c.NextProtos = []string{"h2", "http/1.1"}
	if get := c.GetCertificate; get != nil && host != "" {
		c.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if hello.ServerName == "" {
				named := *hello
				named.ServerName = host
				hello = &named
			}
			return get(hello)
		}
	}
	return c
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		p.options.Handler.ServeHTTP(w, r)
		return
	}
	if proxy, _ := r.Context().Value(proxyKey{}).(bool); !proxy || r.ProtoMajor != 1 {
		http.Error(w, "eideticker: this is not a proxy", http.StatusMethodNotAllowed)
		return
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil || host == "" {
		http.Error(w, "eideticker: CONNECT names no host and port", http.StatusBadRequest)
		return
	}
	c, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_ = c.SetDeadline(time.Now().Add(helloTime))
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		c.Close()
		return
	}
	p.tunnel(&bufferedConn{c, buffered.Reader}, host)
}

// tunnel finds out what a device wants to speak through a connection that it has asked for: the
// proxy is the site then.
func (p *Proxy) tunnel(c *bufferedConn, host string) {
	first, err := c.r.Peek(1)
	if err != nil {
		c.Close()
		return
	}
	_ = c.SetDeadline(time.Time{})
	if first[0] == 22 { // a record of TLS that is a handshake (RFC 8446, 5.1)
		p.came.Give(tls.Server(c, p.secure(host)))
	} else {
		p.came.Give(c)
	}
}

// bufferedConn first reads the bytes already read from the connection.
type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.r.Read(p) }
