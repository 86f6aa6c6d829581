package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/machine"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/strip/payload"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/suite"
)

// Options describe one run.
type Options struct {
	Test    *suite.Test
	Device  Device
	Browser string // "": the device's first
	// BrowserProgram is the file of a browser of this machine; "": the installed one.
	BrowserProgram string
	// BrowserBuild is the name of the build of the program or of the site; "": none.
	BrowserBuild string
	Site         string // folder of the build of a site, for a test that plays one; "": none
	sites        *sites // builds that the set has read; nil: none
	Dir          string // the run folder, which must not exist
	Program      string
	Seed         uint64
	// MaxLost is the share of a window's frames that may be missing in a run that counts.
	MaxLost float64
	NoVideo bool
	// VideoIfCounted leaves out the video of a run that does not count.
	VideoIfCounted bool
	// FilmstripStep is that of the folder; 0: by the length of each window.
	FilmstripStep time.Duration
	// NoPictures leaves out all that only people look at, also the video.
	NoPictures bool
	// Untrusted keeps browsers of this machine from its files and its services.
	Untrusted bool
	// AllowLoopback lets an untrusted test reach this machine's services.
	AllowLoopback bool
	// Bare leaves out results, pictures and video. Warm-ups do not need them.
	Bare     bool
	Progress runfolder.Progress
	Observer Observer
	// Remote changes the run's network during the run; nil: nothing does.
	Remote *Remote
	Labels

	// Quiet limits the wait for a quiet machine before the run; 0: it does not wait.
	Quiet time.Duration

	Attempt, Block, Place int // from 1; 0 counts as 1
	WarmUp                bool

	// Plan is the path of the plan of the test's scripts, which later runs continue; "": none.
	Plan string
	// Meta compares plain with instrumented loads, for sets of many runs.
	Meta bool

	elements elements     // of the test's selectors
	inspect  bool         // opens a side channel to the browser
	form     payload.Form // of messages in test pages; "": by the source

	hang time.Duration // of a profiled browser; 0: hangTime
	join time.Duration // limit for the device to join a network of the run's own; 0: joinTimeout
}

// Labels are search keys of runs. They do not affect the run.
type Labels struct {
	Label    string `json:"label,omitempty"`
	Branch   string `json:"branch,omitempty"`   // of the tested program
	Revision string `json:"revision,omitempty"` // of the tested program
	Set      string `json:"set,omitempty"`      // name of the set's folder
}

// Observer receives the frames and the progress of recordings, for a daemon's preview. The zero
// value receives nothing.
type Observer struct {
	Host     *recorder.Host          // shared by the program's recordings; nil: this one has its own
	Watch    recorder.Watcher        // is shown the frames after the test's own screen; nil: nobody
	Progress func(recorder.Progress) // as recorder.Options; nil: nobody
	Recorded func(recorder.Result)   // receives the result of the recording; nil: nobody
}

// watch returns a watcher that shows frames to the screen, then to the observer.
func (o *Observer) watch(screen recorder.Watcher) recorder.Watcher {
	if o.Watch == nil {
		return screen
	}
	return recorder.Together(screen, o.Watch)
}

func (o *Observer) recorded(res recorder.Result) {
	if o.Recorded != nil {
		o.Recorded(res)
	}
}

// Run makes one run and its folder. The record states if the run failed or was rejected. The error
// is that of writing the folder, or of the end of ctx. If ctx ends before the recording is
// measured, the run has failed. Later, the run only lacks pictures or the video, and its notes say
// so.
func Run(ctx context.Context, o Options) (*Record, *runfolder.Found, error) {
	log, err := makeFolder(o.Dir)
	if err != nil {
		return nil, nil, err
	}
	record := newRecord(o, time.Now())
	var found *runfolder.Found
	if err = record.Write(o.Dir); err == nil {
		r := &run{Options: o, journal: newJournal(log, o.Progress)}
		found, err = r.steps(ctx, record)
	}
	return record, found, errors.Join(err, log.Close())
}

// makeFolder makes a run folder with an empty log.
func makeFolder(dir string) (log *os.File, err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	return os.Create(filepath.Join(dir, LogFile))
}

// run is the request for one run and the journal of its steps. Steps take and return all else.
type run struct {
	Options
	*journal
	plan *planned // of the scripts; nil: all functions are measured
	led  string   // host and path of the page to which the test's address led; "": its own
	skip []string // ways of the profile that stopped the browser
}

func (r *run) path(name string) string { return filepath.Join(r.Dir, name) }

// steps makes the run: it prepares the device, plays the test, measures the recording and keeps the
// results. After a step that fails, only keep follows. It keeps all that there is.
func (r *run) steps(ctx context.Context, record *Record) (*runfolder.Found, error) {
	r.led = r.elements.led
	failure := r.awaitQuiet(ctx)
	p := &prepared{}
	if failure == nil {
		failure = r.readPlan()
	}
	var t take
	for again := failure == nil; again; again = r.takesNextWay(ctx, p, failure) {
		p, failure = r.prepare(ctx)
		failure = inLab(failure)
		if record.Network = p.figures; failure == nil {
			t, failure = r.play(ctx, p)
			record.played(&t)
		}
	}
	failure = errors.Join(failure, inLab(p.Close()))
	file, err := recording.Open(r.path(runfolder.RecordingFile))
	if err == nil {
		defer file.Close() // only read
		record.Recording = idOf(file)
	}
	r.writeScripts(t.script, record.Recording)
	incomplete := r.convertProfile(ctx, p.profile, record.Recording)
	failure = errors.Join(failure, r.updatePlan(t.script, failure == nil), incomplete)
	if failure == nil {
		failure = r.checkReached(ctx, p, t.traffic)
	}
	r.noteRedirect(record)
	var m measurement
	switch {
	case failure != nil || r.Bare:
	case err != nil:
		failure = err
	default:
		m, failure = r.measure(ctx, p.pages, &t, file)
		record.measured(&m)
	}
	return r.keep(ctx, record, file, &t, m.found, failure)
}

// awaitQuiet waits for a quiet machine, if that is asked for. After the limit, the run begins.
func (r *run) awaitQuiet(ctx context.Context) error {
	if r.Quiet <= 0 {
		return nil
	}
	r.phase("waiting for a quiet machine")
	noise, err := machine.AwaitQuiet(ctx, r.Quiet)
	if err == nil && noise != "" {
		r.note("the machine was not quiet within %v: %s", r.Quiet, noise)
		r.phase(fmt.Sprintf("the machine was not quiet within %v; the run begins", r.Quiet))
	}
	return err
}

// EndError is the cause of a context's end that a run states as its reason.
type EndError struct{ Why error }

func (e *EndError) Error() string { return e.Why.Error() }

// Unwrap returns the cause.
func (e *EndError) Unwrap() error { return e.Why }

// journal takes the log, the notes and the progress of a run. It may be used from any goroutine.
type journal struct {
	log      *slog.Logger
	progress runfolder.Progress

	mu    sync.Mutex
	notes []string
}

func newJournal(log io.Writer, progress runfolder.Progress) *journal {
	return &journal{progress: progress,
		log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
}

// note adds a note to the record and the log.
func (j *journal) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.notes = append(j.notes, text)
	j.log.Warn(text)
}

// add adds notes to the record alone.
func (j *journal) add(notes []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.notes = append(j.notes, notes...)
}

// noted returns all notes, in order.
func (j *journal) noted() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.notes)
}

// phase logs and reports a phase without frames.
func (j *journal) phase(what string) {
	j.log.Info(what)
	_, end := j.progress.Phase(what, 0)
	end()
}
