package session

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/site"
)

// PageTest plays one of our own pages.
func PageTest(p site.Page) *suite.Test {
	return &suite.Test{Name: p.Name, About: p.Draws, Page: p.Path, Sync: suite.Sync{Markers: true},
		Timeout: suite.DefaultTimeout}
}

// urlStill is how long a page must be still to be taken for loaded.
const urlStill = 3 * time.Second

// URLTest loads an address and looks until nothing changes any more.
func URLTest(address string) *suite.Test {
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
