package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/netsim/har"
)

// AddTraces computes the activity in the results of a run folder again, from all its traces. It
// writes the results and the report. Without results it does nothing and returns false.
func AddTraces(dir string) (added bool, err error) {
	path := filepath.Join(dir, result.FileName)
	results, err := result.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	e := &Earlier{dir: dir}
	if err := e.open(context.Background(), runfolder.HARFile,
		func(f io.Reader) (err error) { e.fall, err = har.ReadWaterfall(f); return err }); err != nil {
		e.fall = nil // waits have no requests
	}
	p, problems := profileOf(dir, strings.ReplaceAll(results.Recording.ID, "-", ""), results.Windows, e.fall)
	if p != nil {
		results.Profile = p
	}
	for _, text := range problems {
		results.Notes = append(results.Notes, cut(text, 1000))
	}
	if err := result.Write(path, results); err != nil {
		return false, err
	}
	if results, err = result.Read(path); err != nil { // as the report reads them
		return false, err
	}
	return true, report.WritePage(filepath.Join(dir, runfolder.PageFile), os.DirFS(dir), results, report.PageOptions{})
}
