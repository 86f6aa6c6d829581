package instrument

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/internal/body"
	"github.com/eideticker/eideticker/netsim/internal/document"
)

// capture keeps a response that may be rewritten.
type capture struct {
	w      http.ResponseWriter
	in     *Instrument
	r      *http.Request
	to     destination
	reason string  // why it cannot be instrumented
	mapped *served // by this source map

	status int // 0: unknown
	length int // of the response; -1: unknown
	// policies are those of the original header.
	policies string
	keeps    bool
	kept     []byte
	text     []byte  // kept, without content codings
	stream   *stream // of a document that arrives in parts
	whole    bool    // a document cannot be sent in parts
	headed   bool    // the header was sent
}

// Unwrap is for [http.ResponseController].
func (c *capture) Unwrap() http.ResponseWriter { return c.w }

func (c *capture) Header() http.Header { return c.w.Header() }

// FlushError is for [http.ResponseController]. From then on, a document is sent in parts. Scripts
// are sent later.
func (c *capture) FlushError() error {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	if c.keeps && len(c.kept) == c.length {
		c.finish()
	}
	if c.keeps && c.to == page && c.stream == nil && !c.whole {
		c.begin()
	}
	if c.keeps && c.stream != nil && c.stream.sent {
		if err := c.stream.flush(); err != nil {
			return err
		}
	} else if c.keeps && !c.headed {
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
	c.length, c.policies = -1, strings.Join(h.Values("Content-Security-Policy"), ",")
	if n, err := strconv.Atoi(h.Get("Content-Length")); err == nil {
		c.length = n
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
	if c.stream == nil || !c.stream.sent {
		if c.kept = append(c.kept, b...); len(c.kept) > ecma.MaxSource {
			return len(b), c.release(errLong.Error())
		}
	}
	if c.stream != nil {
		return len(b), c.stream.take(b)
	}
	return len(b), nil
}

var errLong = errors.New("the response is longer than 64 MiB")

// wants reports whether a response may be rewritten. It decides between document and script.
func (c *capture) wants(h http.Header) bool {
	kind := body.MediaType(h.Get("Content-Type"))
	switch {
	case c.to == sourceMap:
		return c.status == http.StatusOK && c.r.Method == http.MethodGet
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
	if c.length > ecma.MaxSource {
		c.plain(errLong.Error())
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
	switch c.to {
	case page:
		goal = "document"
	case sourceMap:
		return
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
	if c.stream != nil {
		c.stream.leave()
	}
	if !c.headed {
		c.w.WriteHeader(c.status)
	}
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

// finish sends the rest of a kept response.
func (c *capture) finish() {
	if !c.keeps || c.stream != nil && c.stream.finish() {
		return
	}
	var out []byte
	err := guarded(func() (err error) {
		out, err = c.rewritten()
		return err
	})
	switch {
	case errors.Is(err, errRefused):
		c.plain(err.Error())
		clear(c.Header())
		c.kept, c.status = nil, http.StatusNotFound
	case err != nil:
		c.plain(err.Error())
	default:
		c.kept = out
		c.Header().Set("Content-Length", strconv.Itoa(len(out)))
	}
	_ = c.release("") // a client that is gone needs nothing
}

// rewritten returns the body with insertions, and changes the header.
func (c *capture) rewritten() (out []byte, err error) {
	if c.length >= 0 && c.length != len(c.kept) {
		return nil, errors.New("the response is incomplete")
	}
	applied := body.Codings(c.Header().Values("Content-Encoding"))
	if c.text, err = body.Unpack(c.kept, applied, ecma.MaxSource); err != nil {
		return nil, err
	}
	if c.reason != "" {
		return nil, errors.New(c.reason)
	}
	change := func(policy string) string { return policy }
	switch c.to {
	case sourceMap:
		if out, err = c.mapped.shifted(c.text); err == nil {
			out, err = body.Pack(out, applied)
		}
	case page:
		out, change, err = c.document(applied)
	default:
		out, change, err = c.script(applied)
	}
	if err == nil {
		c.changed(change)
	}
	return out, err
}

// origin returns the collector's origin for the response.
func (c *capture) origin() (string, error) {
	secure := c.r.TLS != nil || document.HasDirective(c.policies, "upgrade-insecure-requests")
	if origin := c.in.o.Collector(c.r.Host, secure); origin != "" {
		return origin, nil
	}
	return "", errors.New("no collector")
}

// editor returns the editor of a document, without its text.
func (c *capture) editor() (*pageEditor, error) {
	origin, err := c.origin()
	if document.HasDirective(c.policies, "sandbox") && !strings.Contains(c.policies, "allow-scripts") {
		err = errors.New("its content security policy forbids scripts")
	}
	return c.in.editor(c.address(), origin, c.policies), err
}

// document rewrites and packs a document.
func (c *capture) document(codings []string) (out []byte, change func(string) string, err error) {
	charset, err := pageCharset(bytes.NewReader(c.text), c.Header().Get("Content-Type"))
	if err != nil {
		return nil, nil, err
	}
	d, err := decode(c.text, charset)
	if err != nil {
		return nil, nil, err
	}
	e, err := c.editor()
	if err != nil {
		return nil, nil, err
	}
	c.in.mu.Lock()
	if charset != "" && len(c.in.elements) < maxAddresses {
		c.in.elements[elementKey(c.address(), c.r.URL.RawQuery)] = element{charset: charset}
	}
	c.in.mu.Unlock()
	e.src, e.charset = d.text, charset
	if err := e.document(); err != nil {
		return nil, nil, err
	}
	if out, err = d.encode(e.out.String(), e.spans); err != nil {
		return nil, nil, err
	}
	c.in.remember(c.address().String(), e.out.String(), e.spans, false)
	out, err = body.Pack(out, codings)
	return out, e.allow, err
}

// changed adapts the header to a changed body of unknown length.
func (c *capture) changed(change func(policy string) string) {
	h := c.Header()
	for _, name := range []string{"Content-Security-Policy", "Content-Security-Policy-Report-Only"} {
		for i, policy := range h[name] {
			h[name][i] = change(policy)
		}
	}
	c.in.markTag(h)
	// Integrity-Policy demands the attribute that documents lose.
	for _, name := range []string{"Digest", "Content-Digest", "Repr-Digest", "Content-Md5", "Accept-Ranges",
		"Integrity-Policy", "Integrity-Policy-Report-Only", "Content-Length"} {
		h.Del(name)
	}
}

// charset returns the charset of a script; empty for UTF-8. Workers and modules always have it.
func (c *capture) charset(stated element) string {
	if c.to == worker || stated.module {
		return ""
	}
	from := element{}
	if u, err := url.Parse(c.r.Referer()); err == nil { // a script may have added the element
		from = c.in.element(elementKey(u, u.RawQuery))
	}
	charset, _ := charsetOf(c.text, c.Header().Get("Content-Type"), stated.charset, from.charset)
	return charset
}

// elementKey is the address of a script or document in Instrument.elements.
func elementKey(u *url.URL, query string) string {
	return u.Scheme + "://" + u.Host + u.EscapedPath() + "?" + query
}

func (in *Instrument) element(key string) element {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.elements[key]
}

// script rewrites and packs a script.
func (c *capture) script(codings []string) (out []byte, change func(string) string, err error) {
	in := c.in
	stated := in.element(elementKey(c.address(), c.r.URL.RawQuery))
	if c.to == script && !matches(stated.integrity, string(c.text)) {
		return nil, nil, errRefused
	}
	d, err := decode(c.text, c.charset(stated))
	if err != nil {
		return nil, nil, err
	}
	origin, err := c.origin()
	if err != nil {
		return nil, nil, err
	}
	if stated.allowed {
		return nil, nil, errors.New("a content security policy allows only its hash")
	}
	change = func(policy string) string { return policy }
	insert := in.guard()
	if c.to == worker {
		insert = in.prelude(origin).text + ";"
		change = func(policy string) string { return in.allow(policy, origin) }
	}
	in.place(d.text, c.address().String(), position{1, 1})
	goal := scriptGoal
	if stated.module {
		goal = moduleGoal
	}
	made := in.rewrite(d.text, goal, insert)
	if d.encoding != nil && made.goal == string(moduleGoal) { // an imported module is always in UTF-8
		d = decoded{text: string(d.original)}
		made = in.rewrite(d.text, moduleGoal, insert)
	}
	if made.reason != "" {
		return nil, nil, errors.New(made.reason)
	}
	spans := spansOf(made.result.Insertions)
	if d.encoding != nil {
		if out, err = d.encode(made.result.Text, spans); err != nil {
			return nil, nil, err
		}
	}
	in.serves(c.address().String(), position{1, 1}, d.text, made)
	in.remember(c.address().String(), made.result.Text, spans, false)
	in.noteMap(c.address(), c.Header(), made.result.Text)
	if d.encoding != nil {
		out, err = body.Pack(out, codings)
	} else {
		out, err = in.packed(made, codings)
	}
	return out, change, err
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
