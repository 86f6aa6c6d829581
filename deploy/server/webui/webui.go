package webui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/report"
)

//go:embed page
var page embed.FS

// policy lets the page load from its own origin, and show pictures that it was sent by websocket.
const policy = "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'"

// Handler serves the page.
func Handler() http.Handler {
	own := embedded("page")
	h := handler{}
	if err := errors.Join(h.add("/", own), h.add("/shared/", report.Modules())); err != nil {
		panic(err) // embedded files can be read
	}
	h["/"] = h["/index.html"]
	return h
}

// embedded returns a folder of the page.
func embedded(dir string) fs.FS {
	all, err := fs.Sub(page, dir)
	if err != nil {
		panic(err) // the name is valid
	}
	return all
}

// Modules returns the ES modules of the page.
func Modules() fs.FS { return embedded("page/js") }

// Style returns the style of the page. It adds to that of package report.
func Style() (string, error) {
	style, err := fs.ReadFile(page, "page/app.css")
	return string(style), err
}

// handler has the files by their paths.
type handler map[string]file

type file struct {
	name, tag string
	content   []byte
}

// add takes in what a page is made of; not the template and whatever else stands beside it.
func (h handler) add(prefix string, from fs.FS) error {
	return fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || contentType(name) == "" || prefix != "/" && path.Ext(name) == ".html" {
			return err
		}
		content, err := fs.ReadFile(from, name)
		h.put(prefix+name, name, content)
		return err
	})
}

func (h handler) put(path, name string, content []byte) {
	sum := sha256.Sum256(content)
	h[path] = file{name, `"` + hex.EncodeToString(sum[:16]) + `"`, content}
}

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	f, there := h[r.URL.Path]
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "the page is read by GET and HEAD", http.StatusMethodNotAllowed)
	case !there:
		http.Error(w, "unknown file; the page is at /", http.StatusNotFound)
	default:
		header.Set("Content-Type", contentType(f.name))
		header.Set("Cache-Control", "no-cache") // but asked for with its tag
		header.Set("ETag", f.tag)
		http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(f.content))
	}
}

// contentType depends on the ending alone, on every machine. It is empty for other files.
func contentType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return ""
}
