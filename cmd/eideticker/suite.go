package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
)

type suiteCmd struct {
	Do string `arg:"" name:"list|show|check|schema" enum:"list,show,check,schema" help:"Action, see above."`
	// Names are files too, so that a shell offers them.
	Names []string `arg:"" optional:"" name:"name" complete:"@tests files" help:"Name of a test, or a file or folder."`
	suiteFolders
	JSON bool `help:"Print one JSON object."`
}

// suiteFolders is the flag of commands that find tests by name.
type suiteFolders struct {
	Suite []string `placeholder:"DIR" help:"Folder with more tests; repeatable (default: suite)."`
}

func (suiteCmd) Help() string {
	return `Examples:

  eideticker suite list
  eideticker suite show framerate > my-test.yaml
  eideticker suite check my-test.yaml
  eideticker suite schema > test.schema.json

  list      list tests
  show      print a test file
  check     check test files
  schema    print the JSON Schema of test files

list and check also take folders. Tests are YAML files. 
Errors have line, column and perhaps a suggestion; the exit code is then 1.
For completion in editors, begin a test with this line:

  # yaml-language-server: $schema=test.schema.json`
}

func (c suiteCmd) Run(e *env) error {
	switch c.Do {
	case "show":
		return c.show(e)
	case "schema":
		if len(c.Names) > 0 {
			return usagef("suite schema takes no name")
		}
		_, err := e.out.Write(suite.Schema())
		return err
	}
	return c.list(e)
}

// sources returns the folders with tests, the standard one first.
func (f suiteFolders) sources() ([]suite.Source, error) {
	const usual = "suite"
	dirs := f.Suite
	if len(dirs) == 0 {
		if st, err := os.Stat(usual); err == nil && st.IsDir() {
			dirs = []string{usual}
		}
	}
	all := []suite.Source{suite.Standard()}
	for _, dir := range dirs {
		s, err := folder(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func folder(dir string) (suite.Source, error) {
	st, err := os.Stat(dir)
	if err == nil && !st.IsDir() {
		err = fmt.Errorf("%s is not a folder", dir)
	}
	return suite.Source{Name: filepath.ToSlash(dir), FS: os.DirFS(dir)}, err
}

// find returns the test of a name or a path. Without one the error is a *suite.NotFoundError.
func (f suiteFolders) find(name string) (*suite.Test, error) {
	if isTestFile(name) {
		return readTest(name)
	}
	sources, err := f.sources()
	if err != nil {
		return nil, err
	}
	return suite.Find(name, session.Known(), sources...)
}

// isTestFile reports whether a word is the path of a test file.
func isTestFile(name string) bool { return suite.IsFile(name) && !strings.Contains(name, "://") }

func readTest(path string) (*suite.Test, error) {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	t, err := suite.Read(os.DirFS(dir), name, session.Known())
	switch {
	case suite.InFile(err, path):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("read test %s: %w", path, staging.WithoutPath(err))
	}
	t.File = path
	return t, nil
}

// tests returns the named tests, or all, and the errors of others.
func (c suiteCmd) tests() (all []*suite.Test, err error) {
	if len(c.Names) == 0 {
		sources, err := c.sources()
		if err != nil {
			return nil, err
		}
		return suite.Tests(session.Known(), sources...)
	}
	for _, name := range c.Names {
		if st, e := os.Stat(name); e == nil && st.IsDir() {
			s, e := folder(name)
			if e != nil {
				return nil, e
			}
			found, e := suite.Tests(session.Known(), s)
			if len(found) == 0 && e == nil && c.Do == "check" {
				e = fmt.Errorf("%s: no test files; they end in .yaml or .yml", name)
			}
			all, err = append(all, found...), errors.Join(err, e)
			continue
		}
		t, e := c.find(name)
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		all = append(all, t)
	}
	return all, err
}

// suiteJSON is what suite list and suite check print with --json.
type suiteJSON struct {
	Tests    []suiteTestJSON    `json:"tests"`
	Problems []suiteProblemJSON `json:"problems"`
}

type suiteTestJSON struct {
	Name     string      `json:"name"`
	About    string      `json:"about"`
	File     string      `json:"file"`
	Standard bool        `json:"standard"` // comes with the program
	Test     *suite.Test `json:"test"`     // as a test file in JSON
}

type suiteProblemJSON struct {
	File    string `json:"file"`
	Line    int    `json:"line"` // 0: the file as a whole
	Column  int    `json:"column"`
	Problem string `json:"problem"`
}

func newSuiteTestJSON(t *suite.Test) suiteTestJSON {
	return suiteTestJSON{Name: t.Name, About: t.About, File: t.File, Standard: t.Standard, Test: t}
}

// list prints tests, then the errors of others.
func (c suiteCmd) list(e *env) error {
	tests, err := c.tests()
	if c.JSON {
		out := suiteJSON{Tests: []suiteTestJSON{}, Problems: []suiteProblemJSON{}}
		for _, t := range tests {
			out.Tests = append(out.Tests, newSuiteTestJSON(t))
		}
		for _, one := range suite.Parts(err) {
			p := suiteProblemJSON{Problem: one.Error()}
			var wrong *suite.Error
			if errors.As(one, &wrong) {
				p = suiteProblemJSON{wrong.File, wrong.Line, wrong.Column, wrong.Problem}
			}
			out.Problems = append(out.Problems, p)
		}
		return errors.Join(printJSON(e.out, out), summed(err))
	}
	if c.Do == "check" {
		for _, t := range tests {
			said := fmt.Sprintf("ok  %s, %s", terminal.Clean(t.File), t.Name)
			if err := session.Check(t); err != nil { // the file itself is valid
				said += "; it cannot be run: " + terminal.Clean(err.Error())
			}
			if _, err := fmt.Fprintln(e.out, said); err != nil {
				return err
			}
		}
	} else if err := printTests(e.out, tests); err != nil {
		return err
	}
	for _, one := range suite.Parts(err) {
		fmt.Fprintf(e.err, "%s\n", one)
	}
	return summed(err)
}

// summed returns the number of printed problems as an error.
func summed(err error) error {
	if n := len(suite.Parts(err)); n > 0 {
		return fmt.Errorf("%s", plural(n, "problem"))
	}
	return nil
}

func printTests(w io.Writer, tests []*suite.Test) error {
	var rows [][]string
	for _, t := range tests {
		measures := strings.Join(t.Measures, " ")
		if measures == "" {
			measures = "all that apply"
		}
		about := t.About
		if !t.Standard {
			about = strings.TrimSpace(about + " (" + t.File + ")")
		}
		rows = append(rows, []string{t.Name, measures, about})
	}
	return terminal.Wrapped(w, []string{"TEST", "MEASURES", "DESCRIPTION"}, rows, terminal.Columns(w))
}

// show prints a test file with its comments.
func (c suiteCmd) show(e *env) error {
	if len(c.Names) != 1 {
		return usagef("suite show needs the name of one test")
	}
	t, err := c.find(c.Names[0])
	if err != nil {
		var missing *suite.NotFoundError
		switch {
		case !errors.As(err, &missing):
			return err
		case missing.Near == "":
			return usagef("%w; eideticker suite list shows all tests", err)
		}
		return usageError{err}
	}
	if c.JSON {
		return printJSON(e.out, newSuiteTestJSON(t))
	}
	text := t.Text
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(bytes.Clone(text), '\n')
	}
	_, err = e.out.Write(text)
	return err
}
