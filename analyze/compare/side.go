package compare

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recording"
)

// side is a window of one of the two runs that are shown.
type side struct {
	run    *Run
	window *result.Window
}

// window returns the window of a run that the primary measure is of.
func (c *Comparison) window(r *Run) (*result.Window, bool) {
	for i, key := range r.keys {
		if key == c.Primary.Key.Window {
			return &r.Windows[i], true
		}
	}
	return nil, false
}

// noRecordingError means that a run's recording is missing or another one. The comparison does not
// fail.
type noRecordingError struct{ error }

// twoRecordings opens those of the two runs that are shown.
func twoRecordings(a, b side) (ra, rb *recording.Reader, err error) {
	ra, errA := openRecordingOf(a.run)
	rb, errB := openRecordingOf(b.run)
	errs := []error{errA, errB}
	for i, r := range []*recording.Reader{ra, rb} {
		if errs[1-i] != nil && r != nil {
			r.Close() // was only read
		}
	}
	var missing noRecordingError
	if err := errors.Join(errs...); errors.As(err, &missing) {
		return nil, nil, noRecordingError{err}
	} else if err != nil {
		return nil, nil, err
	}
	return ra, rb, nil
}

// openRecordingOf opens a run's recording, if it is the one that the run's results are of.
func openRecordingOf(run *Run) (*recording.Reader, error) {
	path, err := recordingOf(run)
	if err != nil {
		return nil, err
	}
	r, err := recording.Open(path)
	if err != nil {
		return nil, err
	}
	if err := runfolder.ResultsAreOf(run.Recording, r, path); err != nil {
		r.Close() // was only read
		return nil, noRecordingError{err}
	}
	return r, nil
}

// recordingOf is the path of a run's recording.
func recordingOf(r *Run) (string, error) {
	name := r.Recording.File
	if name == "" {
		name = "recording.eid"
	}
	path := filepath.Join(r.Dir, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", noRecordingError{fmt.Errorf("run %s has no %s", r.Name, name)}
		}
		return "", err
	}
	return path, nil
}
