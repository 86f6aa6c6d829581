package runzip

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/session"
)

// Sum identifies the runs of a folder. It covers each run's place in the folder, its run.json and
// its results.json. It also covers the content of its recording, packed or not. Drawn files do not
// count, nor do pins and verdicts, which belong to one rig. So a run that was measured again is
// another one. c is the result of Inspect or Verify.
func Sum(dir string, c *Content) (string, error) {
	all := sha256.New()
	for _, run := range slices.Sorted(slices.Values(c.Runs)) {
		fmt.Fprintf(all, "%q\n", run)
		at := filepath.Join(dir, filepath.FromSlash(run))
		for _, name := range []string{session.RecordFile, result.FileName} {
			if err := sumFile(all, filepath.Join(at, name)); err != nil {
				return "", err
			}
		}
		if err := sumRecording(all, filepath.Join(at, runfolder.RecordingFile)); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

// openFile opens regular files only: opening a pipe would wait for its writer.
func openFile(path string) (*os.File, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", filepath.Base(path))
	}
	return os.Open(path)
}

// sumFile adds a file's own sum, or that there is none.
func sumFile(to io.Writer, path string) error {
	return summed(to, path, func(f *os.File, sum io.Writer) error {
		_, err := io.Copy(sum, f)
		return err
	})
}

// sumRecording adds the sum of a recording's digest, or that there is none.
func sumRecording(to io.Writer, path string) error {
	return summed(to, path, func(_ *os.File, sum io.Writer) error {
		r, err := recording.Open(path)
		if err != nil {
			return err
		}
		defer r.Close() // was only read
		return r.Digest(sum)
	})
}

// summed adds the sum of what counts of a file, or that there is none.
func summed(to io.Writer, path string, counts func(f *os.File, sum io.Writer) error) error {
	f, err := openFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = fmt.Fprintln(to, "none")
		return err
	}
	if err != nil {
		return err
	}
	defer f.Close() // was only read
	sum := sha256.New()
	if err := counts(f, sum); err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "%x\n", sum.Sum(nil))
	return err
}
