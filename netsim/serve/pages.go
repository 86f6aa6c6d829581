package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

const (
	// maxPageFiles is how many files pages are made of at most.
	maxPageFiles = 100_000
	// maxPageBytes is how much memory their bodies may take, unpacked.
	maxPageBytes = 1 << 30

	minPacked = 256 // bytes: smaller bodies are sent as they are
	maxRules  = 10_000
	maxDelay  = 10 * time.Minute
	maxChunks = 10_000
)

// Rule says how URLs that fit a pattern are served. The first that fits counts.
type Rule struct {
	// a path such as /a.js, or with a host before it, such as cdn.test/a.js; * stands for any
	// number of characters
	Pattern string
	Timing
	CacheControl string // the field; "": there is none
	NoETag       bool
	LastModified bool // of the file; without it browsers have nothing to guess from for how long a page is good

	Events    []Event    // what there is instead of a file is a stream of server-sent events
	WebSocket *WebSocket // or a websocket
}

// Event is a server-sent event (HTML Living Standard, 9.2).
type Event struct {
	At   time.Duration // after the head was sent
	Name string        // "": message
	ID   string
	Data string
}

// WebSocket is what a websocket does.
type WebSocket struct {
	Echo  bool          // sends the received messages back
	Sends []Message     // by itself
	Close time.Duration // when it ends; 0: when the client ends it
}

// Message is what a websocket sends.
type Message struct {
	At   time.Duration // after it was agreed on
	Text string
}

// Pages is a handler that serves files from memory. It is safe for use from several goroutines and
// starts none.
type Pages struct {
	files map[string]*file // by path
	rules []Rule
	pacer *pacer
	bytes int64
}

// file is one, in each way in which it is sent.
type file struct {
	kind     string
	modified time.Time
	bodies   []packed // the first is as it is
}

type packed struct {
	encoding string // "": none
	etag     string
	body     []byte
}

// Folder reads a folder into memory, which is all that is ever read of it. Links that lead out of
// it are refused; names that begin with a dot are left out, but for .well-known.
func Folder(dir string, rules []Rule) (*Pages, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("read pages: %w", err)
	}
	defer root.Close()
	p, err := NewPages(root.FS(), rules)
	if err != nil {
		return nil, fmt.Errorf("read pages of %s: %w", dir, err)
	}
	return p, nil
}

// NewPages reads pages out of a file system.
func NewPages(from fs.FS, rules []Rule) (*Pages, error) {
	p := &Pages{files: map[string]*file{}, rules: rules, pacer: &pacer{}}
	if err := checkRules(rules); err != nil {
		return nil, err
	}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := path.Base(name); len(base) > 1 && base[0] == '.' && base != ".well-known" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		return p.read(from, name)
	})
	if err != nil {
		return nil, err
	}
	if len(p.files) == 0 && len(rules) == 0 {
		return nil, errors.New("no files")
	}
	return p, nil
}

// Count returns how many files there are and how many bytes they have.
func (p *Pages) Count() (files int, bytes int64) { return len(p.files), p.bytes }

// Index says whether there is a page at /.
func (p *Pages) Index() bool { return p.files["/index.html"] != nil }

// Has reports if there is a page at the path of a URL.
func (p *Pages) Has(path string) bool {
	if strings.HasSuffix(path, "/") {
		path += "index.html"
	}
	return p.files[path] != nil || p.files[path+"/index.html"] != nil
}

// read adds a file by name. It skips entries that are not files, such as devices.
func (p *Pages) read(from fs.FS, name string) error {
	info, err := fs.Stat(from, name) // opening a pipe would wait for who writes to it
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := from.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if len(p.files) >= maxPageFiles {
		return fmt.Errorf("there are more than %d files", maxPageFiles)
	}
	body, err := io.ReadAll(io.LimitReader(f, maxPageBytes-p.bytes+1))
	if err != nil {
		return err
	}
	if p.bytes += int64(len(body)); p.bytes > maxPageBytes {
		return fmt.Errorf("the files have more than %d bytes", maxPageBytes)
	}
	made := &file{kind: kindOf(name, body), modified: info.ModTime().Truncate(time.Second)}
	sum := sha256.Sum256(body)
	tag := base64.RawURLEncoding.EncodeToString(sum[:12])
	made.bodies = []packed{{etag: `"` + tag + `"`, body: body}}
	// Only a person's debugger asks for a source map. It may be the largest file.
	if len(body) >= minPacked && packs(made.kind) && path.Ext(name) != ".map" {
		for _, e := range encodings() {
			b, err := e.pack(body)
			if err != nil {
				return fmt.Errorf("pack %s: %w", name, err)
			}
			if b != nil {
				made.bodies = append(made.bodies, packed{e.name, `"` + tag + "-" + e.name + `"`, b})
			}
		}
	}
	p.files["/"+name] = made
	return nil
}

