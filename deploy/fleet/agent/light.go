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
	maxRunBytes  = 2 << 20 // of a run in the zip file
	maxRunFiles  = 2000    // in its manifest
	manifestFile = "files.json"
	verdictFile  = "verdict.json"
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
	content, runs, verdict, err := lightZip(root.FS(), id, wire.MaxLight)
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

// contents are the parts that a light folder can lack: a large set has room for few.
type contents struct{ further, videos, strips bool }

// lightZip packs the light folder of a set. Equal folders make equal bytes. Parts of a run above
// its bound are left out.
func lightZip(set fs.FS, id string, most int) (content []byte, runs []wire.LightRun, verdict string, err error) {
	for _, c := range []contents{{true, true, true}, {false, true, true}, {false, false, true}, {}} {
		content, runs, verdict, err = packSet(set, id, c, most)
		if err != nil || len(content) <= most {
			return content, runs, verdict, err
		}
	}
	return nil, nil, "", fmt.Errorf("pack %s: it has over %d bytes", id, most)
}

// packSet packs a set. A run has its results and a filmstrip. The first counted run of each variant
// that has a video has it too. The map of the video joins the film to the hub's page. It stops
// above most bytes.
func packSet(set fs.FS, id string, c contents, most int) (content []byte, runs []wire.LightRun, verdict string,
	err error,
) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	var verdicts []string
	filmed := map[string]bool{} // folders of variants
	err = fs.WalkDir(set, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (name != "." && strings.HasPrefix(e.Name(), ".") || name == session.WhyDir && !c.further):
			return fs.SkipDir
		case e.IsDir():
			at := b.Len()
			p := packing{z: z, set: set, dir: name, size: func() int { return b.Len() - at }}
			of, variant := c, path.Dir(name)
			of.videos = c.videos && !filmed[variant]
			run, err := p.run(of)
			if err != nil || run == nil {
				return err
			}
			filmed[variant] = filmed[variant] || p.filmed
			run.Run = strings.ReplaceAll(path.Join(id, name), "/", "~")
			runs = append(runs, *run)
			if b.Len() > most {
				return fs.SkipAll // the rest would not fit either
			}
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

// packing is a folder that may be one of a run. size returns the bytes so far.
type packing struct {
	z      *zip.Writer
	set    fs.FS
	dir    string
	size   func() int
	filmed bool  // its video is packed
	err    error // of the first part that cannot be packed
}

// run packs the folder, if it is one of a run.
func (p *packing) run(c contents) (*wire.LightRun, error) {
	record, err := readBounded(p.set, path.Join(p.dir, session.RecordFile), maxRunBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var run wire.LightRun
	if err == nil {
		err = json.Unmarshal(record, &run)
	}
	if err == nil {
		err = add(p.z, path.Join(p.dir, session.RecordFile), record)
	}
	var files []byte
	if err == nil {
		files, err = manifest(p.set, p.dir)
	}
	if err == nil {
		err = add(p.z, path.Join(p.dir, manifestFile), files)
	}
	if err == nil {
		p.shown(c, run.State == string(session.Passed))
		err = p.err
	}
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", p.dir, err)
	}
	return &run, nil
}

// shown packs the results and their pictures. A run that passed may have its video. Another one has
// its last frame.
func (p *packing) shown(c contents, passed bool) {
	r, err := result.Decode(bytes.NewReader(p.part(result.FileName)))
	if err != nil {
		r = &result.Results{} // shows nothing
	}
	if !passed && c.strips {
		p.part(session.LastFrameFile)
	}
	for _, name := range r.Filmstrips() {
		if c.strips && p.part(name) != nil {
			break
		}
	}
	if r.Video != nil {
		p.part(r.Video.Map)
		p.filmed = passed && c.videos && p.part(r.Video.File) != nil
	}
}

// part packs a file of the run, and returns its content. It returns nil if the run lacks the file,
// or has no room for it.
func (p *packing) part(name string) []byte {
	text, err := readBounded(p.set, path.Join(p.dir, name), maxResults)
	if p.err != nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errLarge) {
		return nil
	}
	if err == nil && packed(name, text) > maxRunBytes-p.size() {
		return nil
	}
	if err == nil {
		err = add(p.z, path.Join(p.dir, name), text)
	}
	if err == nil {
		err = p.z.Flush()
	}
	p.err = err
	return text
}

// maxResults bounds results before they are packed.
const maxResults = 32 << 20

// method returns the method of a file in the zip file: pictures and videos are compressed already.
func method(name string) uint16 {
	if ext := path.Ext(name); ext == ".png" || ext == ".mp4" {
		return zip.Store
	}
	return zip.Deflate
}

// packed returns a bound of a file's size in the zip file.
func packed(name string, text []byte) int {
	if method(name) == zip.Store {
		return len(text) + 1024
	}
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

// manifest lists the files of a run.
func manifest(set fs.FS, dir string) ([]byte, error) {
	var files []api.File
	err := fs.WalkDir(set, dir, func(name string, e fs.DirEntry, err error) error {
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
		if err != nil || !st.Mode().IsRegular() || strings.HasPrefix(e.Name(), ".") || len(files) >= maxRunFiles {
			return err
		}
		files = append(files, api.File{Name: strings.TrimPrefix(strings.TrimPrefix(name, dir), "/"), Bytes: st.Size()})
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b api.File) int { return cmp.Compare(a.Name, b.Name) })
	return json.Marshal(files)
}

// add packs a file, without a time.
func add(z *zip.Writer, name string, text []byte) error {
	w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method(name)})
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
