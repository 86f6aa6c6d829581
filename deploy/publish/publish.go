package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/deploy/server/webui"
	"github.com/eideticker/eideticker/deploy/store/trend"
	"github.com/eideticker/eideticker/pattern"
)

// Names in the folder of the site.
const (
	folderName = "files"
	indexFile  = "index.html"
)

// Options configure a site.
type Options struct {
	Dir     string   // of the site
	Data    string   // data directory, for films
	Tests   []string // names or patterns of path.Match
	Embargo time.Duration
	Names   bool // show names of devices, else kinds
	Dry     bool // write nothing
	Now     time.Time

	at func(name string) error // before each file is written; for tests
}

// File is one that a site gets.
type File struct {
	Name  string
	Bytes int
}

// Result counts the files of a site.
type Result struct {
	New           []File
	Kept, Removed int
	Values        int
	Points        int // in the pages
	Hidden        int // points that are too young
	// Unknown are the given tests without a series, each with the nearest that has one.
	Unknown []string
}

// Write writes the site of a file of trends.
func Write(ctx context.Context, db *trend.DB, o Options) (Result, error) {
	w := &writer{o: o, used: map[string]bool{}}
	if w.o.at == nil {
		w.o.at = func(string) error { return nil }
	}
	err := w.write(ctx, db)
	if err != nil {
		err = fmt.Errorf("publish %s: %w", o.Dir, err)
	}
	return w.result, err
}

//go:embed page
var sources embed.FS

// mark is in each page. An index without it is not replaced.
const mark = `<meta name="generator" content="eideticker publish">`

type writer struct {
	o             Options
	used          map[string]bool // names in that folder
	result        Result
	style, script string
}

func (w *writer) write(ctx context.Context, db *trend.DB) error {
	index := filepath.Join(w.o.Dir, indexFile)
	old, err := os.ReadFile(index)
	switch {
	case err == nil && !bytes.Contains(old, []byte(mark)):
		return errors.New("index.html is another site's; choose an empty folder")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if !w.o.Dry {
		if err := os.MkdirAll(filepath.Join(w.o.Dir, folderName), 0o755); err != nil {
			return err
		}
	}
	if err := w.assets(); err != nil {
		return err
	}
	overview, err := (&collector{db: db, w: w, files: newRuns(w.o.Data)}).collect(ctx)
	if err != nil {
		return err
	}
	content, err := w.page("Are we fast yet?", folderName+"/", overview)
	if err != nil {
		return err
	}
	if bytes.Equal(content, old) {
		w.result.Kept++
	} else if err := w.file(indexFile, content); err != nil {
		return err
	}
	return w.clean()
}

// assets writes the style and the program of the pages. The modules are those of the rig's page.
func (w *writer) assets() error {
	own, err := fs.Sub(sources, "page")
	if err != nil {
		return err
	}
	script, err := report.Bundle("site", own, webui.Modules(), report.Modules())
	if err != nil {
		return err
	}
	shared, err := fs.ReadFile(report.Modules(), "page.css")
	if err != nil {
		return err
	}
	app, err := webui.Style()
	if err != nil {
		return err
	}
	site, err := fs.ReadFile(own, "site.css")
	if err != nil {
		return err
	}
	if w.script, err = w.put("site", "js", []byte(script)); err != nil {
		return err
	}
	w.style, err = w.put("site", "css", bytes.Join([][]byte{shared, []byte(app), site}, []byte("\n")))
	return err
}

// page returns a page. folder is the address of the other files.
func (w *writer) page(title, folder string, data page) ([]byte, error) {
	data.Folder = folder
	raw, err := json.Marshal(data) // <, > and & are escaped
	if err != nil {
		return nil, err
	}
	t, err := template.ParseFS(sources, "page/site.html")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		Mark                 template.HTML
		Title, Style, Script string
		Data                 template.JS
	}{mark, title, folder + w.style, folder + w.script, template.JS(raw)})
	return b.Bytes(), err
}

var plain = pattern.New(`[^a-z0-9]+`)

// put writes a file whose name has its hash, unless it is there. It returns the name.
func (w *writer) put(stem, ending string, content []byte) (string, error) {
	stem = strings.Trim(plain.ReplaceAllString(strings.ToLower(stem), "-"), "-")
	sum := sha256.Sum256(content)
	name := fmt.Sprintf("%.60s-%x.%s", stem, sum[:8], ending)
	if w.used[name] {
		return name, nil
	}
	w.used[name] = true
	st, err := os.Lstat(filepath.Join(w.o.Dir, folderName, name))
	if err == nil && st.Mode().IsRegular() && st.Size() == int64(len(content)) {
		w.result.Kept++
		return name, nil
	}
	return name, w.file(folderName+"/"+name, content)
}

func (w *writer) file(name string, content []byte) error {
	w.result.New = append(w.result.New, File{name, len(content)})
	if w.o.Dry {
		return nil
	}
	if err := w.o.at(name); err != nil {
		return err
	}
	return staging.WriteFile(filepath.Join(w.o.Dir, filepath.FromSlash(name)), content, 0o644)
}

// hashed are names of files that an earlier call wrote, also those that a killed one left.
var hashed = pattern.New(`^\.?[a-z0-9-]{0,60}-[0-9a-f]{16}\.(html|css|js|mp4|png|jpg)(\.[0-9]+)?$`)

// clean removes the files of earlier sites.
func (w *writer) clean() error {
	entries, err := os.ReadDir(filepath.Join(w.o.Dir, folderName))
	if err != nil && !(w.o.Dry && errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	for _, e := range entries {
		if w.used[e.Name()] || !e.Type().IsRegular() || !hashed.MatchString(e.Name()) {
			continue
		}
		w.result.Removed++
		if w.o.Dry {
			continue
		}
		if err := errors.Join(w.o.at(e.Name()), os.Remove(filepath.Join(w.o.Dir, folderName, e.Name()))); err != nil {
			return err
		}
	}
	return nil
}
