package siterecord

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// traffic passes the requests of pages on, and drops those of the browser itself.
type traffic struct {
	next http.Handler

	mu      sync.Mutex
	active  int
	last    time.Time // begin or end of a request; zero before the first one
	dropped []Host
}

// browserHosts are hosts of browsers' own services that no page uses. They remain where a browser's
// preferences cannot switch its requests off.
var browserHosts = []string{
	"clients2.google.com", "update.googleapis.com", "edgedl.me.gvt1.com", "optimizationguide-pa.googleapis.com",
	"content-autofill.googleapis.com", "safebrowsing.googleapis.com", "detectportal.firefox.com",
	"firefox.settings.services.mozilla.com", "content-signature-2.cdn.mozilla.net", "push.services.mozilla.com",
	"incoming.telemetry.mozilla.org", "aus5.mozilla.org", "ads.mozilla.org", "merino.services.mozilla.com",
}

// ofBrowser reports if a request is the browser's own. Requests of pages have another
// Sec-Fetch-Site than none (https://www.w3.org/TR/fetch-metadata/). Documents that the user goes to
// have none too.
func ofBrowser(r *http.Request) bool {
	h := r.Header
	if h.Get("Sec-Fetch-Site") == "none" && h.Get("Sec-Fetch-Dest") != "document" {
		return true
	}
	return slices.Contains(browserHosts, hostOf(r))
}

func hostOf(r *http.Request) string {
	host := r.Host
	if r.URL.Host != "" {
		host = r.URL.Host
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(host, ":443"), ":80"))
}

// ServeHTTP implements [http.Handler].
func (t *traffic) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if ofBrowser(r) {
		t.drop(hostOf(r))
		http.Error(w, "eideticker: a request of the browser itself", http.StatusNotFound)
		return
	}
	t.count(1)
	defer t.count(-1)
	t.next.ServeHTTP(w, r)
}

func (t *traffic) count(more int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active, t.last = t.active+more, time.Now()
}

// maxDropped limits the list of hosts.
const maxDropped = 100

func (t *traffic) drop(host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.dropped, func(h Host) bool { return h.Name == host })
	if i >= 0 {
		t.dropped[i].Requests++
	} else if len(t.dropped) < maxDropped {
		t.dropped = append(t.dropped, Host{Name: host, Requests: 1})
	}
}

// quiet reports if there were requests, none is active, and none was for some time.
func (t *traffic) quiet(long time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.active == 0 && !t.last.IsZero() && time.Since(t.last) >= long
}

// begun reports if there were requests.
func (t *traffic) begun() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.last.IsZero()
}

func (t *traffic) background() []Host {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.dropped)
}
