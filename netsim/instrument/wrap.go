package instrument

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/instrument/runtime"
)

// Options describe the instrumentation of a run.
type Options struct {
	// Nonce is a dollar sign and at least three ASCII letters or digits. It is a part of every
	// inserted name.
	Nonce string
	// Secret is a path element of the collector, as in /.eideticker/SECRET/records.
	Secret string
	// Policies must not be empty, except with Prelude.
	Policies []policy.Policy
	// Collector returns the collector's origin for pages of a host with or without TLS, such as
	// http://10.0.0.1:4999. Without an origin, pages are served plain.
	Collector func(host string, secure bool) string
	// Prelude returns the program that pages run before their own, for the collector's URL. It is
	// one line. Nil: the runtime with the policies.
	Prelude func(collector string) string
	// Active reports whether a point gets insertions: by its policy, the hash of its program, and
	// the first byte of its node; nil: all points. It must be safe for concurrent use.
	Active func(policy, hash string, start uint32) bool
	// Gate returns how the calls of an active function are recorded; nil: all are. It must be safe
	// for concurrent use.
	Gate func(hash string, start uint32) Gate
	// Live has pages open and close gates.
	Live bool
	// Break makes the policy loops leave a loop that it warns of, once.
	Break bool
	// Patience limits the time in which Dynamic answers a page (default: 50 ms). After three slower
	// answers the page runs its own code without insertions.
	Patience time.Duration
}

// Instrument rewrites the documents and scripts of HTTP responses. Its methods are safe for
// concurrent use.
type Instrument struct {
	o     Options
	times bool   // scripts have insertions
	mark  string // ending of entity tags
	// timesCalls is set if functions have insertions, too.
	timesCalls bool

	mu       sync.Mutex
	preludes map[string]prelude // by the collector's origin
	programs []*Program
	known    map[programKey]*Program
	cache    map[codeKey]*code
	cached   int // bytes
	numbers  map[string]numbers
	next     uint32
	// placed is set if a policy selects functions by their places.
	placed bool
	// places are those of texts, by hash
	places map[string][]place
	// nextPoint is the number of the next point.
	nextPoint uint32
	texts     map[string]*served // by URL without query
	kept      int                // bytes of texts
	elements  map[string]element
	maps      map[string]*served // by the URL of a source map
	hashes    map[string]bool    // of scripts, as policies have them
	made      int                // bytes of code that pages made
}

// maxOrigins limits the preludes that are kept.
const maxOrigins = 1000

// prelude is the program that runs before a page's own.
type prelude struct{ text, hash string }

// element is what a document states about a script of its own.
type element struct {
	module    bool
	integrity string
	allowed   bool   // by a policy, for its integrity
	charset   string // of a script whose response states none; empty: UTF-8
}

// New returns an instrument.
func New(o Options) (*Instrument, error) {
	switch {
	case len(o.Policies) == 0 && o.Prelude == nil:
		return nil, errors.New("instrument scripts: no policy")
	case o.Collector == nil:
		return nil, errors.New("instrument scripts: no collector")
	case len(o.Nonce) < 4 || o.Nonce[0] != '$' || strings.Trim(o.Nonce[1:], lettersAndDigits) != "":
		return nil, fmt.Errorf("instrument scripts: nonce %q: must be $ and at least 3 letters or digits", o.Nonce)
	case o.Secret == "" || url.PathEscape(o.Secret) != o.Secret:
		return nil, errors.New("instrument scripts: the secret must be a path element")
	}
	if o.Patience == 0 {
		o.Patience = 50 * time.Millisecond
	}
	entries, calls, placed := 0, false, false
	for _, p := range o.Policies {
		entries += len(p.Points)
		calls = calls || p.Times
		placed = placed || slices.ContainsFunc(p.Points, func(at policy.Points) bool { return at.At != nil })
	}
	if entries > maxEntries {
		return nil, fmt.Errorf("instrument scripts: %d kinds of points; at most %d are allowed", entries, maxEntries)
	}
	return &Instrument{o: o, times: calls || entries > 0, timesCalls: calls, placed: placed,
		places: map[string][]place{},
		mark:   "-" + hashOf(o.Nonce + o.Secret)[:12], preludes: map[string]prelude{}, known: map[programKey]*Program{},
		cache: map[codeKey]*code{}, numbers: map[string]numbers{}, next: 1, nextPoint: 1, texts: map[string]*served{},
		elements: map[string]element{}, maps: map[string]*served{}, hashes: map[string]bool{}}, nil
}

