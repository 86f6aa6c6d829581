package instrument

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/instrument/runtime"
	"github.com/eideticker/eideticker/netsim/internal/body"
	"github.com/eideticker/eideticker/netsim/internal/document"
)

// Options describe the instrumentation of a run.
type Options struct {
	// Nonce is a dollar sign and at least four ASCII letters. It is a part of every inserted name.
	Nonce string
	// Secret is a path element of the collector, as in /.eideticker/SECRET/records.
	Secret string
	// Policies must not be empty.
	Policies []policy.Policy
	// Collector returns the collector's origin for pages with or without TLS, such as
	// http://10.0.0.1:4999. Without an origin, pages are served plain.
	Collector func(secure bool) string
}

// Instrument rewrites the documents and scripts of HTTP responses. Its methods are safe for
// concurrent use.
type Instrument struct {
	o     Options
	times bool   // scripts have insertions
	mark  string // ending of entity tags

	mu       sync.Mutex
	preludes map[string]prelude // by the collector's origin
	programs []*Program
	known    map[programKey]*Program
	cache    map[codeKey]*code
	cached   int // bytes
	numbers  map[string]numbers
	next     uint32
	texts    map[string]*served // by URL without query
	kept     int                // bytes of texts
	elements map[string]element
}

// prelude is the program that runs before a page's own.
type prelude struct{ text, hash string }

// element is what a document states about a script of its own.
type element struct {
	module    bool
	integrity string
	allowed   bool // by a policy, for its integrity
}

