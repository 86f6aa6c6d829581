package main

import (
	"errors"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
)

// gestureFlags make gestures on any page.
type gestureFlags struct {
	Hover  []string `placeholder:"SELECTOR|X,Y" sep:"none" help:"With a URL or --site: move the pointer there."`
	Click  []string `placeholder:"SELECTOR|X,Y" sep:"none" help:"With a URL or --site: click there."`
	Type   *string  `placeholder:"TEXT" help:"With a URL or --site: type text."`
	Scroll bool     `help:"With a URL or --site: scroll down."`
	URL    string   `name:"url" placeholder:"URL" help:"Run the test scroll on this address."`
}

// given reports if there is a gesture.
func (g *gestureFlags) given() bool {
	return len(g.Hover)+len(g.Click) > 0 || g.Type != nil || g.Scroll || g.URL != ""
}

// scrolling is the test that also runs on an address.
const scrolling = "scroll"

// gestures returns those of the command line.
func (g *gestureFlags) gestures() (all session.Gestures, err error) {
	all = session.Gestures{Hover: g.Hover, Click: g.Click, Scroll: g.Scroll || g.URL != ""}
	if g.Type != nil {
		if all.Text = *g.Type; all.Text == "" {
			return all, usagef("--type has no text")
		}
	}
	return all, nil
}

// onSite returns a test that plays / of a site, with the gestures.
func (c runCmd) onSite() (*suite.Test, error) {
	t := session.SiteTest(c.Site[0])
	if !c.given() {
		return t, nil
	}
	g, err := c.gestures()
	if err == nil && c.URL != "" {
		err = usagef("--url cannot be used with --site")
	}
	if err != nil {
		return nil, err
	}
	if t, err = g.On(t); err != nil {
		return nil, usageError{err}
	}
	return t, nil
}

// onAddress returns a test that makes the gestures at an address.
func (c runCmd) onAddress(name string) (*suite.Test, error) {
	g, err := c.gestures()
	if err != nil {
		return nil, err
	}
	place := name
	if c.URL != "" {
		if place = c.URL; name != scrolling {
			return nil, usagef("--url runs the test %s on an address, not %s", scrolling, name)
		}
	} else if t, err := c.find(name); err == nil {
		return nil, usagef("--hover, --click, --type and --scroll need a URL; the test %s has its own steps", t.Name)
	} else if none := (*suite.NotFoundError)(nil); !errors.As(err, &none) {
		return nil, err
	}
	address, err := session.Address(place)
	if err != nil {
		return nil, usageError{err}
	}
	t, err := g.Test(address)
	if err != nil {
		return nil, usageError{err}
	}
	if c.URL != "" {
		t.Name = scrolling
	}
	return t, nil
}
