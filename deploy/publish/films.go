package publish

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/controller/session"
)

// maxFilm bounds the bytes of a film.
const maxFilm = 64 << 20

// runs are the folders of runs of a rig, and of a hub's rigs, whose runs are RIG/JOB.N~DIR.
type runs struct{ roots []string }

func newRuns(data string) runs {
	return runs{[]string{filepath.Join(data, "runs"), filepath.Join(data, "fleet", "light")}}
}

// open opens the folder of a run. Its files cannot lead out of it.
func (r runs) open(id string) (*os.Root, error) {
	dir := strings.ReplaceAll(id, "~", "/")
	if !fs.ValidPath(dir) {
		return nil, fs.ErrNotExist
	}
	for _, root := range r.roots {
		all, err := os.OpenRoot(root)
		if err != nil {
			continue
		}
		run, err := all.OpenRoot(filepath.FromSlash(dir))
		if err := errors.Join(err, all.Close()); err == nil {
			return run, nil
		}
	}
	return nil, fs.ErrNotExist
}

// hasVideo reports if a run has a video. Scheduled sets make few.
func (r runs) hasVideo(id string) bool {
	run, err := r.open(id)
	if err != nil {
		return false
	}
	_, err = run.Stat(runfolder.VideoFile)
	return errors.Join(err, run.Close()) == nil
}

// film puts the film of a run into the site. It is nil where the run has gone or has no film.
func (r runs) film(w *writer, id, build string) (*film, error) {
	run, err := r.open(id)
	if err != nil {
		return nil, nil // runs are removed when the disk is full
	}
	defer run.Close()
	in, err := run.Open(result.FileName)
	if err != nil {
		return nil, nil
	}
	res, err := result.Decode(in)
	if errors.Join(err, in.Close()) != nil {
		return nil, nil // reports state why
	}
	f := film{Build: build}
	if res.Video != nil {
		if f.Video, err = putFilm(w, run, "film", res.Video.File, "mp4"); err != nil {
			return nil, err
		}
	}
	for _, name := range res.Filmstrips() {
		if f.Strip == "" {
			if f.Strip, err = putFilm(w, run, "strip", name, "png", "jpg"); err != nil {
				return nil, err
			}
		}
	}
	if f.Video == "" && f.Strip == "" {
		return nil, nil
	}
	return &f, nil
}

func putFilm(w *writer, run *os.Root, stem, name string, endings ...string) (string, error) {
	st, err := run.Lstat(name)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxFilm {
		return "", nil
	}
	f, err := run.Open(name)
	if err != nil {
		return "", nil
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFilm))
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	for _, ending := range endings {
		if path.Ext(name) == "."+ending {
			return w.put(stem, ending, content)
		}
	}
	return "", nil
}

// kind returns the kind of the device of a run: never a text of the run.
func (r runs) kind(id string) string {
	const unknown = "Device"
	run, err := r.open(id)
	if err != nil {
		return unknown
	}
	defer run.Close()
	f, err := run.Open(session.RecordFile)
	if err != nil {
		return unknown
	}
	record, err := session.ReadRecord(f)
	if errors.Join(err, f.Close()) != nil {
		return unknown
	}
	system := strings.ToLower(record.Environment[result.EnvOS])
	for _, k := range [][2]string{{"android", "Android device"}, {"windows", "Windows computer"}, {"mac", "Mac"},
		{"ios", "iPhone or iPad"}, {"linux", "Linux computer"}, {"ubuntu", "Linux computer"},
		{"debian", "Linux computer"}, {"fedora", "Linux computer"}} {
		if strings.Contains(system, k[0]) {
			return k[1]
		}
	}
	return unknown
}
