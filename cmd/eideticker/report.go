package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/result"
)

type reportCmd struct {
	Dir        string `arg:"" name:"dir" complete:"files" help:"Run folder, or folder of a set."`
	SingleFile bool   `help:"Embed video and pictures, to share one file."`
	Output     string `short:"o" placeholder:"FILE" help:"Page to write (default: report.html in DIR)."`
	Force      bool   `help:"Overwrite FILE."`
}

func (reportCmd) Help() string {
	return `Examples:

  eideticker report out/run
  eideticker report out/run --single-file -o shared.html
  eideticker report out/set

Writes the page again from results.json and the files beside it. Open it without a server.

The page of a set has the primary values of each variant, with every run as a dot, and all runs with their reports. If
the set has two variants, compare.html is written too. --single-file embeds its pictures and video.`
}

func (c reportCmd) Run(e *env) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	written := []string{path}
	if compare.IsSet(c.Dir) {
		written, err = compare.WritePages(e.ctx, c.Dir, path, compare.PageOptions{SingleFile: c.SingleFile}, e)
	} else {
		run, failed := openRun(c.Dir)
		if failed != nil {
			return failed
		}
		defer run.Close()
		err = report.WritePage(path, run.root.FS(), run.results, report.PageOptions{SingleFile: c.SingleFile})
	}
	if err != nil {
		return fmt.Errorf("report %s: %w", c.Dir, orInterrupted(err))
	}
	for _, name := range written {
		st, err := os.Stat(name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(e.out, "%s, %s\n", name, bytesText(st.Size())); err != nil {
			return err
		}
	}
	return nil
}

// path returns the page's path. A page with links to the run's files must be beside them.
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
			return "", usagef("%s is outside %s with its video and pictures; embed them with --single-file", c.Output,
				c.Dir)
		}
	}
	return c.Output, refuseExisting(c.Output, c.Force)
}

func sameFolder(a, b string) (bool, error) {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return filepath.Dir(a) == filepath.Dir(b), errors.Join(errA, errB)
}

// runDir is an opened run folder. Links cannot lead out of it.
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
