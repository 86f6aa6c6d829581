package siterecord

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/replay"
	"github.com/eideticker/eideticker/netsim/serve"
)

// Options describe one recording.
type Options struct {
	URL     string // http or https
	Path    string // of the archive; an existing file is replaced at the end
	Browser string // "": the first that is installed
	// Executable is the browser's file; "": the installed one.
	Executable string
	Program    string // name and version, for the archive
	// Insecure also records sites with an untrusted certificate.
	Insecure bool
	// Untrusted keeps the browser from the files of this machine.
	Untrusted bool
	// Conditions are those of the link in a test network. A proxy has none.
	Conditions link.Conditions
	Seed       uint64
	// InNetwork refuses to record by a proxy. An archive that a test network replays needs a site by
	// name, at the usual ports.
	InNetwork bool
	Limit     time.Duration // of the wait for stillness; 0: one minute
	// Roots and Dial are those of [replay.RecorderOptions]. Without Dial, nothing of this machine is
	// reached but the page itself.
	Roots *x509.CertPool
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
}

// Recorded is the result of a recording.
type Recorded struct {
	replay.Recorded
	Page
	Hosts   []Host   // of the archive, the page's first
	Dropped []Host   // requests of the browser itself, which were not passed on
	Doubts  []string // requests that a replay may not answer as the site did
	Moving  bool     // screen or network were not still within the limit
	Proxy   bool     // recorded by a proxy, without a test network
}

// Host counts the requests of a host.
type Host struct {
	Name     string `json:"host"`
	Requests int    `json:"requests"`
	Bytes    int64  `json:"bytes"`
}

// Record records a site. The archive is left only if the page itself is in it.
func Record(ctx context.Context, o Options) (*Recorded, error) {
	page, err := parse(o.URL)
	if err != nil {
		return nil, err
	}
	if err := o.check(page); err != nil {
		return nil, err
	}
	if st, err := os.Lstat(o.Path); err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file and is not replaced; choose another name", o.Path)
	}
	f, err := os.CreateTemp(filepath.Dir(o.Path), tempPrefix(o.Path)+"*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", o.Path, staging.WithoutPath(err))
	}
	got, err := record(ctx, o, page, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = got.examine(f.Name(), page)
	}
	if err == nil {
		err = os.Rename(f.Name(), o.Path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error counts
		return got, err
	}
	return got, nil
}

// tempPrefix begins the names of unfinished archives.
func tempPrefix(path string) string { return "." + filepath.Base(path) + "." }

// hostsFile has names that browsers do not ask the test network for.
const hostsFile = "/etc/hosts"

// check rejects addresses that a test network does not serve.
func (o *Options) check(page *url.URL) error {
	if !o.InNetwork {
		return nil
	}
	if !named(page) {
		return fmt.Errorf("record %s: a test network needs a site by name at port 80 or 443", page)
	}
	if at := inHosts(hostsFile, page.Hostname()); at != "" {
		return fmt.Errorf("record %s: %s is %s in %s, so the browser asks no test network; remove it there", page,
			page.Hostname(), at, hostsFile)
	}
	return nil
}

// named reports if a test network can serve a site: by its name, at the usual port.
func named(page *url.URL) bool {
	name := page.Hostname()
	return page.Port() == "" && net.ParseIP(name) == nil && name != "localhost" &&
		!strings.HasSuffix(name, ".localhost")
}

// inHosts returns the address of a name in a hosts file; "": none.
func inHosts(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "" // then it has no names
	}
	same := func(n string) bool { return strings.EqualFold(n, name) }
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) > 1 && slices.ContainsFunc(fields[1:], same) {
			return fields[0]
		}
	}
	return ""
}

// record records into a file until the browser is done.
func record(ctx context.Context, o Options, page *url.URL, f *os.File) (*Recorded, error) {
	own, err := staging.Temp("eideticker-site")
	if err != nil {
		return nil, err
	}
	defer own.Abandon()
	dir := own.Dir()
	authority, err := serve.OpenAuthority(filepath.Join(dir, "authority"))
	if err != nil {
		return nil, err
	}
	w, err := replay.NewWriter(f, replay.Info{Writer: o.Program, Created: time.Now()}, replay.DefaultLimits())
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", o.Path, staging.WithoutPath(err))
	}
	way := wayTo(ctx, page)
	if o.Dial == nil {
		o.Dial = way.dial
	}
	recorder := replay.NewRecorder(replay.RecorderOptions{To: w, Limits: replay.DefaultLimits(), Insecure: o.Insecure,
		Roots: o.Roots, Dial: o.Dial})
	b := &browsing{options: o, page: page, dir: dir, way: way,
		trust: &device.Authority{File: authority.File(), KeyHash: authority.KeyHash()}}
	b.traffic.next = recorder
	failed := b.serve(ctx, recorder, authority)
	recorder.Close()
	got := &Recorded{Recorded: recorder.Recorded(), Dropped: b.traffic.background(), Moving: b.moving,
		Proxy: b.network == nil}
	if err := errors.Join(w.Close(), got.Err); err != nil && failed == nil {
		failed = fmt.Errorf("write %s: %w", o.Path, staging.WithoutPath(err))
	}
	return got, failed
}

// serve runs the recorder while the browser loads the page.
func (b *browsing) serve(ctx context.Context, recorder *replay.Recorder, a *serve.Authority) (err error) {
	doors, err := b.open()
	if err != nil {
		return err
	}
	defer func() {
		if b.network != nil {
			err = errors.Join(err, b.network.Close())
		}
	}()
	proxy := replay.NewProxy(replay.ProxyOptions{Handler: &b.traffic, ConnContext: recorder.ConnContext,
		TLS: &tls.Config{GetCertificate: a.CertificateFor}})
	ctx, stop := context.WithCancelCause(ctx)
	var serving sync.WaitGroup
	var served error
	serving.Go(func() {
		if served = proxy.Run(ctx, doors...); served != nil {
			stop(served)
		}
	})
	err = b.load(ctx)
	stop(context.Canceled)
	serving.Wait()
	return errors.Join(err, served)
}

// open opens the entrances of the recorder: in a test network, else as a proxy.
func (b *browsing) open() ([]replay.Entrance, error) {
	if named(b.page) && inHosts(hostsFile, b.page.Hostname()) == "" {
		doors, err := b.openNetwork()
		if no := (*link.PrivilegeError)(nil); b.options.InNetwork || !errors.As(err, &no) {
			return doors, err
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen as a proxy: %w", err)
	}
	b.way.without(l.Addr())
	b.proxy = l.Addr().String()
	return []replay.Entrance{{Listener: l, Door: replay.AsProxy}}, nil
}

func (b *browsing) openNetwork() (doors []replay.Entrance, err error) {
	b.network, err = testnet.Open(testnet.Options{Conditions: b.options.Conditions, Seed: b.options.Seed,
		Names: []string{"*"}})
	if err != nil {
		return nil, err
	}
	for _, door := range []struct {
		port string
		replay.Door
	}{{"80", replay.Plain}, {"443", replay.Secure}} {
		l, err := b.network.Listen(door.port)
		if err != nil {
			return nil, errors.Join(err, b.network.Close())
		}
		doors = append(doors, replay.Entrance{Listener: l, Door: door.Door})
	}
	return doors, nil
}
