package session

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/replay"
	"github.com/eideticker/eideticker/netsim/serve"
	"github.com/eideticker/eideticker/netsim/site"
)

// pages serves test pages, or the green page before another page.
type pages struct {
	listen  listening
	address string // of the first page of the test
	own     bool   // the page draws its own green
	green   string // address of the green page
	// greenPort is its port on a network of the run's own
	greenPort string
	red       string // address of a red page; "": none
	ports     []int  // of all servers
	served    []netip.AddrPort
	site      *site.Site    // nil: no built-in page is played
	server    *serve.Server // of the site, or of the archive
	nonce     string
	file      *greenFile // the green page as a file; nil: it is served
	archive   *archived  // answers for all sites; nil: no archive
	script    *scripting // of all pages; nil: they are served as they are
	// instead is the port of the rig in place of the test's server; nil: the browser reaches that
	instead *device.Instead
	folder  *os.Root // of a page that is a file; nil: it is not, or the browser reads it
	missing *missing // in the folder, or in the build of a site

	protocol  suite.Protocol // of the site; "": HTTP/1.1 without TLS
	authority *ownAuthority  // of servers with TLS; nil: none
	keys      *os.File       // receives their secrets; nil: no file

	serving errgroup.Group
	stop    context.CancelFunc
}

// servePages serves the pages of a test, and its archive or the server of this machine; nil: none.
// Files for the run go to dir. The owner calls close.
func servePages(ctx context.Context, t *suite.Test, read *replay.Archive, local *localServer, dir string,
	listen listening) (*pages, error) {
	if err := checkEnd(t); err != nil {
		return nil, err
	}
	p := &pages{listen: listen, address: t.URL, own: t.Sync.Markers, protocol: t.Network.Protocol, greenPort: greenPort}
	if u, err := url.Parse(t.URL); err == nil && needsServer(t) && portOf(u) == greenPort { // that is the server's
		p.greenPort = otherGreenPort
	}
	ctx, p.stop = context.WithCancel(ctx)
	removeTempFolders(os.TempDir(), greenPrefix)
	removeTempFolders(os.TempDir(), authorityPrefix)
	err := p.secure(t, dir)
	if err == nil {
		err = p.instrumentScripts(ctx, t, dir)
	}
	if err == nil && read != nil {
		err = p.serveArchive(ctx, t, read)
	}
	if err == nil && local != nil && !local.secure {
		err = p.serveLive(ctx, t, local)
	}
	if d := directPage(t); err == nil && d != nil {
		err = p.serveDirect(ctx, t, d)
	}
	if err == nil && t.Site != "" {
		err = p.serveBuild(ctx, t, &listen)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	if t.Page != "" {
		// Times from a navigation begin on a green page before it.
		arrive := t.T0 == controller.Navigation
		if err = p.serveSite(ctx, t, arrive); err == nil {
			p.own = p.site.Playlist()[0].Markers && !arrive
		}
		if err == nil && (!p.own || !t.Sync.Markers) { // the red may be a page of the rig too
			err = p.serveGreen(ctx)
		}
	} else if !p.own && strings.HasPrefix(p.address, "file:") {
		if p.file, err = writeGreenFile(os.TempDir(), p.address); err == nil {
			p.green = p.file.address()
		}
	} else if !p.own {
		err = p.serveGreen(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// checkEnd rejects a test that ends with an event which nothing in it emits.
func checkEnd(t *suite.Test) error {
	if t.Sync.Event == "" {
		return nil
	}
	there := append(marks(t.Steps), controller.Navigation, controller.Launching, controller.Asked, controller.Answered,
		controller.Began)
	if t.Page != "" {
		there = append(there, site.EventKinds()...)
	}
	if slices.Contains(there, t.Sync.Event) {
		return nil
	}
	slices.Sort(there)
	return fmt.Errorf("end: no step makes the event %q; use a mark step, or one of %s",
		t.Sync.Event, strings.Join(slices.Compact(there), ", "))
}

// marks returns the kinds of events that steps emit.
func marks(steps []suite.Step) (kinds []string) {
	for _, s := range steps {
		switch a := s.Action.(type) {
		case suite.Mark:
			kinds = append(kinds, a.Kind)
		case suite.Loop:
			kinds = append(kinds, marks(a.Steps)...)
		}
	}
	return kinds
}

// listening opens ports for pages. It returns their host for browsers. A network of the run's own
// has the requested port. This machine has any free one.
type listening struct {
	plan        *planned // of the scripts; nil: all functions are measured
	site        string   // folder of the build of a site; "": none
	sites       *sites   // of the set
	connections func(port string) (l net.Listener, host string, err error)
	// nil without a network of the run's own
	packets func(port string) (c net.PacketConn, host string, err error)
	// beside opens a port whose packets use nothing of the network; nil: as connections
	beside func(port uint16) (l net.Listener, host string, err error)
	// nil without a network of the run's own
	packetsBeside func(port uint16) (net.PacketConn, error)
}

// Ports of a run's own network.
const (
	pagePort  = "80"
	greenPort = "8000" // another one, so that the test page has no open connection
	// otherGreenPort is for tests of a server at greenPort
	otherGreenPort = "8001"
)

// onHost listens at an address of this machine.
func onHost(address string) listening {
	return listening{connections: func(string) (net.Listener, string, error) {
		l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			return nil, "", err
		}
		return l, l.Addr().String(), nil
	}}
}

// note adds the address of a server.
func (p *pages) note(address net.Addr) {
	var at netip.AddrPort
	if a, ok := address.(interface{ AddrPort() netip.AddrPort }); ok {
		at = netip.AddrPortFrom(a.AddrPort().Addr().Unmap(), a.AddrPort().Port())
	}
	p.ports, p.served = append(p.ports, int(at.Port())), append(p.served, at)
}

func (p *pages) serveSite(ctx context.Context, t *suite.Test, arrive bool) error {
	name, err := pageAt(t.Page)
	if err != nil {
		return err
	}
	p.site, err = site.New(site.Options{Playlist: []string{name}, Strip: strip.Spec(), Clock: timeline.Monotonic(),
		MarkCode: true, Arrive: arrive, InputEnds: true})
	if err != nil {
		return err
	}
	if p.server, err = serve.New(p.options(t.Network, p.site)); err != nil {
		return err
	}
	origin, err := p.open(p.server)
	if err != nil {
		return errors.Join(fmt.Errorf("serve test pages: %w", err), p.server.Close())
	}
	p.nonce, p.address = p.site.Nonce(), origin+p.site.Start()
	p.serve(ctx, "serve test pages")
	return nil
}

// serve runs the server until ctx ends. close joins it.
func (p *pages) serve(ctx context.Context, what string) {
	p.serving.Go(func() error {
		if err := p.server.Run(ctx); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	})
}

// pageAt returns the name of the test page at a path.
func pageAt(path string) (string, error) {
	for _, p := range site.Pages() {
		if p.Path == path {
			return p.Name, nil
		}
	}
	if strings.Contains(path, "?") {
		return "", fmt.Errorf("page %q: test pages take no query", path)
	}
	return "", fmt.Errorf("unknown test page %q", path)
}

// greenPage covers the window with a link to the test's page.
const greenPage = `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<title>Eideticker</title>
<style>
html, body, a { margin: 0; position: fixed; inset: 0; display: block; background: #0f0; outline: 0;
	-webkit-tap-highlight-color: transparent; user-select: none }
</style>
<body><a href="%s" draggable="false"></a></body>
`

// redPage follows content without its own red, on screens that the rig cannot paint on.
const (
	redPath = "/red"
	redPage = `<!doctype html>
<meta charset="utf-8">
<title>Eideticker</title>
<style>html { background: #f00 }</style>
`
)

func (p *pages) serveGreen(ctx context.Context) error {
	l, host, err := p.listen.connections(p.greenPort)
	if err != nil {
		return fmt.Errorf("serve the green page: %w", err)
	}
	body := fmt.Sprintf(greenPage, html.EscapeString(p.address))
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			page := body
			switch r.URL.Path {
			case "/":
			case redPath:
				page = redPage
			default:
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Cache-Control", "no-store")
			_, _ = w.Write([]byte(page)) // the browser may have gone
		}),
	}
	p.green = "http://" + host + "/"
	p.note(l.Addr())
	p.red = "http://" + host + redPath
	p.serving.Go(func() error {
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }() // ends with Close
		select {
		case err := <-served:
			return fmt.Errorf("serve the green page: %w", err)
		case <-ctx.Done():
		}
		err := server.Close()
		<-served
		return err
	})
	return nil
}

