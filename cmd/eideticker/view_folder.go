package main

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/deploy/server/runweb"
)

// folderHandler serves one run folder to a browser on this machine, with ranges, so that videos
// seek.
//
// Screens hold secrets, and other users and web pages of the machine reach its loopback too. So a
// path begins with a secret; the host must be ours, since a name of somebody else's may be made to
// mean 127.0.0.1; nothing is listed; os.Root keeps links from leading out; and the page is made by
// this program, a foreign report.html is not run.
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
	runweb.Headers(header)
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
		runweb.File(w, r, h.root, name)
	}
}
