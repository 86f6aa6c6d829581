package site

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

//go:embed pages
var embedded embed.FS

// maxReportBytes bounds the body of a report.
const maxReportBytes = 1 << 20

// file is one file of the site, ready to be sent.
type file struct {
	kind string
	body []byte
}

// files returns every embedded file by its path on the site. Each page has its own path, also if
// one file draws several.
func files() map[string]file {
	all := map[string]file{}
	err := fs.WalkDir(embedded, "pages", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := embedded.ReadFile(name)
		kinds := map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
			".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
		all[strings.TrimPrefix(name, "pages")] = file{kinds[path.Ext(name)], body}
		return err
	})
	if err != nil {
		panic(err) // embedded files cannot fail to be read
	}
	drawings := map[string]file{}
	for _, p := range Pages() {
		if p.file != "" {
			drawings[p.file] = all[p.file]
		}
	}
	for name := range drawings {
		delete(all, name) // without a page's manifest it could not play
	}
	for _, p := range Pages() {
		if p.file != "" {
			all[p.Path] = drawings[p.file]
		}
	}
	return all
}

// Reporting reports whether pages use a path for their reports. Requests for such a path are not
// part of the page.
func Reporting(path string) bool {
	switch path {
	case "/clock", "/ended", "/report", "/failure":
		return true
	}
	return false
}

// ServeHTTP answers a request from a fixed table of paths.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	// Isolated pages get a finer performance.now.
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Embedder-Policy", "require-corp")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")

	method := http.MethodGet
	if r.URL.Path == "/report" || r.URL.Path == "/failure" {
		method = http.MethodPost
	}
	if r.Method != method && !(method == http.MethodGet && r.Method == http.MethodHead) {
		h.Set("Allow", method)
		refuse(w, http.StatusMethodNotAllowed, fmt.Errorf("%s takes %s only", r.URL.Path, method))
		return
	}
	switch r.URL.Path {
	case "/":
		send(w, "text/html; charset=utf-8", s.index())
	case "/manifest.json":
		sendJSON(w, struct {
			Pages []Page `json:"pages"`
		}{Pages()})
	case tearingPath:
		serveTearing(w, r.URL.Query())
	case "/clock":
		s.serveClock(w, r)
	case "/ended":
		s.serveEnded(w, r)
	case "/report":
		s.serveReport(w, r)
	case "/failure":
		s.serveFailure(w, r)
	default:
		s.serveFile(w, r)
	}
}

func (s *Site) serveFile(w http.ResponseWriter, r *http.Request) {
	if picture, is := galleryFile(r.URL.Path); is {
		send(w, "image/png", picture)
		return
	}
	f, ok := s.files[r.URL.Path]
	if !ok || r.URL.Path == "/index.html" {
		refuse(w, http.StatusNotFound, errors.New("no such page; / lists them"))
		return
	}
	for _, p := range Pages() {
		if p.Path == r.URL.Path {
			s.servePage(w, r, p, f)
			return
		}
	}
	send(w, f.kind, f.body)
}

// config is the configuration that a page gets; sync.js reads it.
type config struct {
	Page    Page            `json:"page"`
	Run     string          `json:"run"` // "" where nobody waits for a report
	Entry   int             `json:"entry"`
	Number  uint8           `json:"number"` // in the strip's free bits; 0 outside a run
	Strip   json.RawMessage `json:"strip"`
	Payload json.RawMessage `json:"payload"` // null: nobody reads messages
	Mark    *mark           `json:"mark"`    // null: none
	// the content follows the green of the browser's previous page
	Arrive bool `json:"arrive"`
	// the page plays until /ended answers, and then until its input is quiet
	Awaits bool `json:"awaits"`

	MaxText    int `json:"max_text"` // of what the page reports: see the limits of a report
	MaxAnswers int `json:"max_answers"`
}

// servePage sends a page with its configuration. Without run and entry, as somebody who looks at
// the pages opens them, it plays and reports nothing.
func (s *Site) servePage(w http.ResponseWriter, r *http.Request, p Page, f file) {
	s.mu.Lock()
	payload := s.payload
	s.mu.Unlock()
	c := config{Page: p, Strip: s.strip, Payload: payload, MaxText: maxText, MaxAnswers: maxAnswers}
	c.Page.Strip = s.strip != nil
	if q := r.URL.Query(); q.Has("run") {
		entry, err := strconv.Atoi(q.Get("entry"))
		if q.Get("run") != s.nonce || err != nil || entry < 0 || entry >= len(s.playlist) ||
			s.playlist[entry].Path != p.Path {
			refuse(w, http.StatusNotFound, errors.New("this page does not belong to the run that is being played"))
			return
		}
		c.Run, c.Entry, c.Number, c.Mark = s.nonce, entry, uint8(entry+1), s.mark
		c.Arrive = s.arrive && entry == 0
		c.Awaits = s.ended != nil && p.Cadence == CadenceInput
		s.opened(entry)
	}
	// json.Marshal escapes <, > and &, so the value cannot end its element.
	value, err := json.Marshal(c)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	element := `<script id="rig" type="application/json">` + string(value) + `</script>`
	body := bytes.Replace(f.body, []byte("<!--rig-->"), []byte(element), 1)
	if c.Arrive || !p.Markers {
		body = bytes.Replace(body, []byte(greenGround), []byte(plainGround), 1)
	}
	send(w, f.kind, body)
}

