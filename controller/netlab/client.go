// Package netlab offers the test network to single programs and to clients of this machine.
//
// A [Client] is the side of the device. [Client.Run] serves it, and [Client.Record] records its
// sites. [Scripts] instruments served pages. [Measure] compares a link with its request.
package netlab

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/replay"
	"github.com/eideticker/eideticker/netsim/serve"
)

// Client is the side of the device: a program, or any client of this machine. Close it.
type Client struct {
	Network  *testnet.Network // nil: this machine's
	Stream   *link.Stream     // of this machine's ports; nil: they have no link
	Program  []string         // and its arguments; none: any client
	Env      []string         // of the program; nil: this process's
	In       io.Reader
	Out, Err io.Writer
}

// Close closes the link.
func (c *Client) Close() error {
	switch {
	case c.Network != nil:
		return c.Network.Close()
	case c.Stream != nil:
		return c.Stream.Close()
	}
	return nil
}

// Listen opens a TCP port for the client, at the far end of its link.
func (c *Client) Listen(port string) (net.Listener, error) {
	if c.Network != nil {
		return c.Network.Listen(port)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil || c.Stream == nil {
		return l, err
	}
	return c.Stream.Listen(l), nil
}

// Counts returns the packets of the link.
func (c *Client) Counts() (down, up link.Counts) {
	if c.Network != nil {
		return c.Network.Link.Counts()
	}
	return c.Stream.Counts()
}

// ListenWeb lets a server listen at the ports of HTTP and HTTPS of the network.
func (c *Client) ListenWeb(s *serve.Server) error {
	for port, use := range map[string]func(net.Listener){"80": s.HTTP, "443": s.HTTPS} {
		l, err := c.Network.Listen(port)
		if err != nil {
			return err
		}
		use(l)
	}
	return nil
}

// Start starts the program in its network. The end of ctx interrupts it. It is killed after grace,
// if that is positive.
func (c *Client) Start(ctx context.Context, grace time.Duration) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, c.Program[0], c.Program[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env, cmd.WaitDelay = c.In, c.Out, c.Err, c.Env, grace
	// The terminal sends Ctrl-C to the program too.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if c.Network != nil {
		return cmd, c.Network.Link.Device.Start(cmd)
	}
	return cmd, cmd.Start()
}

// wait runs the program. Without one it waits for the end of ctx.
func (c *Client) wait(ctx context.Context) error {
	if len(c.Program) == 0 {
		<-ctx.Done()
		return nil
	}
	cmd, err := c.Start(ctx, 10*time.Second)
	if err != nil {
		return err
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		return nil // it was interrupted
	}
	return err
}

// Run runs servers until the program, ctx or a server ends.
func (c *Client) Run(ctx context.Context, servers ...func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, len(servers))
	for _, run := range servers {
		go func() {
			defer stop() // without the server, the program may wait for ever
			ended <- run(ctx)
		}()
	}
	failed := c.wait(ctx)
	stop()
	for range servers {
		failed = errors.Join(failed, <-ended)
	}
	return failed
}

// RecordOptions describe a recording of sites.
type RecordOptions struct {
	Program   string // that writes the archive
	Authority *serve.Authority
	Insecure  bool // also record sites with untrusted certificates
	// Dial connects to sites; nil: the recorder's own.
	Dial      func(ctx context.Context, network, address string) (net.Conn, error)
	Entrances []replay.Entrance
}

// Record records the requests of the client until its end. It does not close the file. Recorded.Err
// is an error of the file. The result is nil if the file could not be begun.
func (c *Client) Record(ctx context.Context, to replay.Sink, o RecordOptions) (*replay.Recorded, error) {
	limits := replay.DefaultLimits()
	w, err := replay.NewWriter(to, replay.Info{Writer: o.Program, Created: time.Now()}, limits)
	if err != nil {
		return nil, err
	}
	recorder := replay.NewRecorder(replay.RecorderOptions{To: w, Limits: limits, Insecure: o.Insecure, Dial: o.Dial})
	proxy := replay.NewProxy(replay.ProxyOptions{Handler: recorder, ConnContext: recorder.ConnContext,
		TLS: &tls.Config{GetCertificate: o.Authority.CertificateFor}})
	failed := c.Run(ctx, func(ctx context.Context) error { return proxy.Run(ctx, o.Entrances...) },
		func(ctx context.Context) error {
			every := time.NewTicker(time.Second)
			defer every.Stop()
			for {
				select {
				case <-every.C:
					_ = w.Sync() // Close returns its error
				case <-ctx.Done():
					return nil
				}
			}
		})
	recorder.Close()
	got := recorder.Recorded()
	if err := w.Close(); err != nil && got.Err == nil {
		got.Err = err
	}
	return &got, failed
}

// Trusting returns an environment in which programs trust only an authority.
func Trusting(a *serve.Authority) []string {
	env := os.Environ()
	file, err := filepath.Abs(a.File())
	if err != nil {
		file = a.File()
	}
	for _, name := range []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
		"EIDETICKER_AUTHORITY"} {
		env = append(env, name+"="+file)
	}
	return append(env, "EIDETICKER_AUTHORITY_SPKI="+a.KeyHash())
}

// UseProxy adds a proxy to the program's environment.
func (c *Client) UseProxy(address net.Addr) {
	for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"} {
		c.Env = append(c.Env, name+"=http://"+address.String())
	}
	c.Env = append(c.Env, "no_proxy=", "NO_PROXY=")
}

// Forward connects the clients of a listener with an address until end is called.
func Forward(ctx context.Context, l net.Listener, address string) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		testnet.Pass(ctx, l, func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		})
	})
	return func() { cancel(); wg.Wait() }
}

// Named returns a function that reports whether a host has one of the names. "*.a.test" is each
// host below a.test. Without names it is nil.
func Named(names []string) func(host string) bool {
	if names == nil {
		return nil
	}
	return func(host string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			name = strings.ToLower(name)
			if below, wild := strings.CutPrefix(name, "*"); wild {
				return strings.HasSuffix(host, below) && len(host) > len(below)
			}
			return host == name
		})
	}
}
