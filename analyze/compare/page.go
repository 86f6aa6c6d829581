package compare

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
)

// pageData is the data of the page's program, compare.js.
type pageData struct {
	Comparison *JSON             `json:"comparison"`
	Sum        string            `json:"sum"`
	Level      string            `json:"level"`
	A          pageSide          `json:"a"`
	B          pageSide          `json:"b"`
	Files      map[string]string `json:"files"` // addresses of the folder's files, by name
}

// pageSide is one side, with the run that is shown for all.
type pageSide struct {
	About   string          `json:"about"`
	Report  string          `json:"report"`  // address; "": none
	ZeroNS  int64           `json:"zero_ns"` // of the axis of time
	Network *result.Network `json:"network"` // nil: none
}

// drawPage writes the page beside the other files.
func (d drawing) drawPage(o report.PageOptions) error {
	aboutA, aboutB := d.Describe()
	data := &pageData{Comparison: d.JSON(), Sum: d.Sum(), Level: d.Level(),
		A: d.pageSide(d.A, d.shownA, o), B: d.pageSide(d.B, d.shownB, o)}
	data.A.About, data.B.About = aboutA, aboutB
	if d.strips != nil {
		data.A.ZeroNS, data.B.ZeroNS = int64(d.strips.zero[0]), int64(d.strips.zero[1])
	}
	names := []string{heatPictureFile, divergenceFileA, divergenceFileB, pairVideoFile}
	names = append(names, stripFiles()...)
	if !o.SingleFile {
		names = append(names, heatNumbersFile)
	}
	var err error
	if data.Files, err = report.Addresses(os.DirFS(d.made), names, o); err != nil {
		return err
	}
	page, err := report.Document("compare", "Comparison of "+filepath.Base(d.B.Path)+" with "+filepath.Base(d.A.Path),
		data)
	if err != nil {
		return err
	}
	return staging.WriteFile(d.path(PageName), page, 0o644)
}

// pageSide returns a side without its text. Results that cannot be read have no network.
func (d drawing) pageSide(s *Set, shown int, o report.PageOptions) (p pageSide) {
	if shown < 0 {
		return p
	}
	run := &s.Runs[shown]
	if r, err := result.Read(cmp.Or(run.file, filepath.Join(run.Dir, result.FileName))); err == nil {
		p.Network = r.Network
	}
	if !o.SingleFile {
		page := filepath.Join(run.Dir, report.PageName)
		p.Report = address(d.shown, page, page)
	}
	return p
}

// address returns the relative address of a file for a page in a folder; "": its source is missing.
func address(folder, file, source string) string {
	if _, err := os.Stat(source); err != nil {
		return ""
	}
	from, errA := filepath.Abs(folder)
	to, errB := filepath.Abs(file)
	rel, err := filepath.Rel(from, to)
	if errA != nil || errB != nil || err != nil {
		return ""
	}
	return "./" + (&url.URL{Path: filepath.ToSlash(rel)}).EscapedPath() // no name is taken for a scheme
}