// A page stands green from its first moment on. One that is arrived at must not: its green would
// come back behind the one that has just gone.
const (
	greenGround = "<style>html { background: #0f0; }</style>"
	plainGround = "<style>html { background: #fff; } #marker:not(.red) { display: none; }</style>"
)

// index lists the pages.
func (s *Site) index() []byte {
	var list strings.Builder
	for _, p := range Pages() {
		fmt.Fprintf(&list, "<li><a href=\"%s\">%s</a><p>%s</p></li>\n", html.EscapeString(p.Path),
			html.EscapeString(p.Title), html.EscapeString(p.Draws))
	}
	return bytes.Replace(s.files["/index.html"].body, []byte("<!--pages-->"), []byte(list.String()), 1)
}

// InputEnded tells pages that no more input comes. It needs Options.InputEnds.
func (s *Site) InputEnded() { s.endInput() }

// serveEnded answers when the input has ended.
func (s *Site) serveEnded(w http.ResponseWriter, r *http.Request) {
	if !s.ofRun(w, r) {
		return
	}
	select {
	case <-s.ended: // never where no page awaits it
		sendJSON(w, struct{}{})
	case <-r.Context().Done():
		refuse(w, http.StatusRequestTimeout, context.Cause(r.Context()))
	}
}

// ofRun refuses a request without the run's nonce.
func (s *Site) ofRun(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Query().Get("run") == s.nonce {
		return true
	}
	refuse(w, http.StatusForbidden, errors.New("not this run's nonce"))
	return false
}

// serveClock tells the rig's time, as a string because JSON numbers lose nanoseconds in browsers.
func (s *Site) serveClock(w http.ResponseWriter, r *http.Request) {
	if !s.ofRun(w, r) {
		return
	}
	sendJSON(w, struct {
		Now string `json:"now_ns"`
	}{strconv.FormatInt(int64(s.clock.Now()), 10)})
}

// body reads what a page has sent, and answers itself if it is not JSON or too long.
func body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, errors.New("a report is application/json"))
		return nil, false
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReportBytes))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			refuse(w, http.StatusRequestEntityTooLarge, fmt.Errorf("report of more than %d bytes", maxReportBytes))
			return nil, false
		}
		refuse(w, http.StatusBadRequest, err)
		return nil, false
	}
	return b, true
}

// serveFailure takes the word of a page that it cannot play.
func (s *Site) serveFailure(w http.ResponseWriter, r *http.Request) {
	b, ok := body(w, r)
	if !ok {
		return
	}
	var said struct {
		Run    string `json:"run"`
		Entry  int    `json:"entry"`
		Reason string `json:"reason"`
	}
	switch err := json.Unmarshal(b, &said); {
	case err != nil:
		refuse(w, http.StatusBadRequest, err)
	case said.Run != s.nonce:
		refuse(w, http.StatusForbidden, errNonce)
	case said.Entry < 0 || said.Entry >= len(s.playlist) || len(said.Reason) > maxText ||
		!utf8.ValidString(said.Reason):
		refuse(w, http.StatusBadRequest, errors.New("this is not a page's failure"))
	default:
		s.failed(said.Entry, said.Reason)
		sendJSON(w, struct{}{})
	}
}

func (s *Site) serveReport(w http.ResponseWriter, r *http.Request) {
	received := s.clock.Now()
	body, ok := body(w, r)
	if !ok {
		return
	}
	report, err := s.parseReport(body, received)
	switch {
	case errors.Is(err, errNonce):
		refuse(w, http.StatusForbidden, err)
		return
	case err != nil:
		refuse(w, http.StatusBadRequest, err)
		return
	}
	next, err := s.accept(report)
	if err != nil {
		refuse(w, http.StatusConflict, err)
		return
	}
	sendJSON(w, struct {
		Next string `json:"next"` // "" at the end of the playlist
	}{next})
}

func send(w http.ResponseWriter, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a browser that has gone away gets nothing; there is nobody to tell
}

func sendJSON(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	send(w, "application/json", append(body, '\n'))
}

func refuse(w http.ResponseWriter, status int, err error) {
	http.Error(w, err.Error(), status)
}