const lettersAndDigits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// prelude returns the program for pages that reach the collector at an origin.
func (in *Instrument) prelude(origin string) prelude {
	in.mu.Lock()
	defer in.mu.Unlock()
	p, ok := in.preludes[origin]
	if !ok && in.o.Prelude != nil {
		p.text = in.o.Prelude(origin + "/.eideticker/" + in.o.Secret + "/")
	} else if !ok {
		o := runtime.Options{Nonce: in.o.Nonce, Collector: origin + "/.eideticker/" + in.o.Secret + "/",
			Integrity: in.times, Break: in.o.Break, Patience: in.o.Patience.Milliseconds(), Policies: in.runtimes(),
			Gates: in.o.Gate != nil, Live: in.o.Live}
		p.text = runtime.Prelude(o)
	}
	if !ok {
		p.hash = scriptHash("sha256", p.text)
		if len(in.preludes) < maxOrigins { // a client may send any Host
			in.preludes[origin] = p
		}
	}
	return p
}

// runtimes returns the parts of the prelude that the policies add.
func (in *Instrument) runtimes() (all []runtime.Policy) {
	for _, p := range in.o.Policies {
		all = append(all, runtime.Policy{Name: p.Name, Text: p.Runtime, Calls: p.Calls(), Objects: p.Objects})
	}
	return all
}

// guard returns the statement for programs whose realm may have no prelude.
func (in *Instrument) guard() string {
	var calls []string
	for _, p := range in.o.Policies {
		calls = append(calls, p.Calls()...)
	}
	return runtime.Guard(in.o.Nonce, calls...)
}

// destination is the browser's use of a response.
type destination uint8

const (
	unread   destination = iota // not rewritten
	anything                    // the type of the response decides
	page
	script
	worker
	plainScript // a script that cannot be instrumented
	sourceMap   // of a served script
)

// destinationOf returns the use of a response, and the reason why it cannot be instrumented.
// Browsers do not state the use to origins without TLS.
func destinationOf(r *http.Request) (d destination, reason string) {
	switch r.Header.Get("Sec-Fetch-Dest") {
	case "":
		if r.Header.Get("Service-Worker") != "" {
			return plainScript, "service workers are not instrumented"
		}
		return anything, ""
	case "document", "iframe", "frame", "embed", "object", "fencedframe":
		return page, ""
	case "script":
		return script, ""
	case "worker", "sharedworker":
		return worker, ""
	case "serviceworker":
		return plainScript, "service workers are not instrumented"
	case "audioworklet", "paintworklet":
		return plainScript, "worklets are not instrumented"
	}
	if strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch") {
		return anything, "" // the browser may keep it for any use
	}
	return unread, ""
}

// Wrap returns a handler that serves the responses of another one with instrumentation. Scripts are
// sent when they are complete, and documents when they are flushed. Other responses pass as they
// are written.
func (in *Instrument) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, reason := destinationOf(r)
		c := &capture{w: w, in: in, r: r, to: to, reason: reason}
		in.mu.Lock()
		if c.mapped = in.maps[elementKey(c.address(), r.URL.RawQuery)]; c.mapped != nil {
			c.to, to = sourceMap, sourceMap
		}
		in.mu.Unlock()
		asks := r.Method == http.MethodGet || r.Method == http.MethodPost && (to == page || to == anything)
		if to == unread || !asks || r.Header.Get("Upgrade") != "" || r.Header.Get("Range") != "" {
			next.ServeHTTP(w, r)
			return
		}
		defer func() {
			failed := recover()
			if failed != nil {
				c.abort()
				panic(failed) // net/http ends the connection
			}
			c.finish()
		}()
		next.ServeHTTP(c, in.withoutMark(r, to))
	})
}

// withoutMark returns the request with the original's entity tag. A browser's plain copy is not
// validated, so that it gets a new one.
func (in *Instrument) withoutMark(r *http.Request, to destination) *http.Request {
	field := r.Header.Get("If-None-Match")
	if to == plainScript || field == "" && r.Header.Get("If-Modified-Since") == "" {
		return r
	}
	r = r.Clone(r.Context())
	if strings.Contains(field, in.mark+`"`) {
		r.Header.Set("If-None-Match", strings.ReplaceAll(field, in.mark+`"`, `"`))
		return r
	}
	if to == anything && !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return r // it may be an image
	}
	r.Header.Del("If-None-Match")
	r.Header.Del("If-Modified-Since")
	return r
}
