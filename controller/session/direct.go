package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/serve"
	"github.com/eideticker/eideticker/pattern"
)

// direct is a page of this machine whose scripts are instrumented without a test network, or a
// file with modules. The rig serves it on a port of the loopback.
type direct struct {
	server *localServer // reached in place of itself; nil: the page is a file
	file   string
}

// directPage returns the page of a test that the rig serves without a network; nil: it does not.
// Names are those of the hosts file.
func directPage(t *suite.Test) *direct {
	if t.Network.Given() || t.Served() || len(loaded(t.Steps)) > 0 {
		return nil
	}
	if u, err := url.Parse(t.URL); err == nil && u.Scheme == "file" {
		if file := filepath.FromSlash(u.Path); t.Script.Given() || hasModules(file) {
			return &direct{file: file}
		}
	}
	if !t.Script.Given() {
		return nil
	}
	if s := localServerOf(context.Background(), t.URL, hostsFile); s != nil {
		return &direct{server: s}
	}
	return nil
}

var module = pattern.New(`(?i)<script\b[^>]*\btype\s*=\s*["']?module\b`)

// hasModules reports whether a page has scripts that are modules. Browsers run them from servers,
// but not from files.
func hasModules(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false // the browser reports it
	}
	defer f.Close()
	const most = 1 << 20
	text, _ := io.ReadAll(io.LimitReader(f, most))
	return module.Match(text)
}

// checkDirect returns an error if a device's browser does not reach the rig's port in place of the
// page.
func checkDirect(t *suite.Test, d device.Description) error {
	if !t.Script.Given() || directPage(t) == nil || d.Source == device.Virtual {
		return nil
	}
	return fmt.Errorf("test %s: device %s: only a virtual display of this machine instruments the scripts of %s "+
		"without a network: %w", t.Name, d.Name, t.URL, errors.ErrUnsupported)
}

// checkUntrusted returns an error if an untrusted test would reach the files or a server of this
// machine.
func (r *run) checkUntrusted() error {
	switch {
	case !r.Untrusted || r.AllowLoopback:
	case r.Test.Site != "":
		return fmt.Errorf("serve the site to an untrusted test: %w", device.ErrInside)
	case directPage(r.Test) != nil:
		return fmt.Errorf("serve %s: %w", r.Test.URL, device.ErrInside)
	}
	return nil
}

// serveDirect serves an instrumented page of this machine. The origin of a server stays. That of a
// file is the rig's port.
func (p *pages) serveDirect(ctx context.Context, t *suite.Test, d *direct) (err error) {
	var handler http.Handler
	var own *guard
	if d.server == nil {
		if p.folder, err = os.OpenRoot(filepath.Dir(d.file)); err != nil {
			return fmt.Errorf("serve %s: %w", d.file, err)
		}
		p.missing = &missing{text: "the folder of the page lacks %s; files of other folders are not served"}
		own = &guard{next: visible(p.folder.FS(), p.missing)}
		handler = own
	} else if err := d.server.answers(ctx, t); err != nil {
		return err
	} else {
		handler = d.server.proxy()
	}
	if p.server, err = serve.New(p.options(t.Network, handler)); err != nil {
		return err
	}
	l, host, err := p.listen.connections("")
	if err != nil {
		return errors.Join(fmt.Errorf("serve %s: %w", t.URL, err), p.server.Close())
	}
	if own != nil {
		own.host = host
	}
	p.note(l.Addr())
	p.server.HTTP(l)
	p.serve(ctx, "serve "+t.URL)
	if d.server != nil {
		p.instead = &device.Instead{Of: net.JoinHostPort(d.server.name, d.server.port), At: host}
		return nil
	}
	at := url.URL{Scheme: "http", Host: host, Path: "/" + filepath.Base(d.file)}
	if u, err := url.Parse(t.URL); err == nil {
		at.RawQuery, at.Fragment = u.RawQuery, u.Fragment
	}
	p.address = at.String()
	return nil
}

// missing are paths that a page asked for and its folder does not have. It is safe for use from
// several goroutines.
type missing struct {
	text  string // of the note, with %s
	mu    sync.Mutex
	paths []string
}

const maxMissing = 20

func (m *missing) add(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	path = cut(path, 200)
	if path != "/favicon.ico" && len(m.paths) < maxMissing && !slices.Contains(m.paths, path) {
		m.paths = append(m.paths, path)
	}
}

// note returns a note of the run; "": nothing is missing.
func (m *missing) note() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.paths) == 0 {
		return ""
	}
	return fmt.Sprintf(m.text, wording.Few(m.paths))
}

// guard passes requests that name its host. To requests of other pages, also by a name that they
// give this machine (DNS rebinding), all is missing. The green page at another port navigates to
// it.
type guard struct {
	host string // with its port
	next http.Handler
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from := r.Header.Get("Sec-Fetch-Site")
	navigates := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	if r.Host != g.host || from == "cross-site" || from == "same-site" && !navigates {
		http.NotFound(w, r)
		return
	}
	g.next.ServeHTTP(w, r)
}

// visible serves a folder without its hidden files.
func visible(folder fs.FS, gone *missing) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := path.Clean("/" + r.URL.Path)
		if strings.Contains(at, "/.") {
			http.NotFound(w, r)
			return
		}
		name := strings.TrimPrefix(at, "/")
		if strings.HasSuffix(r.URL.Path, "/") {
			name = path.Join(name, "index.html")
		}
		st, err := fs.Stat(folder, name)
		if err != nil || !st.Mode().IsRegular() {
			gone.add(at)
			http.NotFound(w, r)
			return
		}
		f, err := folder.Open(name)
		content, seeks := f.(io.ReadSeeker)
		if err != nil || !seeks {
			http.Error(w, "cannot be read", http.StatusInternalServerError)
			return
		}
		defer f.Close() // was only read
		http.ServeContent(w, r, name, st.ModTime(), content)
	})
}