// New returns an instrument.
func New(o Options) (*Instrument, error) {
	switch {
	case len(o.Policies) == 0:
		return nil, errors.New("instrument scripts: no policy")
	case o.Collector == nil:
		return nil, errors.New("instrument scripts: no collector")
	case len(o.Nonce) < 5 || o.Nonce[0] != '$' || strings.Trim(o.Nonce[1:], letters) != "":
		return nil, fmt.Errorf("instrument scripts: nonce %q: must be $ and at least 4 letters", o.Nonce)
	case o.Secret == "" || url.PathEscape(o.Secret) != o.Secret:
		return nil, errors.New("instrument scripts: the secret must be a path element")
	}
	return &Instrument{o: o, times: slices.ContainsFunc(o.Policies, func(p policy.Policy) bool { return p.Times }),
		mark: "-" + hashOf(o.Nonce + o.Secret)[:12], preludes: map[string]prelude{}, known: map[programKey]*Program{},
		cache: map[codeKey]*code{}, numbers: map[string]numbers{}, next: 1, texts: map[string]*served{},
		elements: map[string]element{}}, nil
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// prelude returns the program for pages that reach the collector at an origin.
func (in *Instrument) prelude(origin string) prelude {
	in.mu.Lock()
	defer in.mu.Unlock()
	p, ok := in.preludes[origin]
	if !ok {
		o := runtime.Options{Nonce: in.o.Nonce, Collector: origin + "/.eideticker/" + in.o.Secret + "/",
			Integrity: in.times}
		for _, one := range in.o.Policies {
			o.Policies = append(o.Policies, one.Runtime)
		}
		p.text = runtime.Prelude(o)
		p.hash = scriptHash("sha256", p.text)
		in.preludes[origin] = p
	}
	return p
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

// Wrap returns a handler that serves the responses of another one with instrumentation. Documents
// and scripts are sent when they are complete. Other responses pass as they are written.
func (in *Instrument) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, reason := destinationOf(r)
		asks := r.Method == http.MethodGet || r.Method == http.MethodPost && (to == page || to == anything)
		if to == unread || !asks || r.Header.Get("Upgrade") != "" || r.Header.Get("Range") != "" {
			next.ServeHTTP(w, r)
			return
		}
		c := &capture{w: w, in: in, r: r, to: to, reason: reason}
		defer func() {
			if failed := recover(); failed != nil {
				c.release("")
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

// capture keeps a response that may be rewritten.
type capture struct {
	w      http.ResponseWriter
	in     *Instrument
	r      *http.Request
	to     destination
	reason string // why it cannot be instrumented

	status int // 0: unknown
	keeps  bool
	kept   []byte
	text   []byte // kept, without content codings
}

// Unwrap is for [http.ResponseController].
func (c *capture) Unwrap() http.ResponseWriter { return c.w }

func (c *capture) Header() http.Header { return c.w.Header() }

// FlushError is for [http.ResponseController]. A kept response is sent later.
func (c *capture) FlushError() error {
	if c.keeps {
		return nil
	}
	return http.NewResponseController(c.w).Flush()
}

func (c *capture) WriteHeader(status int) {
	if c.status != 0 {
		return
	}
	if status < 200 && status != http.StatusSwitchingProtocols {
		c.w.WriteHeader(status)
		return
	}
	c.status = status
	h := c.Header()
	if status == http.StatusNotModified && strings.Contains(c.r.Header.Get("If-None-Match"), c.in.mark) {
		c.in.markTag(h)
	}
	if status == http.StatusOK || status >= 400 {
		c.keeps = c.wants(h)
	}
	if !c.keeps {
		c.w.WriteHeader(status)
	}
}

func (c *capture) Write(b []byte) (int, error) {
	if c.status == 0 {
		h := c.Header()
		if _, known := h["Content-Type"]; !known && h.Get("Content-Encoding") == "" {
			h.Set("Content-Type", http.DetectContentType(b)) // as net/http does
		}
		c.WriteHeader(http.StatusOK)
	}
	if !c.keeps {
		return c.w.Write(b)
	}
	if c.kept = append(c.kept, b...); len(c.kept) > ecma.MaxSource {
		return len(b), c.release("the response is longer than 64 MiB")
	}
	return len(b), nil
}

// wants reports whether a response may be rewritten. It decides between document and script.
func (c *capture) wants(h http.Header) bool {
	kind := body.MediaType(h.Get("Content-Type"))
	switch {
	case c.to == anything && kind == "text/html":
		accept := c.r.Header.Get("Accept")
		if accept != "" && !strings.Contains(accept, "text/html") || c.r.Header.Get("X-Requested-With") != "" {
			return false // a script reads it
		}
		c.to = page
	case c.to == anything && isJavaScript(kind):
		c.to = script
	case c.to == anything, c.to == page && kind != "text/html",
		c.to == script && (kind == "application/wasm" || kind == "text/css"):
		return false
	}
	if c.to != page && (c.status != http.StatusOK || c.r.Method != http.MethodGet) {
		return false // browsers run no such script
	}
	if c.to == script && !c.in.times || strings.HasPrefix(strings.ToLower(h.Get("Content-Disposition")), "attachment") {
		return false
	}
	if length, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64); err == nil && length > ecma.MaxSource {
		c.plain("the response is longer than 64 MiB")
		return false
	}
	return true
}

// isJavaScript reports whether a media type is one of JavaScript (MIME Sniffing, 4.6).
func isJavaScript(kind string) bool {
	rest, ok := strings.CutPrefix(kind, "text/")
	if !ok {
		rest, ok = strings.CutPrefix(kind, "application/")
		return ok && slices.Contains([]string{"ecmascript", "javascript", "x-ecmascript", "x-javascript"}, rest)
	}
	return slices.Contains([]string{"ecmascript", "javascript", "javascript1.0", "javascript1.1", "javascript1.2",
		"javascript1.3", "javascript1.4", "javascript1.5", "jscript", "livescript", "x-ecmascript", "x-javascript"},
		rest)
}

// plain counts the response as one without instrumentation.
func (c *capture) plain(reason string) {
	goal := "script"
	if c.to == page {
		goal = "document"
	}
	text := c.text
	if text == nil {
		text = c.kept
	}
	c.in.servesPlain(c.address().String(), goal, hashOf(text), len(text), reason)
}

// release sends the response as it was written, now and from now on.
func (c *capture) release(reason string) error {
	if !c.keeps {
		return nil
	}
	if c.keeps = false; reason != "" {
		c.plain(reason)
	}
	c.w.WriteHeader(c.status)
	_, err := c.w.Write(c.kept)
	c.kept = nil
	return err
}

// address returns the URL of the response, without query and fragment.
func (c *capture) address() *url.URL {
	u := &url.URL{Scheme: "http", Host: c.r.Host, Path: c.r.URL.Path, RawPath: c.r.URL.RawPath}
	if c.r.TLS != nil {
		u.Scheme = "https"
	}
	return u
}

// refused is a script that a browser would not run.
var errRefused = errors.New("its integrity does not match; browsers refuse the original")

// finish rewrites and sends a kept response.
func (c *capture) finish() {
	if !c.keeps {
		return
	}
	out, err := c.rewritten()
	switch {
	case errors.Is(err, errRefused):
		c.plain(err.Error())
		c.keeps = false
		clear(c.Header())
		c.w.WriteHeader(http.StatusNotFound)
		return
	case err != nil:
		_ = c.release(err.Error())
		return
	}
	c.keeps = false
	c.w.WriteHeader(c.status)
	_, _ = c.w.Write(out) // a client that is gone needs nothing
}

// rewritten returns the body with insertions, and changes the header.
func (c *capture) rewritten() (out []byte, err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("the rewriter failed: %.200v", failed)
		}
	}()
	h := c.Header()
	if length := h.Get("Content-Length"); length != "" && length != strconv.Itoa(len(c.kept)) {
		return nil, errors.New("the response is incomplete")
	}
	applied := body.Codings(h.Values("Content-Encoding"))
	if c.text, err = body.Unpack(c.kept, applied, ecma.MaxSource); err != nil {
		return nil, err
	}
	if c.reason != "" {
		return nil, errors.New(c.reason)
	}
	if err := checkCharset(h.Get("Content-Type")); err != nil {
		return nil, err
	}
	policies := strings.Join(h.Values("Content-Security-Policy"), ",")
	secure := c.r.TLS != nil || document.HasDirective(policies, "upgrade-insecure-requests")
	origin := c.in.o.Collector(secure)
	if origin == "" {
		return nil, errors.New("no collector")
	}
	change := func(policy string) string { return document.AllowConnect(policy, origin) }
	var packed []byte
	if c.to == page {
		if document.HasDirective(policies, "sandbox") && !strings.Contains(policies, "allow-scripts") {
			return nil, errors.New("its content security policy forbids scripts")
		}
		p, err := c.in.document(string(c.text), c.address(), origin, policies)
		if err != nil {
			return nil, err
		}
		c.in.remember(c.address().String(), p.text, p.spans)
		change = p.allow
		packed, err = body.Pack([]byte(p.text), applied)
		if err != nil {
			return nil, err
		}
	} else if packed, err = c.script(string(c.text), origin, applied); err != nil {
		return nil, err
	}
	if c.to != script {
		for _, name := range []string{"Content-Security-Policy", "Content-Security-Policy-Report-Only"} {
			for i, policy := range h[name] {
				h[name][i] = change(policy)
			}
		}
	}
	c.in.markTag(h)
	// Integrity-Policy demands the attribute that documents lose.
	for _, name := range []string{"Digest", "Content-Digest", "Repr-Digest", "Content-Md5", "Accept-Ranges",
		"Integrity-Policy", "Integrity-Policy-Report-Only"} {
		h.Del(name)
	}
	h.Set("Content-Length", strconv.Itoa(len(packed)))
	return packed, nil
}

// script rewrites and packs a script.
func (c *capture) script(src, origin string, codings []string) ([]byte, error) {
	in := c.in
	in.mu.Lock()
	stated := in.elements[c.address().String()+"?"+c.r.URL.RawQuery]
	in.mu.Unlock()
	if !matches(stated.integrity, src) {
		return nil, errRefused
	}
	if stated.allowed {
		return nil, errors.New("a content security policy allows only its hash")
	}
	insert := runtime.Guard(in.o.Nonce)
	if c.to == worker {
		insert = in.prelude(origin).text + ";"
	}
	made := in.rewrite(src, stated.module, insert)
	if made.reason != "" {
		return nil, errors.New(made.reason)
	}
	in.serves(c.address().String(), position{1, 1}, src, made)
	in.remember(c.address().String(), made.result.Text, spansOf(made.result.Insertions))
	return in.packed(made, codings)
}

// packed returns a rewritten program in content codings. It keeps the result.
func (in *Instrument) packed(c *code, codings []string) ([]byte, error) {
	if len(codings) == 0 {
		return []byte(c.result.Text), nil
	}
	name := strings.Join(codings, ",")
	in.mu.Lock()
	kept := c.packed[name]
	in.mu.Unlock()
	if kept != nil {
		return kept, nil
	}
	kept, err := body.Pack([]byte(c.result.Text), codings)
	if err != nil {
		return nil, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.cached += len(kept); in.cached <= maxCached {
		if c.packed == nil {
			c.packed = map[string][]byte{}
		}
		c.packed[name] = kept
	}
	return kept, nil
}

// markTag adds the mark to the entity tag, because the original is another text.
func (in *Instrument) markTag(h http.Header) {
	if tag := h.Get("ETag"); len(tag) > 2 && strings.HasSuffix(tag, `"`) {
		h.Set("ETag", strings.TrimSuffix(tag, `"`)+in.mark+`"`)
	}
}

// checkCharset rejects charsets in which ASCII characters have other bytes. In others, the bytes of
// < and quotes are never parts of other characters.
func checkCharset(contentType string) error {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil // browsers ignore the parameters
	}
	return checkLabel(parameters["charset"])
}

func checkLabel(label string) error {
	label = strings.ToLower(strings.TrimSpace(label))
	for _, other := range []string{"utf-16", "utf-32", "utf-7", "iso-2022", "csiso2022", "unicode", "csunicode",
		"ucs-2", "iso-10646-ucs", "hz-gb"} {
		if strings.HasPrefix(label, other) {
			return fmt.Errorf("the charset %.40q is not compatible with ASCII", label)
		}
	}
	return nil
}
