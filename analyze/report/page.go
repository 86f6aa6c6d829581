package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
)

// PageName is the name of the page in a run folder.
const PageName = "report.html"

// PageOptions select how a page is made.
type PageOptions struct {
	// SingleFile inlines video and pictures, so that the page can be shared as one file.
	SingleFile bool
}

//go:embed page
var sources embed.FS

// Modules returns the ES modules that draw results, and their style page.css. The rig's page loads
// them too.
func Modules() fs.FS {
	all, err := fs.Sub(sources, "page")
	if err != nil {
		panic(err) // the name is valid
	}
	return all
}

// inlined is the data of the page's program, report.js.
type inlined struct {
	Results *result.Results   `json:"results"`
	Map     *videoMap         `json:"map"`
	Problem string            `json:"problem"` // the reason for a missing video
	Files   map[string]string `json:"files"`   // addresses of the run's files, by name
}

// Page returns report.html for a run folder. A missing file is stated on the page.
func Page(folder fs.FS, r *result.Results, o PageOptions) ([]byte, error) {
	full, err := r.Complete()
	if err != nil {
		return nil, fmt.Errorf("make report: %w", err)
	}
	data, err := newData(full, &files{folder: folder, inline: o.SingleFile})
	if err != nil {
		return nil, fmt.Errorf("make report: %w", err)
	}
	return Document("report", r.Recording.Name, data)
}

// Document returns the page of a program on its data. The program is a module of [Modules].
//
// The page needs no network and no server. Its program reads the data from a script element. The
// content security policy admits that program alone, by its hash. Names from outside stay text.
func Document(program, title string, data any) ([]byte, error) {
	script, err := Bundle(program, Modules())
	if err != nil {
		return nil, fmt.Errorf("make page: %w", err)
	}
	style, err := fs.ReadFile(sources, "page/page.css")
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(data) // <, > and & are escaped
	if err != nil {
		return nil, fmt.Errorf("make page: %w", err)
	}
	t, err := template.ParseFS(sources, "page/page.html")
	if err != nil {
		return nil, fmt.Errorf("make page: %w", err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		Policy, Title string
		Style         template.CSS
		Script, Data  template.JS
	}{policy(script), title, template.CSS(style), template.JS(script), template.JS(text)})
	if err != nil {
		return nil, fmt.Errorf("make page: %w", err)
	}
	return b.Bytes(), nil
}

// Addresses returns the addresses of a folder's files by their names, without missing ones. With
// PageOptions.SingleFile the addresses have the files' content.
func Addresses(folder fs.FS, names []string, o PageOptions) (map[string]string, error) {
	from := &files{folder: folder, inline: o.SingleFile}
	return from.addresses(names)
}

// newData returns what the program of a run's page reads.
func newData(r *result.Results, from *files) (*inlined, error) {
	d := &inlined{Results: r}
	var names []string
	if !from.inline { // they are large, and a single page is not shared for them
		names = append(names, result.FileName, r.Recording.File)
		if r.Network != nil {
			names = append(names, r.Network.File)
		}
		if r.Script != nil {
			names = append(names, r.Script.Log)
		}
	}
	if r.Video != nil {
		var err error
		if d.Map, err = readVideo(r.Video, r.Recording.Frames, from); err != nil {
			d.Problem = err.Error() + "."
		} else {
			names = append(names, r.Video.File)
		}
	}
	pictures := r.Pictures
	for i := range r.Windows {
		pictures = append(pictures[:len(pictures):len(pictures)], r.Windows[i].Pictures...)
	}
	for _, p := range pictures {
		names = append(names, p.File)
		if !from.inline {
			names = append(names, p.Data)
		}
	}
	var err error
	d.Files, err = from.addresses(names)
	return d, err
}

// WritePage writes report.html as a whole or not at all.
func WritePage(path string, folder fs.FS, r *result.Results, o PageOptions) error {
	b, err := Page(folder, r, o)
	if err != nil {
		return err
	}
	return staging.WriteFile(path, b, 0o644)
}

// policy is the content security policy. "file:" is 'self' where the page is a file.
func policy(script string) string {
	hash := sha256.Sum256([]byte(script))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; " +
		"img-src 'self' file: data:; media-src 'self' file: blob:; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(hash[:]) + "'"
}
