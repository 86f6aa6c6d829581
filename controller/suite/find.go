package suite

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/internal/strict"
)

// Source is a folder of test files.
type Source struct {
	Name     string // what to call it before its files' names
	FS       fs.FS
	Standard bool // ours
}

//go:embed standard/*.yaml
var standard embed.FS

// Standard returns the tests that come with the program.
func Standard() Source {
	dir, err := fs.Sub(standard, "standard")
	if err != nil {
		panic(err) // of a constant
	}
	return Source{Name: "standard", FS: dir, Standard: true}
}

// maxFiles bounds the test files of one source, and maxFolders their depth in it.
const (
	maxFiles   = 1000
	maxFolders = 4
)

// Tests reads the test files of sources, *.yaml and *.yml, sorted by the names of their files.
// Names are unique: of two tests with one name the second is an error. The returned error joins the
// errors of files. Valid tests are returned along with it.
func Tests(known Known, sources ...Source) (all []*Test, err error) {
	var wrongs []error
	files := map[string]string{} // by test's name
	for _, s := range sources {
		names, err := s.files()
		if err != nil {
			wrongs = append(wrongs, err)
		}
		for _, name := range names {
			t, err := s.read(name, known)
			if err != nil {
				wrongs = append(wrongs, err)
				continue
			}
			if first, taken := files[t.Name]; taken {
				wrongs = append(wrongs, &Error{File: t.File,
					Problem: fmt.Sprintf("its name, %s, must be unique: %s has it too", t.Name, first)})
				continue
			}
			files[t.Name] = t.File
			all = append(all, t)
		}
	}
	return all, errors.Join(wrongs...)
}

// files returns the paths of a source's test files.
func (s Source) files() (names []string, err error) {
	err = fs.WalkDir(s.FS, ".", func(name string, d fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(path.Base(name), ".") && name != "."
		switch {
		case err != nil:
			return err
		case d.IsDir() && (hidden || strings.Count(name, "/") >= maxFolders):
			return fs.SkipDir
		case d.IsDir() || hidden || !IsFile(name) || path.Base(name) == devices:
			return nil
		case len(names) == maxFiles:
			return fmt.Errorf("more than %d test files", maxFiles)
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		return names, fmt.Errorf("look for tests in %s: %w", s.Name, err)
	}
	return names, nil
}

// devices is a file that may lie beside tests, and is none.
const devices = "devices.yaml"

// IsFile reports whether a name is that of a test file.
func IsFile(name string) bool {
	ending := path.Ext(name)
	return ending == ".yaml" || ending == ".yml"
}

func (s Source) read(name string, known Known) (*Test, error) {
	t, err := Read(s.FS, name, known)
	file := path.Join(s.Name, name)
	switch {
	case InFile(err, file):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("read test %s: %w", file, err)
	}
	t.File, t.Standard = file, s.Standard
	return t, nil
}

// NotFoundError says that no test has a name.
type NotFoundError struct {
	Name string
	Near string // a test's name that is like it, or ""
}

func (e *NotFoundError) Error() string {
	if e.Near != "" {
		return fmt.Sprintf("unknown test %q; did you mean %s?", strict.Clip(e.Name), e.Near)
	}
	return fmt.Sprintf("unknown test %q", strict.Clip(e.Name))
}

// Find returns the test with a name. If a file of that name is invalid, it returns the file's
// error. Otherwise it returns a *NotFoundError.
func Find(name string, known Known, sources ...Source) (*Test, error) {
	all, err := Tests(known, sources...)
	var there []string
	for _, t := range all {
		if t.Name == name {
			return t, nil
		}
		there = append(there, t.Name)
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			var e *Error
			if !errors.As(one, &e) {
				return nil, one // a folder that cannot be read may be where it is
			}
			if base := path.Base(e.File); strings.TrimSuffix(base, path.Ext(base)) == name {
				return nil, one
			}
		}
	}
	return nil, &NotFoundError{name, wording.Nearest(name, there)}
}
