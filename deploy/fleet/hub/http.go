package hub

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
	"github.com/eideticker/eideticker/deploy/server/runweb"
)

// natsPath is the path of the websocket of rigs.
const natsPath = "/fleet/v1/nats"

// manifestFile of a run in a light folder lists the files that its rig has.
const manifestFile = "files.json"

// Handler answers requests below /fleet/v1/. Rigs send join, nats and ticket, with secrets of their
// own. The caller must check that others may view runs, and bound the requests of an address.
func (h *Hub) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /fleet/v1/join", h.join)
	mux.HandleFunc("POST /fleet/v1/ticket/{id}", h.post)
	mux.HandleFunc("GET /fleet/v1/ticket/{id}", h.sendBuild)
	mux.HandleFunc("GET /fleet/v1/runs/{rig}/{run}/{name...}", h.file)
	mux.HandleFunc("GET /fleet/v1/picture/{rig}/{device}", h.picture)
	mux.Handle("GET "+natsPath, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL = &url.URL{Scheme: "http", Host: h.o.Websocket, Path: "/"}
		r.Out.Host = h.o.Websocket
	}})
	return mux
}

func (h *Hub) join(w http.ResponseWriter, r *http.Request) {
	var q wire.Join
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<10)).Decode(&q); err != nil {
		http.Error(w, "the request to join cannot be read", http.StatusBadRequest)
		return
	}
	if q.Version < wire.Oldest {
		http.Error(w, "the rig's program is too old for this hub", http.StatusBadRequest)
		return
	}
	out, err := h.Join(r.Context(), q)
	if is := (*api.Error)(nil); errors.As(err, &is) {
		http.Error(w, is.Message, http.StatusServiceUnavailable)
		return
	}
	if err != nil {
		http.Error(w, clip(err.Error(), maxReason), http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // the rig has disconnected
}

// picture answers with the latest picture of a device.
func (h *Hub) picture(w http.ResponseWriter, r *http.Request) {
	rig, device := r.PathValue("rig"), r.PathValue("device")
	runweb.Headers(w.Header())
	if !rigForm.MatchString(rig) || !labelForm.MatchString(device) {
		http.NotFound(w, r)
		return
	}
	h.relay(w, r, rig, previewPath+device, func() { w.Header().Set("Content-Type", "image/jpeg") })
}

// file answers with a file of a run: from the light folder, or else from its rig.
func (h *Hub) file(w http.ResponseWriter, r *http.Request) {
	rig, run, name := r.PathValue("rig"), r.PathValue("run"), r.PathValue("name")
	runweb.Headers(w.Header())
	attempt, below, _ := strings.Cut(run, "~")
	below = strings.ReplaceAll(below, "~", "/")
	if !rigForm.MatchString(rig) || runweb.Hidden(attempt) || strings.Contains(attempt, "/") || len(run) > 400 ||
		below != "" && runweb.Hidden(below) || runweb.Hidden(name) {
		http.NotFound(w, r)
		return
	}
	known := int64(-1) // the size of the file
	if dir, err := h.light.path(rig, attempt); err == nil {
		root, err := os.OpenRoot(dir)
		if err == nil {
			defer root.Close() // was only read
			if below != "" {
				if root, err = root.OpenRoot(below); err == nil {
					defer root.Close() // was only read
				}
			}
		}
		if err == nil && name == report.PageName {
			h.page(w, r, root)
			return
		}
		if err == nil {
			if st, err := root.Stat(name); err == nil && st.Mode().IsRegular() {
				runweb.File(w, r, root, name)
				return
			}
			if n, is := readManifest(root)[name]; is && r.URL.RawQuery == "" {
				known = n
			}
		}
	}
	if name == report.PageName { // a rig's pages do not run here
		http.Error(w, "the hub has no light folder of this run", http.StatusNotFound)
		return
	}
	from := (&url.URL{Path: "/api/v1/runs/" + run + "/" + name, RawQuery: regionOf(r)}).RequestURI()
	if known > 0 && h.pieced(w, r, &pieceReader{rig: rig, from: from, size: known}, name) {
		return
	}
	h.relay(w, r, rig, from, func() { runweb.Typed(w.Header(), name) })
}

// regionOf returns the only query that files have.
func regionOf(r *http.Request) string {
	if region := r.URL.Query().Get("region"); region != "" && len(region) < 64 {
		return url.Values{"region": {region}}.Encode()
	}
	return ""
}

// page makes the page of a run. Files that only the rig has are there by relay.
func (h *Hub) page(w http.ResponseWriter, r *http.Request, root *os.Root) {
	f, err := root.Open(result.FileName)
	if err != nil {
		http.Error(w, "the run has no results", http.StatusNotFound)
		return
	}
	results, err := result.Decode(f)
	_ = f.Close() // was only read
	var page []byte
	if err == nil {
		page, err = report.Page(withManifest(root), results, report.PageOptions{})
	}
	if err != nil {
		http.Error(w, "the run's page cannot be made: "+clip(err.Error(), maxReason), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page) // the client has disconnected
}

// manifested is a light folder that also states the files of its manifest.
type manifested struct {
	fs.FS
	bytes map[string]int64
}

func withManifest(root *os.Root) fs.FS { return manifested{root.FS(), readManifest(root)} }

// readManifest returns the bytes of each file of a run that its rig has.
func readManifest(root *os.Root) map[string]int64 {
	bytes := map[string]int64{}
	st, err := root.Stat(manifestFile)
	if err != nil || st.Size() > 1<<20 {
		return bytes
	}
	raw, err := root.ReadFile(manifestFile)
	var files []api.File
	if err != nil || json.Unmarshal(raw, &files) != nil {
		return bytes
	}
	for _, f := range files {
		bytes[f.Name] = f.Bytes
	}
	return bytes
}

// Stat implements [fs.StatFS].
func (m manifested) Stat(name string) (fs.FileInfo, error) {
	st, err := fs.Stat(m.FS, name)
	if n, is := m.bytes[name]; err != nil && is {
		return listed{name: path.Base(name), bytes: n}, nil
	}
	return st, err
}

// listed is a file of a manifest.
type listed struct {
	fs.FileInfo
	name  string
	bytes int64
}

func (l listed) Name() string      { return l.name }
func (l listed) Size() int64       { return l.bytes }
func (l listed) Mode() fs.FileMode { return 0o440 }
func (l listed) IsDir() bool       { return false }
