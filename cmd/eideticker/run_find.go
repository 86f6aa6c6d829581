package main

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/eideticker/eideticker/cmd/eideticker/internal/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/site"
)

// findTest makes a test of what the command line names: a test file, a test or page by its name, or something to load.
func findTest(name string) (*suite.Test, error) {
	if p, err := site.Find(name); err == nil {
		return pageTest(p), nil
	}
	address, err := session.Address(name)
	if err != nil {
		return nil, usagef("there is no test %q: %w; eideticker suite list shows the tests", name, err)
	}
	return urlTest(address), nil
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