// kinds are those of web pages: the same on every machine, whatever its table of types says.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".htm": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".json": "application/json", ".webmanifest": "application/manifest+json", ".map": "application/json",
	".xml": "application/xml", ".txt": "text/plain; charset=utf-8", ".svg": "image/svg+xml",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".avif": "image/avif", ".ico": "image/vnd.microsoft.icon",
	".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".otf": "font/otf", ".wasm": "application/wasm",
	".pdf": "application/pdf",
	".mp4": "video/mp4", ".webm": "video/webm", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".wav": "audio/wav",
	".m3u8": "application/vnd.apple.mpegurl", ".mpd": "application/dash+xml",
}

func kindOf(name string, body []byte) string {
	if kind := kinds[strings.ToLower(path.Ext(name))]; kind != "" {
		return kind
	}
	return http.DetectContentType(body)
}

// packs reports whether packing a type makes it smaller.
func packs(kind string) bool {
	base, _, err := mime.ParseMediaType(kind)
	if err != nil {
		return false
	}
	switch base {
	case "application/json", "application/manifest+json", "application/xml", "application/wasm", "application/dash+xml",
		"application/vnd.apple.mpegurl", "image/svg+xml", "image/vnd.microsoft.icon",
		"font/ttf", "font/otf":
		return true
	}
	return strings.HasPrefix(base, "text/")
}

func checkRules(rules []Rule) error {
	if len(rules) > maxRules {
		return fmt.Errorf("%d rules are more than %d", len(rules), maxRules)
	}
	for _, r := range rules {
		if err := r.Check(); err != nil {
			return fmt.Errorf("rule for %.200q: %w", r.Pattern, err)
		}
	}
	return nil
}

// Check returns the first error in a rule.
func (r *Rule) Check() error {
	if r.Pattern == "" || len(r.Pattern) > 2048 || !strings.ContainsAny(r.Pattern, "/*") {
		return errors.New("want a path such as /a.js or cdn.test/*.js")
	}
	if strings.ContainsAny(r.CacheControl, "\r\n") {
		return errors.New("a field of a head has one line")
	}
	if len(r.Events) > 0 && r.WebSocket != nil {
		return errors.New("there are events or a websocket, not both")
	}
	delays := []time.Duration{r.Latency, r.FirstByte}
	if len(r.Chunks) > maxChunks || len(r.Events) > maxChunks {
		return fmt.Errorf("more than %d chunks or events", maxChunks)
	}
	for i, c := range r.Chunks {
		delays = append(delays, c.At)
		if i > 0 && (c.At < r.Chunks[i-1].At || c.To <= r.Chunks[i-1].To && i < len(r.Chunks)-1) || c.To < 0 {
			return errors.New("chunks must be in the order of their times")
		}
	}
	for i, e := range r.Events {
		delays = append(delays, e.At)
		if i > 0 && e.At < r.Events[i-1].At {
			return errors.New("events must be in the order of their times")
		}
		if strings.ContainsAny(e.Name+e.ID, "\r\n\x00") {
			return errors.New("the name and the number of an event have one line")
		}
	}
	if s := r.WebSocket; s != nil {
		if len(s.Sends) > maxChunks {
			return fmt.Errorf("more than %d messages", maxChunks)
		}
		delays = append(delays, s.Close)
		for i, m := range s.Sends {
			delays = append(delays, m.At)
			if i > 0 && m.At < s.Sends[i-1].At {
				return errors.New("messages must be in the order of their times")
			}
		}
	}
	for _, d := range delays {
		if d < 0 || d > maxDelay {
			return fmt.Errorf("%v is not between 0 and %v", d, maxDelay)
		}
	}
	return nil
}

