package main

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/report"
)

// folderHandler serves one run folder to a browser on this machine, with ranges, so that videos seek.
//
// Screens hold secrets, and other users and web pages of the machine reach its loopback too. So a path begins with a
// secret; the host must be ours, since a name of somebody else's may be made to mean 127.0.0.1; nothing is listed; os.Root keeps links from
// leading out; and the page is made by this program, a foreign report.html is not run.
type folderHandler struct {
	root   *os.Root
	page   []byte
	made   time.Time // the page
	host   string    // with port
	secret string
}

func newFolderHandler(root *os.Root, page []byte, host, secret string) *folderHandler {
	return &folderHandler{root, page, time.Now(), host, secret}
}

// address is where the page is.
func (h *folderHandler) address() string {
	return "http://" + h.host + "/" + h.secret + "/" + report.PageName
}

func (h *folderHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	name, ours := strings.CutPrefix(r.URL.Path, "/"+h.secret+"/")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
	case r.Host != h.host || !ours:
		http.Error(w, "not here: open the address that eideticker view printed", http.StatusForbidden)
	case name == report.PageName || name == "":
		header.Set("Content-Type", "text/html; charset=utf-8")
		http.ServeContent(w, r, report.PageName, h.made, bytes.NewReader(h.page))
	default:
		h.serveFile(w, r, name)
	}
}

// serveFile serves a regular file that is not hidden.
func (h *folderHandler) serveFile(w http.ResponseWriter, r *http.Request, name string) {
	if !fs.ValidPath(name) || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") || strings.Contains(name, `\`) {
		http.NotFound(w, r)
		return
	}
	st, err := h.root.Stat(name) // before it is opened: a pipe would wait
	if err != nil || !st.Mode().IsRegular() {
		http.NotFound(w, r)
		return
	}
	f, err := h.root.Open(name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close() // was only read
	w.Header().Set("Content-Type", contentType(name))
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'; img-src data:; media-src 'self'; style-src 'unsafe-inline'")
	http.ServeContent(w, r, name, st.ModTime(), f)
}

// contentType is by the ending alone, the same on every machine. What a browser would run is text.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".png":
		return "image/png"
	case ".svg":
		return "image/svg+xml"
	case ".mp4":
		return "video/mp4"
	case ".json":
		return "application/json"
	case ".txt", ".html", ".csv":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}
