package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/serve"
)

// direct is a page of this machine whose scripts are instrumented without a test network. The rig
// serves it on a port of the loopback.
type direct struct {
	server *localServer // reached in place of itself; nil: the page is a file
	file   string
}

// directly returns the page of a test that is instrumented without a network; nil: it is not. Names
// are those of the hosts file.
func directly(t *suite.Test) *direct {
	if !t.Script.Given() || t.Network.Given() || t.Page != "" || len(loaded(t.Steps)) > 0 {
		return nil
	}
	if u, err := url.Parse(t.URL); err == nil && u.Scheme == "file" {
		return &direct{file: filepath.FromSlash(u.Path)}
	}
	if s := localServerOf(context.Background(), t.URL, hostsFile); s != nil {
		return &direct{server: s}
	}
	return nil
}

// checkDirect returns an error if a device's browser does not reach the rig's port in place of the
// page.
func checkDirect(t *suite.Test, d device.Description) error {
	if directly(t) == nil || d.Source == device.Virtual {
		return nil
	}
	return fmt.Errorf("test %s: device %s: only a virtual display of this machine instruments the scripts of %s "+
		"without a network: %w", t.Name, d.Name, t.URL, errors.ErrUnsupported)
}

// directed returns an error if an untrusted test would reach the files or a server of this machine.
func (r *run) directed() error {
	if d := directly(r.Test); d != nil && r.Untrusted && !r.AllowLoopback {
		return fmt.Errorf("instrument the scripts of %s: %w", r.Test.URL, device.ErrInside)
	}
	return nil
}

// serveDirect serves an instrumented page of this machine. The origin of a server stays. That of a
// file is the rig's port.
func (p *pages) serveDirect(ctx context.Context, t *suite.Test, d *direct) (err error) {
	var handler http.Handler
	if d.server == nil {
		if p.folder, err = os.OpenRoot(filepath.Dir(d.file)); err != nil {
			return fmt.Errorf("serve %s: %w", d.file, err)
		}
		handler = visible(http.FileServerFS(p.folder.FS()))
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
	at.Path = strings.TrimSuffix(at.Path, "index.html") // where the file server would redirect it to
	p.address = at.String()
	return nil
}

// visible answers requests of hidden files, and of folders but the first, as if they were missing.
// So it does for names that other sites give this machine (DNS rebinding).
func visible(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := path.Clean(r.URL.Path)
		host, err := netip.ParseAddrPort(r.Host)
		listed := at != "/" && strings.HasSuffix(r.URL.Path, "/")
		if err != nil || !host.Addr().IsLoopback() || strings.Contains(at, "/.") || listed {
			http.NotFound(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}
