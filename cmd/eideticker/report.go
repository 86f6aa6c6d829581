package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/result"
)

type reportCmd struct {
	Dir        string `arg:"" name:"dir" complete:"files" help:"Run folder with results.json, and perhaps video and pictures."`
	SingleFile bool   `help:"Embed video and pictures, to share one file."`
	Output     string `short:"o" placeholder:"FILE" complete:"files" help:"Page to write (default: report.html in the run folder)."`
	Force      bool   `help:"Overwrite FILE."`
}

func (reportCmd) Help() string {
	return `Examples:

  eideticker report out/run
  eideticker report out/run --single-file -o shared.html

Writes the page again from results.json and the files beside it. Open it without a server.`
}

func (c reportCmd) Run(e *env) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	run, err := openRun(c.Dir)
	if err != nil {
		return err
	}
	defer run.Close()
	if err := report.WritePage(path, run.root.FS(), run.results,
		report.PageOptions{SingleFile: c.SingleFile}); err != nil {
		return fmt.Errorf("report %s: %w", c.Dir, err)
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.out, "%s, %s\n", path, bytesText(st.Size()))
	return err
}

// path is where the page goes. One that refers to the run's files stands beside them.
func (c reportCmd) path() (string, error) {
	own := filepath.Join(c.Dir, report.PageName)
	if c.Output == "" {
		return own, nil
	}
	if !c.SingleFile {
		beside, err := sameFolder(c.Output, own)
		if err != nil {
			return "", err
		}
		if !beside {
			return "", usagef("%s is outside %s, which has video and pictures; embed them with --single-file", c.Output, c.Dir)
		}
	}
	return c.Output, refuseExisting(c.Output, c.Force)
}

func sameFolder(a, b string) (bool, error) {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return filepath.Dir(a) == filepath.Dir(b), errors.Join(errA, errB)
}

// runDir is a run folder. Nothing outside it is read, whatever links there are.
type runDir struct {
	root    *os.Root
	results *result.Results
}

// openRun opens a run folder and reads its results.
func openRun(dir string) (*runDir, error) {
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		return nil, fmt.Errorf("%s is a file, not a run folder; make one with: eideticker analyze FILE.eid -o DIR", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	results, err := readResults(root)
	if err != nil {
		err = fmt.Errorf("%s: %w", dir, err)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: not a run folder; make one with: eideticker analyze FILE.eid -o DIR", err)
		}
		return nil, errors.Join(err, root.Close())
	}
	return &runDir{root, results}, nil
}

func (r *runDir) Close() error { return r.root.Close() }

func readResults(root *os.Root) (*result.Results, error) {
	f, err := root.Open(result.FileName)
	if err != nil {
		return nil, err
	}
	defer f.Close() // was only read
	return result.Decode(f)
}
