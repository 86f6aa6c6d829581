package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/serve"
)

// CheckSite returns an error if a test of a site has no build, or another test has one. given
// states that the run has a build of a site.
func CheckSite(t *suite.Test, given bool) error {
	switch {
	case t.Site != "" && !given:
		return fmt.Errorf("test %s: it plays a build of a site; give --site DIR, or on a rig a feed with of = \"site\"",
			t.Name)
	case t.Site == "" && given:
		return fmt.Errorf("test %s: it does not play a build of a site; give it site: / in place of page or url",
			t.Name)
	}
	return nil
}

// checkBuildOn checks if a device reaches the build of a site. Others on its network must not.
func checkBuildOn(t *suite.Test, d device.Description) error {
	if t.Site == "" || d.Network == "" || t.Network.Given() {
		return nil
	}
	return fmt.Errorf("test %s: device %s reaches a site on a test network only; add network: to the test: %w", t.Name,
		d.Name, errors.ErrUnsupported)
}

// sites are the builds of a set, each read and packed once. Nil reads them each time.
type sites struct{ read map[string]*serve.Pages }

func (s *sites) open(dir string) (*serve.Pages, error) {
	if s != nil && s.read[dir] != nil {
		return s.read[dir], nil
	}
	files, err := serve.Folder(dir, nil)
	if s != nil && err == nil {
		if s.read == nil {
			s.read = map[string]*serve.Pages{}
		}
		s.read[dir] = files
	}
	return files, err
}

// serveBuild serves the build of a site. Without a test network, other pages of this machine's
// browsers cannot read it.
func (p *pages) serveBuild(ctx context.Context, t *suite.Test, listen *listening) error {
	files, err := listen.sites.open(listen.site)
	if err != nil {
		return buildError{fmt.Errorf("serve the site: %w", err)}
	}
	at, err := url.Parse(t.Site)
	if err != nil {
		return err
	}
	if !files.Has(at.Path) {
		return buildError{fmt.Errorf("the build of the site has no %s", at.Path)}
	}
	p.missing = &missing{text: "the site lacks %s"}
	own := &guard{next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !files.Has(r.URL.Path) {
			p.missing.add(r.URL.Path)
		}
		files.ServeHTTP(w, r)
	})}
	handler := http.Handler(own)
	if t.Network.Given() {
		handler = own.next
	}
	if p.server, err = serve.New(p.options(t.Network, handler)); err != nil {
		return err
	}
	origin, err := p.open(p.server)
	if err != nil {
		return errors.Join(fmt.Errorf("serve the site: %w", err), p.server.Close())
	}
	p.address = origin + t.Site
	if u, err := url.Parse(origin); err == nil {
		own.host = u.Host
	}
	p.serve(ctx, "serve the site")
	return nil
}
