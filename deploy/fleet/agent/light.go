package agent

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// Bounds of a light folder.
const (
	maxRunBytes     = 2 << 20   // of a run in the zip file
	maxPictureBytes = 512 << 10 // of its picture
	maxRunFiles     = 2000      // in its manifest
	manifestFile    = "files.json"
	verdictFile     = "verdict.json"
)

// pack makes the light folder of an attempt that has ended, and describes the result by it. An
// attempt without a folder has none.
func (a *Agent) pack(id string, e *wire.Ended) error {
	root, release, err := a.o.Open(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer release()
	defer root.Close() // was only read
	content, runs, verdict, err := lightZip(root.FS(), id)
	if err != nil || len(runs) == 0 {
		return err
	}
	e.Set, e.Verdict = id, verdict // the runs are in the folder
	if err := os.MkdirAll(filepath.Join(a.o.Dir, lightDir), 0o750); err != nil {
		return err
	}
	if err := staging.WriteFile(a.lightFile(id), content, 0o640); err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	e.Light = &wire.LightState{Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
	return nil
}

// lightZip packs the light folder of a set. Equal folders make equal bytes. Parts of a run above
// its bound are left out. So are the further runs of a set that is too large with them.
func lightZip(set fs.FS, id string) (content []byte, runs []wire.LightRun, verdict string, err error) {
	content, runs, verdict, err = packSet(set, id, true)
	if err == nil && len(content) > wire.MaxLight {
		content, runs, verdict, err = packSet(set, id, false)
	}
	if err == nil && len(content) > wire.MaxLight {
		err = fmt.Errorf("pack %s: %d bytes are more than %d", id, len(content), wire.MaxLight)
	}
	return content, runs, verdict, err
}

// packSet packs a set, with or without its further runs. The map of the video joins the film to the
// hub's page.
func packSet(set fs.FS, id string, further bool) (content []byte, runs []wire.LightRun, verdict string, err error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	var verdicts []string
	err = fs.WalkDir(set, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (name != "." && strings.HasPrefix(e.Name(), ".") || name == session.WhyDir && !further):
			return fs.SkipDir
		case e.IsDir():
			at := b.Len()
			run, err := packRun(z, set, name, func() int { return b.Len() - at })
			if err != nil || run == nil {
				return err
			}
			run.Run = strings.ReplaceAll(path.Join(id, name), "/", "~")
			runs = append(runs, *run)
			return nil
		case path.Base(name) == verdictFile:
			text, v, err := readVerdict(set, name)
			if err != nil || !slices.Contains(verdicts, v) {
				verdicts = append(verdicts, v)
			}
			if err != nil {
				return err
			}
			return add(z, name, text)
		case name == session.OriginFile || name == session.SetFile || name == session.WhyDir+"/"+session.SetFile:
			text, err := readBounded(set, name, maxFile)
			if err != nil {
				return err
			}
			return add(z, name, text)
		}
		return nil
	})
	if err == nil {
		err = z.Close()
	}
	slices.Sort(verdicts)
	return b.Bytes(), runs, strings.Join(verdicts, ", "), err
}

func readVerdict(set fs.FS, name string) (text []byte, verdict string, err error) {
	text, err = readBounded(set, name, maxRunBytes)
	var v struct {
		Verdict string `json:"verdict"`
	}
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	return text, clip(v.Verdict, 100), err
}

// packRun packs a folder, if it is one of a run. size returns the bytes so far.
func packRun(z *zip.Writer, set fs.FS, dir string, size func() int) (*wire.LightRun, error) {
	record, err := readBounded(set, path.Join(dir, session.RecordFile), maxRunBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var run wire.LightRun
	if err == nil {
		err = json.Unmarshal(record, &run)
	}
	if err == nil {
		err = add(z, path.Join(dir, session.RecordFile), record)
	}
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", dir, err)
	}
	files, picture, err := manifest(set, dir)
	if err == nil {
		var text []byte
		if text, err = json.Marshal(files); err == nil {
			err = add(z, path.Join(dir, manifestFile), text)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", dir, err)
	}
	for _, name := range []string{result.FileName, picture, "video.mp4.json"} {
		text, err := readBounded(set, path.Join(dir, name), maxResults)
		if name == "" || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errLarge) {
			continue
		}
		if err == nil && deflated(text) <= maxRunBytes-size() {
			err = add(z, path.Join(dir, name), text)
		}
		if err == nil {
			err = z.Flush()
		}
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", dir, err)
		}
	}
	return &run, nil
}

// maxResults bounds results before they are packed.
const maxResults = 32 << 20

// deflated returns a bound of a file's size in the zip file.
func deflated(text []byte) int {
	var n counter
	w, _ := flate.NewWriter(&n, flate.BestCompression) // the level is valid
	_, _ = w.Write(text)                               // a counter has no errors
	_ = w.Close()                                      // as above
	return int(n) + 1024
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// manifest lists the files of a run, and chooses its picture: a poster, else the last frame, else
// the last small one.
func manifest(set fs.FS, dir string) (files []api.File, picture string, err error) {
	rank := func(name string) int {
		return slices.IndexFunc([]string{"last", "poster"}, func(word string) bool {
			return strings.Contains(name,
				word)
		})
	}
	err = fs.WalkDir(set, dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if _, err := fs.Stat(set, path.Join(name, session.RecordFile)); name != dir &&
				(err == nil || strings.HasPrefix(e.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		}
		st, err := e.Info()
		rel := strings.TrimPrefix(strings.TrimPrefix(name, dir), "/")
		if err != nil || !st.Mode().IsRegular() || strings.HasPrefix(e.Name(), ".") || len(files) >= maxRunFiles {
			return err
		}
		files = append(files, api.File{Name: rel, Bytes: st.Size()})
		ext := path.Ext(name)
		if (ext == ".png" || ext == ".jpg" || ext == ".webp") && st.Size() <= maxPictureBytes &&
			(picture == "" || rank(rel) >= rank(picture)) {
			picture = rel
		}
		return nil
	})
	slices.SortFunc(files, func(a, b api.File) int { return cmp.Compare(a.Name, b.Name) })
	return files, picture, err
}

// add packs a file, without a time.
func add(z *zip.Writer, name string, text []byte) error {
	w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// errLarge says that a file is above its bound.
var errLarge = errors.New("the file is too large")

// readBounded reads a regular file.
func readBounded(set fs.FS, name string, most int64) ([]byte, error) {
	st, err := fs.Stat(set, name)
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular() || st.Size() > most:
		return nil, fmt.Errorf("read %s: %d bytes of at most %d: %w", name, st.Size(), most, errLarge)
	}
	return fs.ReadFile(set, name)
}
