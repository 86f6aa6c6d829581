// Package unused removes files of a data directory that programs can make again: archives of sites,
// traces, caches and plans.
//
// A file's modification time is its last use. Programs set it when they use a file. A file that a
// program keeps stays (see [staging.Keep]). A program that has a file open can read it, also if its
// name is gone. Files whose names begin with a point are unfinished. They stay for an hour after
// their last change.
package unused

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
)

// Folders of a data directory. Archives hold cookies, so they never leave the machine.
const (
	Archives = "archives"
	traces   = "traces"
	caches   = "caches"
	Plans    = "plans" // for scripts
)

// abandoned is the age of an unfinished file that no program writes any more.
const abandoned = time.Hour

// recent is the age of a use after which a file may be removed for the quota: a run may be about to
// open it.
const recent = time.Minute

// Age is the usual time after which an unused file expires.
const Age = 30 * 24 * time.Hour

// File is one that is listed or removed.
type File struct {
	Name  string    `json:"name"` // below the data directory, with slashes
	Bytes int64     `json:"bytes"`
	Used  time.Time `json:"used"`
	Why   string    `json:"why,omitempty"`
}

// Options select files.
type Options struct {
	Age    time.Duration // of the last use; 0: none expires
	Bytes  int64         // that all files may have, if Limit is set
	Limit  bool
	Remove bool
}

// Clean returns the expired and the unfinished files. With a limit, it adds the longest unused ones
// until the others keep it. With Remove, it removes them. left are the bytes of the others.
func Clean(dir string, o Options) (old []File, left int64, err error) {
	all, err := files(dir)
	if err != nil {
		return nil, 0, err
	}
	for i := range all {
		f := &all[i]
		left += f.Bytes
		switch unused := time.Since(f.Used); {
		case f.unfinished() && unused > abandoned:
			f.Why = "unfinished"
		case !f.unfinished() && o.Age > 0 && unused > o.Age:
			f.Why = "expired"
		default:
			continue
		}
		left -= f.Bytes
	}
	for i := range all {
		f := &all[i]
		if o.Limit && f.Why == "" && !f.unfinished() && left > o.Bytes && time.Since(f.Used) > recent {
			f.Why, left = "over the quota", left-f.Bytes
		}
		if f.Why == "" {
			continue
		}
		free, e := f.free(dir, o.Remove)
		if err = errors.Join(err, e); !free {
			left += f.Bytes
			continue
		}
		old = append(old, *f)
	}
	return old, left, err
}

// free reports if a file was not used since it was listed, and no program keeps it. With remove, it
// removes such a file.
func (f *File) free(dir string, remove bool) (bool, error) {
	path := filepath.Join(dir, filepath.FromSlash(f.Name))
	release, claimed := staging.Claim(path)
	defer release()
	if !claimed {
		return false, nil
	}
	st, err := os.Lstat(path)
	switch {
	case err == nil && !st.ModTime().Equal(f.Used):
		return false, nil
	case err == nil && remove:
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err == nil, err
}

// unfinished reports if a file is, or was, being written.
func (f *File) unfinished() bool { return strings.Contains("/"+f.Name, "/.") }

// ours reports if programs make files of such a name in a folder, finished or not.
func ours(folder, name string) bool {
	switch {
	case folder != Archives:
		return true
	case name[0] == '.':
		return strings.Contains(name, ".zip.")
	}
	return strings.HasSuffix(name, ".zip")
}

// files returns the files of all folders, the longest unused first. It follows no links.
func files(dir string) (all []File, err error) {
	for _, folder := range []string{Archives, traces, caches, Plans} {
		err := filepath.WalkDir(filepath.Join(dir, folder), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && ours(folder, d.Name()) {
				var info fs.FileInfo
				if info, err = d.Info(); err == nil {
					name, _ := filepath.Rel(dir, path) // path is below it
					all = append(all, File{Name: filepath.ToSlash(name), Bytes: info.Size(), Used: info.ModTime()})
				}
			}
			// A folder may be missing or another user's, and a file may have just gone.
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				return nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b File) int { return a.Used.Compare(b.Used) })
	return all, nil
}
