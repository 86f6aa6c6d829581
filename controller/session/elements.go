package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session/locate"
	"github.com/eideticker/eideticker/controller/suite"
)

// checkPoints checks if a test can act on its points on a device.
func checkPoints(t *suite.Test, d device.Description, browser string) error {
	selectors := t.Selectors()
	switch {
	case len(selectors) == 0:
	case navigates(t.Steps):
		return fmt.Errorf("test %s: a selector cannot be used with load steps", t.Name)
	case !onThisMachine(d) || browser == device.Running:
		return fmt.Errorf("device %s: the selector %q needs a browser that this machine starts; use X,Y: %w", d.Name,
			selectors[0], errors.ErrUnsupported)
	case t.Network.Given() && browser == "firefox":
		return fmt.Errorf("test %s: firefox on a test network finds no selector such as %q; use X,Y: %w", t.Name,
			selectors[0], errors.ErrUnsupported)
	}
	if d.Source != device.Virtual || t.Places == suite.Screen {
		return nil
	}
	w := t.Window
	if w == (suite.Size{}) {
		w = suite.Size{Width: localWidth, Height: localHeight}
	}
	return t.Within(w.Width, w.Height)
}

// elements are the elements of a test's selectors.
type elements struct {
	places []locate.Place
	led    string // host and path of their page, if the address led elsewhere; "": it did not
}

// point returns the place of a point's selector, or the point itself.
func (e *elements) point(p suite.Point) suite.Point {
	for _, at := range e.places {
		if at.Selector == p.Selector {
			p = suite.Point{}
			p.X.Value, p.Y.Value = float64(at.X), float64(at.Y)
			break
		}
	}
	return p
}

// findElements replaces the selectors of each variant's test by the places of their elements. A
// browser of its own loads the page for that, and ends before the first run.
func (s *setRun) findElements(ctx context.Context) error {
	s.Variants, s.elements = slices.Clone(s.Variants), make([]elements, len(s.Variants))
	for i, v := range s.Variants {
		t := s.TestOf(i)
		if len(t.Selectors()) == 0 {
			continue
		}
		found, err := s.elementsOf(ctx, t, v)
		if err != nil {
			return fmt.Errorf("test %s: %w", t.Name, err)
		}
		s.elements[i] = found
		s.Variants[i].Test = t.MapPoints(found.point)
	}
	return nil
}

// elementsOf loads a variant's page as a run does, but without a recording.
func (s *setRun) elementsOf(ctx context.Context, t *suite.Test, v Variant) (e elements, err error) {
	own, err := staging.Temp("eideticker-elements")
	if err != nil {
		return e, err
	}
	defer own.Abandon()
	r := &run{journal: newJournal(io.Discard, s.Progress), Options: Options{Test: t, Device: v.Device,
		Browser: v.Browser, BrowserProgram: v.Program, Site: v.Site, sites: &s.sites,
		Dir: own.Dir(), Seed: s.Seed, Program: s.Program,
		Untrusted: s.Untrusted, AllowLoopback: s.AllowLoopback, Progress: s.Progress, inspect: true}}
	p, err := r.prepare(ctx)
	defer func() { err = errors.Join(err, p.Close()) }()
	if err != nil {
		return e, err
	}
	r.phase("looking for the elements of " + t.Name)
	address := p.pages.address // where its scripts run; those of a module do not run in a file
	if _, err := p.stage.Launch(ctx, address); err != nil {
		return e, err
	}
	stage, ok := p.stage.(interface{ launched() *device.Browser })
	if !ok || stage.launched() == nil {
		return e, fmt.Errorf("device %s starts no browser; use X,Y: %w", v.Device.Name(), errors.ErrUnsupported)
	}
	found, err := locate.Find(ctx, stage.launched(), address, t.Selectors())
	if err == nil && !locate.Same(address, found.Address) {
		e.led = locate.Shown(found.Address)
	}
	e.places = found.Places
	return e, err
}
