package server

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recording"
)

// requestError is a mistake of a request's, or what cannot be done for it.
type requestError struct {
	status int
	what   string
}

func (e *requestError) Error() string { return e.what }

var errNoRecording = &requestError{http.StatusNotFound, "the run has no recording"}

// withRecording opens the recording of a run. It must be in the run's folder: a link that leads
// elsewhere is rejected. Read errors do not contain its path.
func (s *Server) withRecording(id string, do func(*recording.Reader) error) error {
	root, err := s.store.Folder(id)
	if err != nil {
		return err
	}
	defer root.Close() // was only read
	st, err := root.Stat(runfolder.RecordingFile)
	if err != nil || !st.Mode().IsRegular() {
		return errNoRecording
	}
	dir, err := s.store.Path(id)
	if err != nil {
		return err
	}
	r, err := recording.Open(filepath.Join(dir, runfolder.RecordingFile))
	if err == nil {
		defer r.Close() // was only read
		err = do(r)
	}
	if _, is := err.(*requestError); err != nil && !is {
		err = &requestError{http.StatusInternalServerError, "the recording cannot be read: " +
			strings.ReplaceAll(err.Error(), dir+string(os.PathSeparator), "")}
	}
	return err
}

// noRecording says why there is nothing of a recording to be sent.
func (s *Server) noRecording(w http.ResponseWriter, r *http.Request, err error) {
	if wrong, is := err.(*requestError); is {
		if wrong.status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "5")
		}
		s.refuse(w, r, wrong.status, wrong.what)
		return
	}
	s.noRun(w, r, err)
}
