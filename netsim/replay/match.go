package replay

import (
	"crypto/sha256"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/eideticker/eideticker/netsim/internal/body"
)

// Rules define which requests match a recorded one.
//
// A request is matched by method and URL in this order:
//
//  1. exactly.
//  2. without the query parameters of Ignore.
//  3. if Near is set, with the recorded URL of the same path that has most parameters in common.
//
// Of several recorded ones, the best has the same body, Range and values of certain header fields.
// These are the fields of Headers and of the site's Vary. If several are left, the first request
// gets the first response, the second the second, and so on. The last one repeats.
type Rules struct {
	Ignore  []string // names of query parameters, with * as in file names
	Near    bool
	Headers []string
	Body    bool // a request whose body is none of those recorded is not answered
}

// CacheBusters are query parameters that pages fill with the time, or with chance, to be answered
// anew.
func CacheBusters() []string {
	return []string{"_", "cb", "cachebuster", "cachebust", "cache_buster", "nocache", "rnd", "rand", "random", "ord",
		"_ts", "_t"}
}

const maxIgnored = 1000

// alike are exchanges between which nothing but their order decides: those of one URL behind the
// first.
type alike struct {
	first *Exchange
	n     int
}

// match finds exchanges.
type match struct {
	rules   Rules
	exact   map[string][]*Exchange
	ignored map[string][]*Exchange // without what the rules ignore
	paths   map[string][]*Exchange // without query
	hosts   map[string][]*Exchange // by host alone

	mu     sync.Mutex
	served map[alike]int
}

func newMatch(a *Archive, rules Rules) *match {
	m := &match{rules, map[string][]*Exchange{}, map[string][]*Exchange{}, map[string][]*Exchange{},
		map[string][]*Exchange{}, sync.Mutex{}, map[alike]int{}}
	for _, e := range a.Exchanges {
		u, err := url.Parse(e.URL)
		if err != nil {
			continue // none that check lets through
		}
		for _, one := range []struct {
			in  map[string][]*Exchange
			key string
		}{{m.exact, key(e.Method, u, u.RawQuery)}, {m.ignored, key(e.Method, u, m.without(u.RawQuery))},
			{m.paths, key(e.Method, u, "")}, {m.hosts, hostPort(u)}} {
			one.in[one.key] = append(one.in[one.key], e)
		}
	}
	return m
}

// key is what requests are known by. An empty path is that of the site's first page (RFC 9110,
// 4.2.3).
func key(method string, u *url.URL, query string) string {
	p := u.EscapedPath()
	if p == "" {
		p = "/"
	}
	return method + " " + u.Scheme + "://" + strings.ToLower(hostPort(u)) + p + "?" + query
}

// without is a query without the parameters that are ignored.
func (m *match) without(query string) string {
	if query == "" || len(m.rules.Ignore) == 0 {
		return query
	}
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		if !slices.ContainsFunc(m.rules.Ignore, func(pattern string) bool {
			ok, _ := path.Match(pattern, unescape(name))
			return ok
		}) {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "&")
}

// asked is a request, as far as it counts.
type asked struct {
	method string
	url    *url.URL
	header http.Header
	sum    [sha256.Size]byte // of the body; all 0: there is none
	whole  bool              // sum is of all of it
}

// found is what answers a request.
type found struct {
	*Exchange
	loose string // how it differs from the recorded request; "": it does not
	// from and to are the bytes of the body that were asked for, of a response that has more; to is
	// 0 otherwise.
	from, to int64
	// fresh says that the device has it already: 304.
	fresh bool
}

// find returns what answers a request, or why nothing does.
func (m *match) find(a *asked) (f found, why string) {
	why = "it was not recorded"
	for _, step := range m.steps(a) {
		if len(step.of) == 0 {
			continue
		}
		f, miss := m.among(a, step.of)
		if miss == "" {
			if f.loose == "" {
				f.loose = step.loose
			}
			return f, ""
		}
		why = miss
		break // recordings of the URL itself win over those of a similar URL
	}
	return found{}, why
}

