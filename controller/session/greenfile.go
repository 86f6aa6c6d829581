package session

import (
	"errors"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
)

const greenPrefix = "eideticker-green-"

// greenFile is the green page in a folder of its own: browsers follow links to files from files
// alone.
type greenFile struct{ *runFolder }

// writeGreenFile puts a page that leads to an address into a new folder in one.
func writeGreenFile(in, address string) (*greenFile, error) {
	folder, err := newRunFolder(in, greenPrefix)
	if err != nil {
		return nil, fmt.Errorf("write the green page: %w", err)
	}
	g := &greenFile{folder}
	if err := os.WriteFile(g.path(), fmt.Appendf(nil, greenPage, html.EscapeString(address)), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write the green page: %w", err), g.remove())
	}
	return g, nil
}

func (g *greenFile) path() string { return filepath.Join(g.dir, "green.html") }

func (g *greenFile) address() string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(g.path())}).String()
}
