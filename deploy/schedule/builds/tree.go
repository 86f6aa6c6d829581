package builds

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/eideticker/eideticker/deploy/config"
)

// errNotFolder is that of a path through a file.
var errNotFolder error = syscall.ENOTDIR

// maxProgramDepth is the number of folders in which a program is searched.
const maxProgramDepth = 5

// programs are the usual names of each kind's program.
var programs = map[string][]string{
	"chromium": {"chrome", "chromium", "chromium-browser", "google-chrome"},
	"firefox":  {"firefox", "firefox-esr", "firefox-nightly"},
}

// prefixes begin the file names of each kind's programs.
var prefixes = map[string]string{"chromium": "chrom", "firefox": "firefox"}

// findProgram returns the path of the program of a kind in a tree. Usual names come first, then
// those in the uppermost folder. Links are not followed.
func findProgram(dir, kind string) (string, error) {
	type candidate struct {
		path        string
		usual, deep int
	}
	var all []candidate
	if prefixes[kind] == "" {
		return "", fmt.Errorf("unknown kind of browser %.80q; the kinds are chromium and firefox", kind)
	}
	seen := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path) // path is below it
		deep := strings.Count(rel, string(filepath.Separator))
		if seen++; seen > usual.files {
			return fmt.Errorf("over %d files", usual.files)
		}
		if e.IsDir() && deep >= maxProgramDepth {
			return fs.SkipDir
		}
		name := e.Name()
		if !e.Type().IsRegular() || !strings.HasPrefix(name, prefixes[kind]) || strings.Contains(name, "driver") ||
			strings.Contains(name, "handler") || strings.Contains(name, "sandbox") || strings.Contains(name, ".so") {
			return nil
		}
		if st, err := e.Info(); err != nil || st.Mode()&0o111 == 0 {
			return err
		}
		rank := slices.Index(programs[kind], name)
		if rank < 0 {
			rank = len(programs[kind])
		}
		all = append(all, candidate{path, rank, deep})
		return nil
	})
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", fmt.Errorf("it has no program of %s; its file name must begin with %s", kind, prefixes[kind])
	}
	return slices.MinFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.usual, b.usual), cmp.Compare(a.deep, b.deep), strings.Compare(a.path, b.path))
	}).path, nil
}

// hasProgram reports if a tree has a program of a known kind.
func hasProgram(dir string) bool {
	for kind := range programs {
		if _, err := findProgram(dir, kind); err == nil {
			return true
		}
	}
	return false
}

// lacks returns the part that a build's tree lacks; "": none.
func lacks(dir, of string) string {
	switch {
	case of == config.OfSite && findSite(dir) == "":
		return "page of a site: a file .html at its top"
	case of == config.OfAndroid && findAPK(dir) == "":
		return "single file .apk at its top"
	case of == config.OfBrowser && !hasProgram(dir):
		return "program of chromium or firefox"
	}
	return ""
}

// findSite returns the folder of a site's pages in a tree; "": none. An only folder is entered,
// since archives often have one.
func findSite(dir string) string {
	for range maxProgramDepth {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return ""
		}
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			return e.Type().IsRegular() && filepath.Ext(e.Name()) == ".html"
		}) {
			return dir
		}
		if len(entries) != 1 || !entries[0].IsDir() {
			return ""
		}
		dir = filepath.Join(dir, entries[0].Name())
	}
	return ""
}

// sumTree returns a hash over the names, modes and contents of a tree, and its size. Without
// content, it takes sizes and times of change instead. Files that other users can change are an
// error.
func sumTree(ctx context.Context, dir string, content bool) (sum string, size int64, err error) {
	all, files := sha256.New(), 0
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path) // path is below it
		if files++; files > usual.files {
			return fmt.Errorf("it has over %d files", usual.files)
		}
		mode := st.Mode()
		what := ""
		switch {
		case mode&fs.ModeSymlink != 0:
			what, err = os.Readlink(path)
		case mode&0o002 != 0:
			err = fmt.Errorf("other users can change %s; remove their right to write", rel)
		case mode.IsDir():
		case !mode.IsRegular():
			err = fmt.Errorf("%s is neither a file nor a folder", rel)
		default:
			size += st.Size()
			if size > usual.bytes {
				return fmt.Errorf("it has over %d bytes", usual.bytes)
			}
			if what = fmt.Sprint(st.Size(), st.ModTime().UnixNano()); content {
				what, err = sumFile(ctx, path)
			}
		}
		fmt.Fprintf(all, "%q %v %q\n", rel, mode, what)
		return err
	})
	return hex.EncodeToString(all.Sum(nil)), size, err
}

// sumFile returns the SHA-256 of a file.
func sumFile(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, &counted{ctx, f, 1 << 62})
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
}
