package siterecord

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/netsim/replay"
)

// Page is the page itself in an archive.
type Page struct {
	Address string   // after redirects
	Moves   []string // the addresses of its redirects, if any
}

// maxMoves limits redirects, as browsers do.
const maxMoves = 20

// errNotCaught is the error of an archive without the page.
var errNotCaught = errors.New("the page itself was not recorded")

// find follows a page through its redirects to a response that can be replayed.
func find(a *replay.Archive, page *url.URL) (p Page, err error) {
	for at := page; len(p.Moves) <= maxMoves; {
		e := exchangeOf(a, at)
		if e == nil && at.Scheme == "http" { // browsers go to known sites by https at once
			secure := *at
			secure.Scheme = "https"
			if e = exchangeOf(a, &secure); e != nil {
				at = &secure
				p.Moves = append(p.Moves, at.String())
			}
		}
		if e == nil {
			return p, fmt.Errorf("%w: the browser did not request %s", errNotCaught, at)
		}
		if ok, why := e.Replayable(); !ok {
			return p, fmt.Errorf("%w: %s", errNotCaught, why)
		}
		to := e.ResponseHeader.Get("Location")
		switch {
		case e.Status >= http.StatusBadRequest:
			return p, fmt.Errorf("%w: %s answers %d %s", errNotCaught, at, e.Status, http.StatusText(e.Status))
		case e.Status < 300 || to == "":
			p.Address = at.String()
			return p, nil
		}
		next, err := at.Parse(to)
		if err != nil {
			return p, fmt.Errorf("%w: %s redirects to %.200q", errNotCaught, at, to)
		}
		if at, err = parse(next.String()); err != nil {
			return p, fmt.Errorf("%w: %w", errNotCaught, err)
		}
		p.Moves = append(p.Moves, at.String())
	}
	return p, fmt.Errorf("%w: %s redirects more than %d times", errNotCaught, page, maxMoves)
}

// exchangeOf returns the last of the most likely exchanges of a page; nil: none.
func exchangeOf(a *replay.Archive, page *url.URL) (found *replay.Exchange) {
	want := page.String()
	for _, e := range a.Exchanges {
		if e.Method != http.MethodGet {
			continue
		}
		if at, err := parse(e.URL); err != nil || at.String() != want {
			continue
		}
		if found == nil || likely(e) >= likely(found) {
			found = e
		}
	}
	return found
}

// likely ranks exchanges of one address. Scripts may have fetched it too. Requests of documents say
// so, except to sites without TLS, where they accept pages. Whole exchanges are better than others.
func likely(e *replay.Exchange) (rank int) {
	if whole, _ := e.Replayable(); whole {
		rank++
	}
	switch {
	case e.Header.Get("Sec-Fetch-Dest") == "document":
		rank += 4
	case strings.Contains(e.Header.Get("Accept"), "text/html"):
		rank += 2
	}
	return rank
}

// examine reads an archive back. It returns an error if the page is not in it.
func (r *Recorded) examine(path string, page *url.URL) error {
	a, err := replay.Open(path, replay.DefaultLimits())
	if err != nil {
		return err
	}
	if r.Page, err = find(a, page); err != nil {
		return fmt.Errorf("record %s: %w", page, err)
	}
	r.Hosts, r.Doubts = hosts(a), doubts(a)
	return nil
}

// hosts counts exchanges by host, in the order of their first requests.
func hosts(a *replay.Archive) (all []Host) {
	at := map[string]int{}
	for _, e := range a.Exchanges {
		u, err := url.Parse(e.URL)
		if err != nil {
			continue
		}
		i, ok := at[u.Host]
		if !ok {
			i = len(all)
			at[u.Host], all = i, append(all, Host{Name: u.Host})
		}
		all[i].Requests++
		all[i].Bytes += e.ResponseBody.Size
	}
	return all
}

// doubts returns sentences about requests that a replay may not answer as the site did.
func doubts(a *replay.Archive) (all []string) {
	for _, e := range a.Exchanges {
		text := ""
		switch {
		case e.Status == http.StatusSwitchingProtocols:
			text = "websocket, which is not replayed: " + e.URL
		case e.Header.Get("Service-Worker") == "script":
			text = "service worker, whose later requests may be missing: " + e.URL
		case !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, e.Method):
			text = e.Method + ", whose answer stays the recorded one: " + e.URL
		}
		if text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}
