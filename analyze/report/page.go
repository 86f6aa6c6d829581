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
	"strings"
)

// PageName is the name of the page in a run folder.
const PageName = "report.html"

// PageOptions say how a page is made.
type PageOptions struct {
	// SingleFile puts video and pictures into the page, so that it can be shared as one file.
	SingleFile bool
}

//go:embed page
var sources embed.FS

// Modules are the parts of the page that other pages of the program share: its style page.css, and
// as ES modules format.js, timeline.js, player.js and view.js.
func Modules() fs.FS {
	all, err := fs.Sub(sources, "page")
	if err != nil {
		panic(err) // the name is valid
	}
	return all
}

// scripts are the page's program in the order in which it is put together.
func scripts() []string {
	return []string{"format.js", "timeline.js", "player.js", "view.js", "plot.js", "chart.js", "strip.js", "main.js"}
}

// Page returns report.html. The folder is that of the run; what is missing there is said on the
// page.
//
// The page needs no network and no server: what its program reads stands in a script element, and a
// content security policy lets nothing run but that program, by its hash. So names from outside
// stay text, whatever they are.
func Page(folder fs.FS, r *Results, o PageOptions) ([]byte, error) {
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("make report: %w", err)
	}
	script, err := program()
	if err != nil {
		return nil, err
	}
	style, err := fs.ReadFile(sources, "page/page.css")
	if err != nil {
		return nil, err
	}
	files := &files{folder: folder, inline: o.SingleFile}
	content := newContent(r, files)
	data, err := json.Marshal(newData(r, content.film)) // <, > and & are escaped
	if err != nil {
		return nil, fmt.Errorf("make report: %w", err)
	}
	if files.err != nil {
		return nil, fmt.Errorf("make report: %w", files.err)
	}
	content.Style, content.Script, content.Data = template.CSS(style), template.JS(script), template.JS(data)
	content.Policy = policy(script)
	t, err := template.New("page.html").Funcs(functions()).ParseFS(sources, "page/page.html")
	if err != nil {
		return nil, fmt.Errorf("make report: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, content); err != nil {
		return nil, fmt.Errorf("make report: %w", err)
	}
	return b.Bytes(), nil
}

// WritePage writes report.html so that it is there as a whole or not at all.
func WritePage(path string, folder fs.FS, r *Results, o PageOptions) error {
	b, err := Page(folder, r, o)
	if err != nil {
		return err
	}
	return replace(path, b)
}

// program puts the scripts together, in a scope of their own, where they need not import each
// other: modules cannot be loaded by a page that is a file.
func program() (string, error) {
	var b strings.Builder
	b.WriteString("(() => {\n'use strict';\n")
	for _, name := range scripts() {
		source, err := fs.ReadFile(sources, "page/"+name)
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(source)) {
			if !strings.HasPrefix(line, "import ") {
				b.WriteString(strings.TrimPrefix(line, "export "))
			}
		}
	}
	b.WriteString("})();\n")
	return b.String(), nil
}

// policy is the content security policy. "file:" is what 'self' means where the page is a file.
func policy(script string) string {
	hash := sha256.Sum256([]byte(script))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; " +
		"img-src 'self' file: data:; media-src 'self' file: blob:; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(hash[:]) + "'"
}
