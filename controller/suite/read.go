package suite

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"reflect"

	"github.com/goccy/go-yaml/ast"

	"github.com/eideticker/eideticker/controller/internal/strict"
)

// Known has the names that test files are checked against. A nil list is not checked.
type Known struct {
	Pages    []string // paths that the test network serves
	Measures []string
	Values   map[string][]string // of each measure
	Claims   string              // measure of a test with vitals
	Networks []string            // profiles
	Policies []string            // of scripts
	Dir      fs.FS               // the file's folder, in which its recordings are
}

// Read reads the test file at a path of fsys. Its recordings are looked for beside it. Errors are
// *Error, Errors, or of fsys.
func Read(fsys fs.FS, name string, known Known) (*Test, error) {
	if st, err := fs.Stat(fsys, name); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() { // to open a pipe is to wait for whoever writes into it
		return nil, &fs.PathError{Op: "open", Path: name, Err: errIrregular}
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // was only read
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if known.Dir, err = fs.Sub(fsys, path.Dir(name)); err != nil {
		return nil, err
	}
	return Parse(name, text, known)
}

var errIrregular = errors.New("it is not a regular file")

// Parse reads a test file's text. The file's name is for messages alone. Errors are *Error or
// Errors.
func Parse(file string, text []byte, known Known) (*Test, error) {
	r := &reader{Reader: strict.Reader{File: file, What: "test", Least: "a test has at least a name and a page",
		Max: MaxFile}, known: known}
	body, err := r.Syntax(text)
	if err != nil {
		return nil, err
	}
	v := reflect.New(reflect.TypeFor[Test]()).Elem()
	v.Set(blank(v.Type()))
	if err := r.value(v, body, "a test"); err != nil {
		if all := Parts(err); r.Exhausted() { // by the last one
			return nil, all[len(all)-1]
		}
		return nil, sorted(err)
	}
	t := v.Addr().Interface().(*Test)
	t.File, t.Text, t.Dir = file, text, known.Dir
	return t, nil
}

// reader reads one file.
type reader struct {
	strict.Reader
	known   Known
	nesting int // of repeat steps
	errors  int // that were found
}

// Errorf returns an error at the place of a node, and counts it.
func (r *reader) Errorf(at ast.Node, format string, args ...any) error {
	r.errors++
	return r.Reader.Errorf(at, format, args...)
}

// enough reports whether to read no more: hints for each of many errors take long.
func (r *reader) enough() bool { return r.errors >= maxErrors || r.Exhausted() }
