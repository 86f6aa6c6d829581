package store

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/store/runzip"
)

const (
	maxDepth  = 5      // parts of an ID
	maxRuns   = 20_000 // in one folder below runs/
	maxValues = 2000   // of a run that are found; an analysis has some thirty per window
	maxName   = 300    // bytes of a name that are kept
	maxReason = 4000
)

// row is a run as in the index.
type row struct {
	Run
	stamp string
	kept  bool // it is in the index already, as it is
}

// stamps are the known stamps of the runs of a folder, by ID.
type stamps map[string]string

// readFolder reads all runs in a folder below runs/; known ones whose files have not changed are
// only named. A folder that is not there has none, and one that cannot be read is a run that
// cannot.
func (s *Store) readFolder(name string, known stamps) []row {
	var rows []row
	s.walk(name, 1, known, nil, &rows)
	if len(rows) == maxRuns {
		s.Log.Warn("a folder has more runs than are looked at", "folder", name, "runs", maxRuns)
	}
	return rows
}

// walk reads the runs in a folder. judged is the verdict of an enclosing folder, or nil.
func (s *Store) walk(id string, depth int, known stamps, judged *Verdict, rows *[]row) {
	entries, err := s.entries(pathOf(id))
	switch {
	case errors.Is(err, fs.ErrNotExist) || len(*rows) == maxRuns:
		return
	case err != nil:
		r := row{Run: Run{ID: id, State: unreadable, Reason: err.Error()}}
		s.complete(&r.Run)
		*rows = append(*rows, r)
		return
	}
	if has(entries, verdictFile) {
		judged = s.readVerdict(id)
	}
	if runzip.IsRun(entries) {
		*rows = append(*rows, s.readRun(id, entries, known, judged))
		return
	}
	isSet := has(entries, session.SetFile)
	for _, e := range entries {
		if isSet && e.Name() == session.WhyDir {
			continue // runs with measuring code are not compared with others
		}
		below := id + "~" + e.Name()
		if e.IsDir() && depth < maxDepth && CheckID(below) == nil {
			s.walk(below, depth+1, known, judged, rows)
		}
	}
}

// entries lists a folder, and rejects links.
func (s *Store) entries(path string) ([]os.DirEntry, error) {
	st, err := s.root.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, fs.ErrNotExist
	}
	dir, err := s.root.Open(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close() // was only read
	entries, err := dir.ReadDir(-1)
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// readRun reads the index's data of a run. An unreadable run has that state.
func (s *Store) readRun(id string, entries []os.DirEntry, known stamps, judged *Verdict) row {
	r := row{Run: Run{ID: id}, stamp: s.stampOf(id)}
	if stamp, ok := known[id]; ok && stamp == r.stamp {
		r.kept = true
		return r
	}
	if top := topOf(id); top != id {
		r.Set = top
	}
	record, results := has(entries, session.RecordFile), has(entries, result.FileName)
	r.Pinned = has(entries, pinnedFile)
	r.Bytes = s.size(pathOf(id))
	var err error
	if record {
		err = s.readRecord(&r.Run)
	} else {
		r.State = session.Passed
	}
	switch {
	case err == nil && results:
		err = s.readResults(&r.Run, record)
	case err == nil && !record:
		err = s.readRecording(&r.Run)
	}
	if err != nil {
		r.State, r.Reason, r.Values = unreadable, err.Error(), nil
	}
	if judged != nil && r.Counts() {
		r.Verdict, r.Base = judged.Verdict, judged.Base
	}
	s.complete(&r.Run)
	return r
}

func has(entries []os.DirEntry, name string) bool {
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name })
}

func (s *Store) readRecord(r *Run) error {
	f, err := s.openFile(r.ID, session.RecordFile)
	if err != nil {
		return err
	}
	defer f.Close() // was only read
	rec, err := session.ReadRecord(f)
	if err != nil {
		return err
	}
	r.Test, r.Device, r.Browser = rec.Test, rec.Device, rec.Browser
	r.Label, r.Branch, r.Revision = rec.Label, rec.Branch, rec.Revision
	r.State, r.Reason, r.WarmUp = rec.State, rec.Reason, rec.WarmUp
	r.Started, r.Elapsed = time.Unix(0, rec.StartedWallNS), time.Duration(rec.ElapsedNS)
	r.Frames, r.Lost, r.Environment = rec.Frames, rec.LostFrames, rec.Environment
	return nil
}