// rule returns the one for a request, which may be empty.
func (p *Pages) rule(r *http.Request) *Rule {
	for i := range p.rules {
		subject := r.URL.Path
		if !strings.HasPrefix(p.rules[i].Pattern, "/") {
			subject = hostName(r.Host) + subject
		}
		if matches(p.rules[i].Pattern, subject) {
			return &p.rules[i]
		}
	}
	return &Rule{}
}

// matches holds a text against a pattern with stars, in time that is bounded by the product of
// their lengths.
func matches(pattern, text string) bool {
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(text) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, mark = i, j
			i++
		case i < len(pattern) && pattern[i] == text[j]:
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}

// ServeHTTP answers from memory.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rule := p.rule(r)
	if rule.WebSocket != nil {
		p.serveWebSocket(w, r, rule)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, fmt.Errorf("method %.40q is not supported: pages need GET or HEAD",
			r.Method))
		return
	}
	head := began(w).Add(rule.Latency)
	if rule.Latency > 0 {
		if p.pacer.wait(r.Context(), head) != nil {
			panic(http.ErrAbortHandler) // the client is gone
		}
	}
	if len(rule.Events) > 0 {
		p.serveEvents(w, r, rule, head)
		return
	}
	name := r.URL.Path
	if strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	f := p.files[name]
	switch {
	case f != nil:
		p.serveFile(w, r, rule, f, head)
	case p.files[name+"/index.html"] != nil:
		target := path.Base(name) + "/"
		if r.URL.RawQuery != "" {
			target += "?" + r.URL.RawQuery
		}
		w.Header().Set("Location", target)
		w.WriteHeader(http.StatusMovedPermanently)
	default:
		refuse(w, http.StatusNotFound, fmt.Errorf("no file for %.300q", r.URL.Path))
	}
}

// choose returns the body that a client is sent: of those that it would rather have than others,
// the smallest.
func (f *file) choose(accept []string) packed {
	field := strings.Join(accept, ",")
	best, weight := f.bodies[0], acceptable(field, "identity")
	for _, b := range f.bodies[1:] {
		if q := acceptable(field, b.encoding); q > weight || q == weight && q > 0 && len(b.body) < len(best.body) {
			best, weight = b, q
		}
	}
	return best
}

func (p *Pages) serveFile(w http.ResponseWriter, r *http.Request, rule *Rule, f *file, due timeline.Time) {
	chosen := f.choose(r.Header["Accept-Encoding"])
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Accept-Ranges", "bytes")
	if len(f.bodies) > 1 {
		h.Set("Vary", "Accept-Encoding")
	}
	if chosen.encoding != "" {
		h.Set("Content-Encoding", chosen.encoding)
	}
	if rule.CacheControl != "" {
		h.Set("Cache-Control", rule.CacheControl)
	}
	if !rule.NoETag {
		h.Set("Etag", chosen.etag)
	}
	var modified time.Time
	if rule.LastModified {
		modified = f.modified
		h.Set("Last-Modified", modified.UTC().Format(http.TimeFormat))
	}
	out := w
	if rule.FirstByte > 0 || len(rule.Chunks) > 0 {
		out = &paced{ResponseWriter: w, ctx: r.Context(), pacer: p.pacer, timing: &rule.Timing, head: due}
	}
	if conditional(r.Header) {
		http.ServeContent(withLength{out, chosen.body}, r, "", modified, bytes.NewReader(chosen.body))
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(chosen.body)))
	setDecoded(w, int64(len(f.bodies[0].body)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		setDecoded(w, 0)
		return
	}
	if _, err := out.Write(chosen.body); err != nil {
		panic(http.ErrAbortHandler) // the body is not whole, which the connection's end tells
	}
}

// conditional reports whether a request asks for a range, or for a changed version.
func conditional(h http.Header) bool {
	for _, name := range []string{"Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since",
		"If-Unmodified-Since"} {
		if h[name] != nil {
			return true
		}
	}
	return false
}

// withLength tells the length that [http.ServeContent] leaves out where a body is packed.
type withLength struct {
	http.ResponseWriter
	body []byte
}

func (w withLength) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w withLength) WriteHeader(status int) {
	if h := w.Header(); status == http.StatusOK && h.Get("Content-Length") == "" {
		h.Set("Content-Length", strconv.Itoa(len(w.body)))
	}
	w.ResponseWriter.WriteHeader(status)
}
