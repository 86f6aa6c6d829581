package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/deploy/server/runweb"
)

// showSet serves the page of a set, its runs and the comparison of its variants.
func (c viewCmd) showSet(e *env, dir string) (err error) {
	s, err := compare.OpenSet(e.ctx, dir)
	if err != nil {
		return fmt.Errorf("view %s: %w", dir, orInterrupted(err))
	}
	tmp, err := os.MkdirTemp("", "eideticker-view-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	compared, err := s.WriteCompared(e.ctx, tmp, compare.PageOptions{SingleFile: true}, e)
	if err != nil {
		return fmt.Errorf("view %s: %w", dir, orInterrupted(err))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() // was only read
	own, err := s.Page(compare.SetLinks{Compared: compared.Page != "", Failed: compared.Failed})
	if err != nil {
		return err
	}
	return c.serve(e, root, pagesOf(root, own, compared.Page))
}

// pagesOf has the page of a folder, the one of its comparison, and those of its runs.
func pagesOf(root *os.Root, own []byte, compared string) runweb.Pages {
	return func(name string) ([]byte, error) {
		switch {
		case name == report.PageName:
			return own, nil
		case name == compare.PageName && compared != "":
			return os.ReadFile(compared)
		case path.Base(name) == report.PageName && !runweb.Hidden(name):
			return runPage(root, path.Dir(name))
		}
		return nil, nil
	}
}

// runPage makes the page of a run in a set's folder. Nil: the run has no results.
func runPage(set *os.Root, dir string) ([]byte, error) {
	root, err := set.OpenRoot(filepath.FromSlash(dir))
	if err != nil {
		return nil, nil
	}
	defer root.Close() // was only read
	results, err := readResults(root)
	if err != nil {
		return nil, err
	}
	return report.Page(root.FS(), results, report.PageOptions{})
}

// recordingPath returns the recording of a run folder, and every other path as it is.
func recordingPath(path string) (string, error) {
	if st, err := os.Stat(path); err != nil || !st.IsDir() {
		return path, nil // opening it states the error
	}
	if compare.IsSet(path) {
		return "", fmt.Errorf("%s is a set of runs; name one of its run folders", path)
	}
	file := filepath.Join(path, runfolder.RecordingFile)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is a folder without %s; name a recording or a run folder", path,
			runfolder.RecordingFile)
	}
	return file, nil
}

// openRecording opens a recording or that of a run folder, and returns its path.
func openRecording(path string) (*recording.Reader, string, error) {
	file, err := recordingPath(path)
	if err != nil {
		return nil, "", err
	}
	r, err := recording.Open(file)
	return r, file, err
}
