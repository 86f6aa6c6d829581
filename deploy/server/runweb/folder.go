package runweb

import (
	"bytes"
	"cmp"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/report"
)

// Folder serves a folder of a run or a set to a browser on this machine. It has ranges for videos.
//
// Other users and web pages of the machine can reach its loopback too. So a path begins with a
// secret, and the host must match, which prevents DNS rebinding. Folders are not listed. The
// program makes the pages itself, and serves no page of the folder.
type Folder struct {
	root   *os.Root
	pages  Pages
	host   string // with port
	secret string
}

// Pages makes the page of a name, such as run-01/report.html. Nil: the name has no page.
type Pages func(name string) ([]byte, error)

// NewFolder returns a handler of a folder's files and of pages.
func NewFolder(root *os.Root, pages Pages, host, secret string) *Folder {
	return &Folder{root, pages, host, secret}
}

// Address returns the address of the page.
func (h *Folder) Address() string {
	return "http://" + h.host + "/" + h.secret + "/" + report.PageName
}

func (h *Folder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	Headers(header)
	name, ours := strings.CutPrefix(r.URL.Path, "/"+h.secret+"/")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
	case r.Host != h.host || !ours:
		http.Error(w, "not here: open the address that eideticker view printed", http.StatusForbidden)
	default:
		h.serve(w, r, cmp.Or(name, report.PageName))
	}
}

func (h *Folder) serve(w http.ResponseWriter, r *http.Request, name string) {
	page, err := h.pages(name)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case page == nil:
		File(w, r, h.root, name)
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(page))
	}
}
