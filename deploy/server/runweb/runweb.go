// Package runweb serves the files of a run folder to browsers. The caller decides about permission.
//
// A folder may come from anywhere. Its files never run. Paths outside it, listings and hidden files
// are refused.
package runweb

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/controller/session"
)

// Headers protects served files from other pages, and from being read as another type. Every answer
// has them, errors too.
func Headers(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
}

// policy lets files that a browser might take for a page do nothing.
const policy = "sandbox; default-src 'none'; img-src data:; media-src 'self'; style-src 'unsafe-inline'"

// File serves a regular file that is not hidden, with ranges, so that videos seek. Everything else
// is not found. [os.Root] keeps links from leading out.
func File(w http.ResponseWriter, r *http.Request, root *os.Root, name string) {
	if Hidden(name) {
		http.NotFound(w, r)
		return
	}
	st, err := root.Stat(name) // before it is opened: a pipe would wait
	if err != nil || !st.Mode().IsRegular() {
		http.NotFound(w, r)
		return
	}
	f, err := root.Open(name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close() // was only read
	Typed(w.Header(), name)
	w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, st.Size(), st.ModTime().UnixNano()))
	http.ServeContent(w, r, name, st.ModTime(), f)
}

// Typed sets the type of a file by its name, so that its content does not run.
func Typed(h http.Header, name string) {
	h.Set("Content-Type", contentType(name))
	h.Set("Content-Security-Policy", policy)
}

// Hidden reports whether a path is not a visible file. Paths must be clean and below the folder.
// Parts that begin with a point, the file of TLS secrets and raw traces are hidden.
func Hidden(name string) bool {
	return !fs.ValidPath(name) || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") ||
		strings.Contains(name, `\`) || strings.EqualFold(path.Base(name), session.KeyLogFile) ||
		activity.Raw(name)
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
	case ".json", ".har":
		return "application/json"
	case ".txt", ".html", ".csv":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}
