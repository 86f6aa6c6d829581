package session

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/site"
)

// pages serves what a run's browser is to see: test pages of our own, or the green page before any other.
type pages struct {
	host    string     // of this machine, as the browser reaches it
	address string     // where the test begins
	own     bool       // it draws its own green
	link    string     // where the green page's link goes, if not to address
	green   string     // address of the green page
	red     string     // of one that is red; "": none is served
	site    *site.Site // nil: no page of ours is played
	nonce   string
	file    string // the green page where it is one; "": it is served

	serving errgroup.Group
	stop    context.CancelFunc
}

// servePages begins to serve. close ends it.
func servePages(ctx context.Context, t *suite.Test, host string) (*pages, error) {
	p := &pages{host: host, address: t.URL, own: t.Sync.Markers}
	ctx, p.stop = context.WithCancel(ctx)
	var err error
	if first := firstLoad(t.Steps); first != "" && t.Page == "" && (t.URL == "" || t.URL == "about:blank") {
		if p.link, err = Address(first); err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	if t.Page != "" {
		// Times from a navigation begin on a page before it, which is green.
		arrive := t.T0 == controller.Navigation
		if err = p.serveSite(ctx, t.Page, arrive); err == nil && arrive {
			p.own = false
			err = p.serveGreen(ctx)
		}
	} else if !p.own && strings.HasPrefix(p.leadsTo(), "file:") {
		err = p.writeGreen()
	} else if !p.own {
		err = p.serveGreen(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// leadsTo is where the green page's link goes.
func (p *pages) leadsTo() string {
	if p.link != "" {
		return p.link
	}
	return p.address
}

// firstLoad returns the address of the first step that goes to one; "" if none does.
func firstLoad(steps []suite.Step) string {
	for _, s := range steps {
		switch a := s.Action.(type) {
		case suite.Load:
			return a.URL
		case suite.Loop:
			if first := firstLoad(a.Steps); first != "" {
				return first
			}
		}
	}
	return ""
}

func (p *pages) serveSite(ctx context.Context, path string, arrive bool) error {
	name, err := pageAt(path)
	if err != nil {
		return err
	}
	p.site, err = site.New(site.Options{Playlist: []string{name}, Strip: strip.Spec(), Clock: timeline.Monotonic(), MarkCode: true, Arrive: arrive})
	if err != nil {
		return err
	}
	server, err := site.Listen(p.site, net.JoinHostPort(p.host, "0"))
	if err != nil {
		return err
	}
	p.nonce, p.address = p.site.Nonce(), server.URL()
	p.serving.Go(func() error { return server.Run(ctx) })
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
		return "", fmt.Errorf("page %q: the test pages take no query", path)
	}
	return "", fmt.Errorf("no test page is at %q", path)
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

// redPage is loaded behind content that draws no red, where the rig cannot paint on the screen itself.
const (
	redPath = "/red"
	redPage = `<!doctype html>
<meta charset="utf-8">
<title>Eideticker</title>
<style>html { background: #f00 }</style>
`
)

func (p *pages) serveGreen(ctx context.Context) error {
	l, err := net.Listen("tcp", net.JoinHostPort(p.host, "0"))
	if err != nil {
		return fmt.Errorf("serve the green page: %w", err)
	}
	body := fmt.Sprintf(greenPage, html.EscapeString(p.leadsTo()))
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
	p.green = "http://" + l.Addr().String() + "/"
	p.red = "http://" + l.Addr().String() + redPath
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

// writeGreen puts the green page into a file: browsers follow links to files from files alone.
func (p *pages) writeGreen() error {
	f, err := os.CreateTemp("", "eideticker-green-*.html")
	if err != nil {
		return err
	}
	p.file = f.Name()
	_, err = fmt.Fprintf(f, greenPage, html.EscapeString(p.leadsTo()))
	p.green = (&url.URL{Scheme: "file", Path: filepath.ToSlash(f.Name())}).String()
	return errors.Join(err, f.Close())
}

func (p *pages) close() error {
	p.stop()
	err := p.serving.Wait()
	if p.file != "" {
		err = errors.Join(err, os.Remove(p.file))
	}
	return err
}

// Address makes an address of what a user writes: a URL, a file that is there, or a host.
func Address(text string) (string, error) {
	if u, err := url.Parse(text); err == nil {
		switch u.Scheme {
		case "http", "https":
			if u.Host == "" {
				return "", fmt.Errorf("%q names no host", text)
			}
			return u.String(), nil
		case "file":
			return u.String(), nil
		}
	}
	if isFile(text) {
		abs, err := filepath.Abs(text)
		if err != nil {
			return "", err
		}
		return (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs)}).String(), nil
	}
	host, _, _ := strings.Cut(text, "/")
	u, err := url.Parse("https://" + text)
	if err != nil || u.Hostname() == "" || strings.ContainsAny(text, " \t\n\\<>\"") {
		return "", fmt.Errorf("%q is no address, no file and no host", text)
	}
	if name := u.Hostname(); name == "localhost" || net.ParseIP(name) != nil {
		u.Scheme = "http" // nobody has a certificate for these
	} else if !strings.Contains(host, ".") {
		return "", fmt.Errorf("%q is no address, no file and no host", text)
	}
	return u.String(), nil
}