type step struct {
	of    []*Exchange
	loose string
}

func (m *match) steps(a *asked) []step {
	exact := step{m.exact[key(a.method, a.url, a.url.RawQuery)], ""}
	head := step{}
	if a.method == http.MethodHead {
		head = step{m.exact[key(http.MethodGet, a.url, a.url.RawQuery)],
			"its head was asked for, and all of it was recorded"}
	}
	steps := []step{exact, head, {m.ignored[key(a.method, a.url, m.without(a.url.RawQuery))],
		"query parameters that are ignored differ"}}
	if m.rules.Near {
		steps = append(steps, step{nearestQuery(a.url, m.paths[key(a.method, a.url, "")]), "query parameters differ"})
	}
	return steps
}

// among chooses between exchanges of one URL.
func (m *match) among(a *asked, all []*Exchange) (found, string) {
	var fits []found
	var best rank
	miss, failed := "", []*Exchange(nil)
	for _, e := range all {
		if e.Missing != "" || e.interim() {
			_, why := e.Replayable()
			miss = "it cannot be replayed: " + why
			continue
		}
		if e.Error != "" {
			failed = append(failed, e)
			continue
		}
		f, why := a.fit(e)
		if why != "" {
			miss = why
			continue
		}
		r := m.rank(a, &f)
		if m.rules.Body && !r.body {
			miss = "no request with this body was recorded"
			continue
		}
		if !r.body {
			f.loose = "the body of the request differs"
		}
		switch c := r.compare(best); {
		case len(fits) == 0 || c > 0:
			fits, best = []found{f}, r
		case c == 0:
			fits = append(fits, f)
		}
	}
	if len(fits) == 0 && len(failed) > 0 {
		for _, e := range failed {
			fits = append(fits, found{Exchange: e})
		}
	}
	if len(fits) == 0 {
		if miss == "" {
			miss = "it was recorded without a response"
		}
		return found{}, miss
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k := alike{fits[0].Exchange, len(fits)}
	n := m.served[k]
	m.served[k]++
	return fits[min(n, len(fits)-1)], ""
}

// rank is how well an exchange fits; the first field that differs decides.
type rank struct {
	body, ranged, fresh bool
	fields              int
}

func (r rank) compare(o rank) int {
	for _, two := range [...][2]bool{{r.body, o.body}, {r.ranged, o.ranged}, {r.fresh, o.fresh}} {
		if two[0] != two[1] {
			if two[0] {
				return 1
			}
			return -1
		}
	}
	return r.fields - o.fields
}

func (m *match) rank(a *asked, f *found) rank {
	e := f.Exchange
	r := rank{body: a.whole && a.sum == e.Body.Sum, ranged: a.header.Get("Range") == e.Header.Get("Range"),
		fresh: f.fresh || e.Status == http.StatusNotModified}
	names := m.rules.Headers
	for _, h := range e.ResponseHeader {
		if strings.EqualFold(h.Name, "Vary") {
			names = append(names[:len(names):len(names)], strings.Split(h.Value, ",")...)
		}
	}
	for _, name := range names[:min(len(names), 100)] {
		// Which coding is taken decides below; what else differs between browsers is not what a
		// site was asked for.
		if name = strings.TrimSpace(name); name == "*" || strings.EqualFold(name, "Accept-Encoding") {
			continue
		}
		if a.header.Get(name) == e.Header.Get(name) {
			r.fields += 2
		}
	}
	if body.Accepts(a.header.Get("Accept-Encoding"), e.ResponseHeader.codings()) {
		r.fields++
	}
	return r
}

// fit tells how an exchange answers a request, or why it does not.
func (a *asked) fit(e *Exchange) (found, string) {
	f := found{Exchange: e}
	etag, modified := a.header.Get("If-None-Match"), a.header.Get("If-Modified-Since")
	conditional := etag != "" || modified != ""
	if e.Status == http.StatusNotModified {
		if !conditional {
			return f, "only that it had not changed was recorded, which is not an answer to who does not have it"
		}
		return f, ""
	}
	get := a.method == http.MethodGet || a.method == http.MethodHead
	if get && conditional && e.Status == http.StatusOK && sameVersion(etag, modified, e.ResponseHeader) {
		f.fresh = true
		return f, ""
	}
	wanted := a.header.Get("Range")
	if !get || wanted == "" || a.header.Get("If-Range") != "" &&
		a.header.Get("If-Range") != e.ResponseHeader.Get("Etag") {
		if e.Status == http.StatusPartialContent && get {
			if first, size, ok := contentRange(e); ok && first == 0 && size == e.ResponseBody.Size {
				f.to = size // all of it, recorded as a part
				return f, ""
			}
			return f, "only a part of it was recorded"
		}
		return f, ""
	}
	switch {
	case e.Status == http.StatusPartialContent && e.Header.Get("Range") == wanted:
		return f, ""
	case e.Status == http.StatusOK && len(e.ResponseHeader.codings()) == 0 &&
		!strings.EqualFold(e.ResponseHeader.Get("Accept-Ranges"), "none"):
		f.from, f.to, _ = parseRange(wanted, e.ResponseBody.Size)
		return f, "" // a range that makes no sense is answered by all of it
	case e.Status == http.StatusPartialContent:
		first, size, ok := contentRange(e)
		from, to, sense := parseRange(wanted, size)
		if !ok || !sense || from < first || to > first+e.ResponseBody.Size {
			return f, "another part of it was recorded"
		}
		f.from, f.to = from-first, to-first
		return f, ""
	}
	return f, ""
}

// sameVersion reports whether the device has the recorded version (RFC 9110, 13.1).
func sameVersion(etag, modified string, h Fields) bool {
	have := strings.TrimPrefix(h.Get("Etag"), "W/")
	if etag == "" {
		return modified == h.Get("Last-Modified")
	}
	for one := range strings.SplitSeq(etag, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == have && have != "" {
			return true
		}
	}
	return false
}

// maxCompared bounds the work for one request that nothing answers.
const maxCompared = 2000

// nearestQuery returns the exchanges of the URL that has most query parameters in common.
func nearestQuery(u *url.URL, all []*Exchange) (best []*Exchange) {
	want := parameters(u.RawQuery)
	most := -1
	for _, e := range all[:min(len(all), maxCompared)] {
		switch {
		case len(best) > 0 && e.URL == best[0].URL:
			best = append(best, e)
			continue
		}
		if n := inCommon(want, e.URL); n > most {
			best, most = []*Exchange{e}, n
		}
	}
	return best
}

func parameters(query string) map[string]bool {
	all := map[string]bool{}
	for part := range strings.SplitSeq(query, "&") {
		if len(all) < 200 && part != "" {
			all[part] = true
		}
	}
	return all
}

func inCommon(want map[string]bool, address string) (n int) {
	_, query, _ := strings.Cut(address, "?")
	for part := range parameters(query) {
		if want[part] {
			n++
		}
	}
	return n
}

// nearest is the recorded URL that is most like one that was not: of the same path, else of the
// same host with the longest beginning in common; "" if there is none of the host.
func (m *match) nearest(a *asked) string {
	if same := nearestQuery(a.url, m.paths[key(a.method, a.url, "")]); len(same) > 0 {
		return same[0].URL
	}
	best, most, want := "", -1, a.url.String()
	all := m.hosts[hostPort(a.url)]
	for _, e := range all[:min(len(all), maxCompared)] {
		n := 0
		for n < min(len(want), len(e.URL)) && want[n] == e.URL[n] {
			n++
		}
		if n > most {
			best, most = e.URL, n
		}
	}
	return best
}