// readResults reads the values. Without a run.json it also reads the other data.
func (s *Store) readResults(r *Run, recorded bool) error {
	f, err := s.openFile(r.ID, result.FileName)
	if err != nil {
		return err
	}
	defer f.Close() // was only read
	res, err := result.Decode(f)
	if err != nil {
		return fmt.Errorf("%s: %w", result.FileName, err)
	}
	r.Values = valuesOf(res)
	if !recorded {
		r.Device, r.Environment = res.Environment[result.EnvDUT], res.Environment
		r.describe(res.Recording)
	}
	return nil
}

func valuesOf(res *result.Results) (all []Value) {
	names := result.WindowNames(res.Windows)
	for i := range res.Windows {
		for _, result := range res.Windows[i].Results {
			for _, v := range result.Values {
				known := slices.ContainsFunc(all, func(o Value) bool {
					return o.Place == i &&
						o.Measure == result.Measure && o.Name == v.Name
				})
				if known || v.State == analyze.Refused || len(all) == maxValues {
					continue // of two results of one measure the first counts
				}
				all = append(all, Value{
					Window: names[i], Place: i, Measure: result.Measure, Version: result.Version, Name: v.Name,
					Unit:  v.Unit,
					Value: v.Value, Low: v.Low, High: v.High, State: v.State, Better: v.Better, Threshold: v.Threshold,
				})
			}
		}
	}
	return all
}

// readRecording asks a recording that stands alone.
func (s *Store) readRecording(r *Run) error {
	st, err := s.root.Lstat(path.Join(pathOf(r.ID), runfolder.RecordingFile))
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", runfolder.RecordingFile)
	}
	rec, err := recording.Open(filepath.Join(s.dir, filepath.FromSlash(pathOf(r.ID)), runfolder.RecordingFile))
	if err != nil {
		return err
	}
	defer rec.Close() // was only read
	r.describe(runfolder.DescribeRecording(rec))
	return nil
}

func (r *Run) describe(d result.Recording) {
	r.Started, r.Elapsed = time.Unix(0, d.StartedWallNS), time.Duration(d.DurationNS)
	r.Frames, r.Lost = uint64(d.Frames), d.Lost
}

// openFile opens a regular file of a run.
func (s *Store) openFile(id, name string) (*os.File, error) {
	file := path.Join(pathOf(id), name)
	st, err := s.root.Lstat(file) // before it is opened: a pipe would wait
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", name)
	}
	return s.root.Open(file)
}

// complete brings the data into bounds. A run without a start time started at the time in its
// folder's name, else when its folder was changed.
func (s *Store) complete(r *Run) {
	for _, text := range []*string{&r.Test, &r.Device, &r.Browser, &r.Label, &r.Branch, &r.Revision} {
		*text = clip(*text, maxName)
	}
	r.Build = clip(r.Environment[result.EnvBrowser], maxName)
	r.Reason = clip(r.Reason, maxReason)
	r.Elapsed = max(r.Elapsed, 0)
	if ns := r.Started.UnixNano(); !r.Started.IsZero() && ns > 0 && ns < maxStart {
		return
	}
	if t, err := time.Parse(nameTime, topOf(r.ID)[:min(len(nameTime), len(topOf(r.ID)))]); err == nil {
		r.Started = t
		return
	}
	r.Started = time.Unix(1, 0)
	if st, err := s.root.Lstat(pathOf(r.ID)); err == nil && st.ModTime().UnixNano() > 0 &&
		st.ModTime().UnixNano() < maxStart {
		r.Started = st.ModTime()
	}
}

// clip cuts a text between two letters.
func clip(text string, most int) string {
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "")
}

const (
	maxStart = 1 << 62 // in the year 2116
	keyBits  = 20
)

// keyOf is a run's place in time: about the millisecond in which it started, then a number that is
// the same whenever the index is made.
func keyOf(started time.Time, id string) int64 {
	h := fnv.New32a()
	h.Write([]byte(id)) // never fails
	return started.UnixNano()&^(1<<keyBits-1) | int64(h.Sum32()&(1<<keyBits-1))
}

// stampOf changes when something is changed that the index knows of a run.
func (s *Store) stampOf(id string) string {
	var files []string
	for _, name := range []string{"", session.RecordFile, result.FileName, pinnedFile} {
		files = append(files, path.Join(pathOf(id), name))
	}
	for folder := id; folder != ""; folder = above(folder) {
		files = append(files, path.Join(pathOf(folder), verdictFile))
	}
	var b strings.Builder
	for _, file := range files {
		st, err := s.root.Lstat(file)
		if err != nil {
			b.WriteString("-;")
			continue
		}
		fmt.Fprintf(&b, "%d,%d;", st.ModTime().UnixNano(), st.Size())
	}
	return b.String()
}

// size adds up the files of a folder. What cannot be looked at counts nothing.
func (s *Store) size(dir string) (sum int64) {
	_ = fs.WalkDir(s.root.FS(), dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
