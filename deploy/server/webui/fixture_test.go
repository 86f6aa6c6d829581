package webui

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
)

// made is a run of a scripted scene.
type made struct {
	id, dir string
	frames  int
}

// silent gets the progress of an analysis.
type silent struct{}

func (silent) Phase(string, int) (func(int), func()) { return func(int) {}, func() {} }

// shared are the runs that several tests show, by ID and scene. No test changes them.
var shared = struct {
	sync.Mutex
	runs map[string]made
}{runs: map[string]made{}}

// makeRun records a scene and measures it, into a run folder that the rig serves as its latest run.
// The same run is made once.
func (p *played) makeRun(id, scene string) made {
	p.Helper()
	shared.Lock()
	defer shared.Unlock()
	if m, ok := shared.runs[id+scene]; ok {
		return p.serves(m)
	}
	dir, err := os.MkdirTemp(os.Getenv(session.LockVariable), "run") // which daemontest.Main removes
	p.check(err)
	path := filepath.Join(dir, runfolder.RecordingFile)
	src, err := recorder.OpenSource(p.Context(), scene)
	p.check(err)
	_, err = recorder.Record(p.Context(), src, path, recorder.Options{Program: "test"})
	p.check(err)
	p.check(src.Close())
	m := p.measure(id, dir)
	shared.runs[id+scene] = m
	return m
}

// part is some of a run's frames: From to To, To not included.
type part struct {
	of       made
	from, to int
}

// splice makes a run of parts of others, as if the frames between them had been lost.
func (p *played) splice(id string, parts ...part) made {
	p.Helper()
	dir := p.TempDir()
	var ranges []recorder.Range
	for _, one := range parts {
		r, err := recording.Open(filepath.Join(one.of.dir, runfolder.RecordingFile))
		p.check(err)
		defer r.Close()
		ranges = append(ranges, recorder.Range{Reader: r, From: one.from, To: one.to})
	}
	w, err := recording.Create(filepath.Join(dir, runfolder.RecordingFile),
		recording.Options{OwnClock: ranges[0].Reader.Info().OwnClock, Program: "test"})
	p.check(err)
	p.check(recorder.Copy(p.Context(), w, ranges, recorder.CopyOptions{}))
	p.check(w.Close())
	return p.measure(id, dir)
}

// measure makes a run folder of the recording in a folder, and has the rig serve it.
func (p *played) measure(id, dir string) made {
	p.Helper()
	path := filepath.Join(dir, runfolder.RecordingFile)
	r, err := recording.Open(path)
	p.check(err)
	defer r.Close()
	found, err := runfolder.Run(p.Context(), r, runfolder.Settings{Name: id}, "test", silent{})
	p.check(err)
	p.check(runfolder.WriteFolder(p.Context(), dir, r, found,
		runfolder.FolderOptions{Force: true, Source: path, More: func(dir string) error {
			if p.more == nil {
				return nil
			}
			return p.more(dir, found)
		}}, silent{}))
	return p.serves(made{id, dir, r.Frames()})
}

// serves has the rig serve a run as its latest one.
func (p *played) serves(m made) made {
	p.folders[m.id] = m.dir
	p.runs = append([]api.RunInfo{info(m.id, m.frames, time.Date(2026, 11, 21, 20, 15, 30, 0, time.UTC))}, p.runs...)
	return m
}

func (p *played) check(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func info(id string, frames int, started time.Time) api.RunInfo {
	return api.RunInfo{
		ID: id, Set: id, Test: "framerate", Device: "local", Browser: "chromium",
		BrowserVersion: "Chromium 148.0.7778.167", Label: "nightly", Branch: "main", Revision: "5d1e02ab4c",
		State:         "ok",
		StartedWallNS: started.UnixNano(), ElapsedNS: 21e9, Frames: uint64(frames), Bytes: 66 << 20,
		Values: []api.Value{{Measure: "fps", Name: "framerate", Unit: "frames/s", Value: 59.94, Low: 59.9, High: 60,
			State: "bounded"}, {Measure: "tearing", Name: "torn_frames", Unit: "frames", State: "exact"}},
	}
}

// manyRuns adds runs that are only named, of several tests and in several states.
func (p *played) manyRuns(n int) {
	tests := []string{"framerate", "load", "tearing", "scroll", "shop-front"}
	for i := range n {
		r := info(fmt.Sprintf("20261001-%06d-%s-%04x", i, tests[i%5], i), 600+i%40,
			time.Date(2026, 10, 30, 12, 0, 0, 0, time.UTC).Add(-time.Duration(i)*time.Minute))
		r.Test, r.Label = tests[i%5], fmt.Sprintf("build-%d", n-i)
		switch {
		case i%97 == 13:
			r.State, r.Reason, r.Values = "failed", "no green was seen within 30 s", nil
		case i%41 == 7:
			r.State, r.Reason, r.Lost = "rejected", "3 % of the frames are missing", 19
		}
		r.Pinned = i%100 == 3
		if i%50 == 2 && r.State == "ok" {
			r.Verdict = "regressed"
		}
		p.runs = append(p.runs, r)
	}
	for i := range 24 {
		point := api.Point{ID: p.runs[i].ID, StartedWallNS: time.Date(2026, 11, 1+i/2, 12*(i%2), 0, 0, 0,
			time.UTC).UnixNano(), Runs: 6, Device: "local", Browser: "chromium", Interval: true, Median: 60, Low: 59.6,
			High: 60, Verdict: "unchanged", Label: fmt.Sprintf("build-%d", i)}
		if i > 15 {
			point.Median, point.Low, point.High = 54, 53.1, 54.8
		}
		switch i {
		case 0:
			point.Verdict = ""
		case 16:
			point.Verdict = "regressed"
		case 20:
			point.Verdict = "inconclusive"
		}
		point.Text, point.IntervalText = fmt.Sprintf("%g frames/s", point.Median),
			fmt.Sprintf("%g – %g", point.Low, point.High)
		p.trend = append(p.trend, point)
	}
}

// Scenes: the first two differ from the first change on; the third has torn frames.
const (
	smooth = "synth:fps?size=320x180&frames=90&markers=1"
	uneven = "synth:fps?size=320x180&frames=90&markers=1&rate=20"
	torn   = "synth:tear?size=320x180&frames=90&markers=1"
	tiled  = "synth:checker?size=320x180&frames=90&markers=1" // a checkerboard comes and is filled in
)
