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
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/replay"
	"github.com/eideticker/eideticker/netsim/serve"
	"github.com/eideticker/eideticker/netsim/site"
)

// pages serves what a run's browser is to see: test pages of our own, or the green page before any
// other.
type pages struct {
	listen  listening
	address string // where the test begins
	own     bool   // it draws its own green
	green   string // address of the green page
	red     string // of one that is red; "": none is served
	ports   []int  // at which pages are served
	served  []netip.AddrPort
	site    *site.Site    // nil: no page of ours is played
	server  *serve.Server // of the site, or of the archive
	nonce   string
	file    *greenFile // the green page where it is one; nil: it is served
	archive *archived  // that answers for all sites; nil: they answer themselves

	protocol  suite.Protocol // of the site; "": HTTP/1.1 without TLS
	authority *ownAuthority  // of servers with TLS; nil: there are none
	keys      *os.File       // takes their secrets; nil: nobody does

	serving errgroup.Group
	stop    context.CancelFunc
}

// servePages begins to serve, for a run that is kept in a folder, what a test's archive has (nil:
// it names none) beside the rig's pages. close ends it.
func servePages(ctx context.Context, t *suite.Test, read *replay.Archive, dir string, listen listening) (*pages,
	error) {
	if err := checkEnd(t); err != nil {
		return nil, err
	}
	p := &pages{listen: listen, address: t.URL, own: t.Sync.Markers, protocol: t.Network.Protocol}
	ctx, p.stop = context.WithCancel(ctx)
	removeRunFolders(os.TempDir(), greenPrefix)
	removeRunFolders(os.TempDir(), authorityPrefix)
	err := p.secure(t, dir)
	if err == nil && read != nil {
		err = p.serveArchive(ctx, t, read)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	if t.Page != "" {
		// Times from a navigation begin on a page before it, which is green.
		arrive := t.T0 == controller.Navigation
		if err = p.serveSite(ctx, t, arrive); err == nil {
			p.own = p.site.Playlist()[0].Markers && !arrive
		}
		if err == nil && (!p.own || !t.Sync.Markers) { // the red that the rig shows may be a page of its own, too
			err = p.serveGreen(ctx)
		}
	} else if !p.own && strings.HasPrefix(p.address, "file:") {
		err = p.writeGreen()
	} else if !p.own {
		err = p.serveGreen(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// checkEnd refuses a test that waits for an event which nothing in it makes.
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

// marks are the kinds of events that steps make.
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

// listening opens ports for pages, which browsers reach by a host. What it is asked for is the port
// of a network of the run's own; where others have ports too, it is any that is free.
type listening struct {
	connections func(port string) (l net.Listener, host string, err error)
	// nil: there is no network of the run's own
	packets func(port string) (c net.PacketConn, host string, err error)
}

// Ports of a run's own network.
const (
	pagePort  = "80"
	greenPort = "8000" // another one, so that no connection is there before the page is asked for
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

// note keeps where pages are served.
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
		MarkCode: true, Arrive: arrive})
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
	p.serving.Go(func() error {
		if err := p.server.Run(ctx); err != nil {
			return fmt.Errorf("serve test pages: %w", err)
		}
		return nil
	})
	return nil
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

// greenPage covers the window with a link to where the test goes.
const greenPage = `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<title>Eideticker</title>
<style>
html, body, a { margin: 0; position: fixed; inset: 0; display: block; background: #0f0; outline: 0; -webkit-tap-highlight-color: transparent; user-select: none }
</style>
<body><a href="%s" draggable="false"></a></body>
`

// redPage is loaded behind content that draws no red, where the rig cannot paint on the screen
// itself.
const (
	redPath = "/red"
	redPage = `<!doctype html>
<meta charset="utf-8">
<title>Eideticker</title>
<style>html { background: #f00 }</style>
`
)

func (p *pages) serveGreen(ctx context.Context) error {
	l, host, err := p.listen.connections(greenPort)
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
			_, _ = w.Write([]byte(page)) // a browser that has gone away gets nothing
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

// writeGreen puts the green page into a file.
func (p *pages) writeGreen() (err error) {
	if p.file, err = writeGreenFile(os.TempDir(), p.address); err == nil {
		p.green = p.file.address()
	}
	return err
}

func (p *pages) close() error {
	p.stop()
	err := p.serving.Wait()
	if p.file != nil {
		err = errors.Join(err, p.file.remove())
	}
	return errors.Join(err, p.insecure())
}

const greenPrefix = "eideticker-green-"

// greenFile is the green page in a folder of its own: browsers follow links to files from files
// alone.
type greenFile struct{ *runFolder }

// writeGreenFile puts a page that leads to an address into a new folder in one.
func writeGreenFile(in, address string) (*greenFile, error) {
	folder, err := newRunFolder(in, greenPrefix)
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
	runFolderLock = "owner.lock" // held while the run lives
	// Folders younger than this may not have been locked yet.
	runFolderSettled = time.Minute
)

// runFolder is a folder that a run needs while it lives.
type runFolder struct {
	dir  string
	lock *Lock
}

// newRunFolder makes one whose name begins with a prefix.
func newRunFolder(in, prefix string) (*runFolder, error) {
	dir, err := os.MkdirTemp(in, prefix)
	if err != nil {
		return nil, err
	}
	f := &runFolder{dir: dir}
	if f.lock, err = tryLock(filepath.Join(dir, runFolderLock)); err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
}

func (f *runFolder) remove() error {
	var err error
	if f.lock != nil {
		err = f.lock.Close()
	}
	return errors.Join(err, os.RemoveAll(f.dir))
}

// removeRunFolders removes those with a prefix whose runs were killed.
func removeRunFolders(in, prefix string) {
	dirs, err := filepath.Glob(filepath.Join(in, prefix+"*"))
	if err != nil {
		return // a name of the temporary folder that is no pattern: nothing is lost but a clean-up
	}
	for _, dir := range dirs {
		st, err := os.Lstat(dir)
		if err != nil || time.Since(st.ModTime()) < runFolderSettled || ownFolder(dir) != nil {
			continue
		}
		lock, err := tryLock(filepath.Join(dir, runFolderLock))
		if err != nil {
			continue // its run lives
		}
		_ = (&runFolder{dir, lock}).remove() // nothing that could be done about it
	}
}