func (p *pages) close() error {
	p.stop()
	err := p.serving.Wait()
	if p.file != nil {
		err = errors.Join(err, p.file.remove())
	}
	if p.folder != nil {
		err = errors.Join(err, p.folder.Close())
	}
	return errors.Join(err, p.script.close(), p.insecure())
}

const greenPrefix = "eideticker-green-"

// greenFile is the green page in its own folder. Browsers only follow links to files from files.
type greenFile struct{ *tempFolder }

// writeGreenFile writes a green page with a link to an address into a new folder.
func writeGreenFile(in, address string) (*greenFile, error) {
	folder, err := newTempFolder(in, greenPrefix)
	if err != nil {
		return nil, fmt.Errorf("write the green page: %w", err)
	}
	g := &greenFile{folder}
	if err := os.WriteFile(g.path(), fmt.Appendf(nil, greenPage, html.EscapeString(address)), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write the green page: %w", err), g.remove())
	}
	return g, nil
}

func (g *greenFile) path() string { return filepath.Join(g.dir, "green.html") }

func (g *greenFile) address() string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(g.path())}).String()
}

const (
	tempFolderLock = "owner.lock" // held by the process of the run
	// Younger folders may not have a lock yet.
	tempFolderSettled = time.Minute
)

// tempFolder is a folder that exists as long as its run.
type tempFolder struct {
	dir  string
	lock *Lock
}

// newTempFolder makes a folder whose name begins with a prefix.
func newTempFolder(in, prefix string) (*tempFolder, error) {
	dir, err := os.MkdirTemp(in, prefix)
	if err != nil {
		return nil, err
	}
	f := &tempFolder{dir: dir}
	if f.lock, err = tryLock(filepath.Join(dir, tempFolderLock)); err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
}

func (f *tempFolder) remove() error {
	var err error
	if f.lock != nil {
		err = f.lock.Close()
	}
	return errors.Join(err, os.RemoveAll(f.dir))
}

// removeTempFolders removes those of killed runs.
func removeTempFolders(in, prefix string) {
	dirs, err := filepath.Glob(filepath.Join(in, prefix+"*"))
	if err != nil {
		return // the temporary folder is not a pattern: only a clean-up is lost
	}
	for _, dir := range dirs {
		st, err := os.Lstat(dir)
		if err != nil || time.Since(st.ModTime()) < tempFolderSettled || ownFolder(dir) != nil {
			continue
		}
		lock, err := tryLock(filepath.Join(dir, tempFolderLock))
		if err != nil {
			continue // its run is running
		}
		_ = (&tempFolder{dir, lock}).remove() // the next run tries again
	}
}
