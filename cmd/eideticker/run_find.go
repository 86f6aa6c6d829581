package main

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/eideticker/eideticker/cmd/eideticker/internal/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/site"
)

// test makes a test of what the command line names: a test file, a test by its name, a page of ours, or something to load.
func (c runCmd) test() (*suite.Test, error) {
	t, err := c.find(c.Test)
	var none *suite.NotFoundError
	if !errors.As(err, &none) {
		return t, err
	}
	if p, err := site.Find(c.Test); err == nil {
		return pageTest(p), nil
	}
	address, err := session.Address(c.Test)
	if err == nil {
		return urlTest(address), nil
	}
	if none.Near != "" {
		return nil, usageError{none}
	}
	return nil, usagef("%w, no such file, and no address; eideticker suite list shows the tests", none)
}

// pageTest plays one of our own pages.
func pageTest(p site.Page) *suite.Test {
	return &suite.Test{Name: p.Name, About: p.Draws, Page: p.Path, Sync: suite.Sync{Markers: true}, Timeout: suite.DefaultTimeout}
}

// urlStill is how long a page must be still to be taken for loaded.
const urlStill = 3 * time.Second

// urlTest loads an address and looks until nothing changes any more.
func urlTest(address string) *suite.Test {
	return &suite.Test{
		Name: urlName(address), About: "loads " + address, URL: address,
		Sync: suite.Sync{Still: urlStill}, Timeout: suite.DefaultTimeout,
	}
}

// urlName makes a name for files of an address: its host, or its file.
func urlName(address string) string {
	rest := address
	if _, after, ok := strings.Cut(address, "://"); ok {
		rest = after
	}
	if strings.HasPrefix(address, "file:") {
		rest = strings.TrimSuffix(filepath.Base(rest), filepath.Ext(rest))
	}
	host, _, _ := strings.Cut(rest, "/")
	name := strings.Trim(strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '-' {
			return c
		}
		return '-'
	}, host), ".-")
	if name == "" {
		return "page"
	}
	return name[:min(len(name), 60)]
}
