package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/frames"
	"github.com/eideticker/eideticker/analyze/activity/page"
	"github.com/eideticker/eideticker/analyze/activity/sockets"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/profile"
	"github.com/eideticker/eideticker/controller/screen"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/har"
)

// profiled reports if the activity of the browser is recorded.
func (r *run) profiled() bool { return r.Test.Profile.Given() && !r.inspect }

// checkProfile checks if a device's browser can be profiled.
func checkProfile(t *suite.Test, d device.Description) error {
	if _, onBoard := BoardOf(d); t.Profile.Given() && d.Source != device.Virtual && !onBoard {
		return fmt.Errorf("device %s: profile needs a virtual display of this machine, or an agent in devices.yaml: %w",
			d.Name, errors.ErrUnsupported)
	}
	return nil
}

// BoardOf returns the board whose agent records a device's programs; false: it has none.
func BoardOf(d device.Description) (profile.Board, bool) {
	a, ok := d.Profile.Agent()
	return profile.Board{Address: a.Address, TokenFile: a.TokenFile, Of: a.Of}, ok
}

// errUntrustedProfile is the error of an untrusted test whose profile would record more than its
// browser.
var errUntrustedProfile = fmt.Errorf("an untrusted test may sample and trace its browser only; use samples or js: %w",
	errors.ErrUnsupported)

// Bounds of the profile of an untrusted test.
const (
	untrustedRate  = 1000
	untrustedLimit = 256 << 20
)

// CheckUntrustedProfile rejects a profile that would change the browser of an untrusted test, or
// use much of the disk.
func CheckUntrustedProfile(t *suite.Test) error {
	switch p := t.Profile; {
	case !p.Given():
	case !slices.Contains([]string{"", suite.ProfileSamples, suite.ProfileNone}, p.Native):
		return errUntrustedProfile
	case p.Rate > untrustedRate || p.Limit > untrustedLimit:
		return fmt.Errorf("the profile of an untrusted test may have up to %d samples per second and %v: %w",
			untrustedRate, suite.Bytes(untrustedLimit), errors.ErrUnsupported)
	}
	return nil
}

// Explain has a test record all that explains late frames: samples with names of JavaScript
// functions, and socket calls. It adds the calls and errors of scripts, or returns the reason why
// they cannot be instrumented. The test's network and page must be set before. archived: the page
// will be replaced by an archive.
func Explain(t *suite.Test, archived bool) (uninstrumented error) {
	if !t.Profile.Given() {
		t.Profile.Native, t.Profile.JS, t.Profile.Sockets = suite.ProfileSamples, suite.ProfileAuto, true
	}
	if t.Script.Given() {
		return nil
	}
	with := *t
	with.Script.Policies = []string{"calls", "errors"}
	if local := LiveByHosts(&with) || directPage(&with) != nil; local || !archived {
		if err := checkScript(&with, local); err != nil {
			return err
		}
	}
	t.Script = with.Script
	return nil
}

// openProfile opens the engines of the test's profile; nil: none works, or none is asked for. Those
// of a board start once its programs run, and others with the browser.
func (r *run) openProfile(ctx context.Context, prepared *prepared, runs bool) (*profile.Session, error) {
	d, _ := description(r.Device)
	board, onBoard := BoardOf(d)
	if !r.profiled() || runs != onBoard {
		return nil, nil
	}
	if err := CheckUntrustedProfile(r.Test); r.Untrusted && err != nil {
		return nil, err
	}
	p := r.Test.Profile
	o := profile.Options{Native: p.Native, JS: p.JS, Sockets: p.Sockets, Rate: p.Rate, Content: p.OnlyContent(),
		Dir: r.path(activity.TracesDir), Browser: r.browserKind(), Limit: int64(p.Limit), Strict: p.Strict,
		Skip: r.skip}
	if prepared.pages.script != nil {
		o.Original = prepared.pages.script.original
	}
	if r.Untrusted && o.Limit == 0 {
		o.Limit = untrustedLimit
	}
	if o.JS == "" && p.Native == suite.ProfileSamples && o.Browser == "chromium" {
		o.JS = suite.ProfileMap
	}
	if !onBoard {
		return r.opened(profile.Open(ctx, o))
	}
	if board.Of == "" && (o.Browser == "chromium" || o.Browser == "firefox") {
		board.Of = o.Browser
	}
	if board.Of == "" && r.Untrusted {
		return nil, errUntrustedProfile
	}
	s, err := r.opened(profile.OpenBoard(ctx, o, board))
	if s != nil {
		err = errors.Join(err, s.Attach())
	}
	return s, err
}

// opened makes errors of engines notes.
func (r *run) opened(s *profile.Session, err error) (*profile.Session, error) {
	if s == nil {
		return nil, err
	}
	r.noteEach(err)
	return s, nil
}

// noteEach adds a note for each of the joined errors.
func (r *run) noteEach(err error) {
	if err == nil {
		return
	}
	for line := range strings.Lines(err.Error()) {
		r.note("%s", strings.TrimSpace(line))
	}
}

// browserKind returns chromium or firefox; "": unknown.
func (r *run) browserKind() string {
	if r.BrowserProgram != "" {
		kind, _ := device.KindOf(r.BrowserProgram) // checked before
		return kind
	}
	if d, known := description(r.Device); known {
		browser, _ := d.Browser(r.Browser) // checked before
		return browser
	}
	return r.Browser
}

// profiledEvents returns emit with the begin and the end of the content for a profile.
func profiledEvents(s *profile.Session, emit func(timeline.Event)) func(timeline.Event) {
	if s == nil {
		return emit
	}
	return func(e timeline.Event) {
		emit(e)
		switch {
		case e.Source != controller.EventSource:
		case e.Kind == controller.GreenSeen:
			s.Content(true)
		case e.Kind == controller.Ended:
			s.Content(false)
		}
	}
}

// stopProfile ends the recording of activity while the browser still runs.
func (r *run) stopProfile(ctx context.Context, s *profile.Session) {
	if s == nil {
		return
	}
	_, err := s.Stop(context.WithoutCancel(ctx))
	r.noteEach(errors.Join(s.Failed(), err))
}

// hangTime is the time without progress after which a profiler has stopped its browser.
const hangTime = 10 * time.Second

// watchProfile ends a run with a *profile.TargetError if the profiler stops the browser. The
// returned function joins it, and returns the error of the run.
func (r *run) watchProfile(ctx context.Context, fail context.CancelCauseFunc, p *prepared,
	screen *screen.Watcher) (join func(error) error) {
	if p.profile == nil {
		return func(err error) error { return err }
	}
	count := func() int64 { // of changed frames and requests, or the packets of requests
		n := screen.Changes()
		if p.pages.site != nil && p.pages.site.Asked() {
			n++
		}
		if p.network != nil {
			_, up := p.network.Link.Counts()
			n += int64(up.Packets)
		}
		return n
	}
	watch, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		err := p.profile.Watch(watch, cmp.Or(r.hang, hangTime), count)
		if err != nil {
			fail(err)
		}
		ended <- err
	}()
	return func(err error) error {
		stop()
		if hung := <-ended; hung != nil || err == nil || ctx.Err() != nil {
			return err
		}
		return errors.Join(p.profile.Ended(), err)
	}
}

// takesNextWay reports whether the run begins again with another way of the profile auto, since the
// profiler stopped the browser.
func (r *run) takesNextWay(ctx context.Context, p *prepared, failure error) bool {
	var stopped *profile.TargetError
	if r.Test.Profile.Native != suite.ProfileAuto || !errors.As(failure, &stopped) || ctx.Err() != nil {
		return false
	}
	err := errors.Join(p.Close(), p.profile.Discard(ctx))
	if gone := os.Remove(r.path(runfolder.RecordingFile)); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	if err != nil {
		r.note("%v", err)
		return false
	}
	r.note("%v; the next way is taken", stopped)
	r.skip = append(r.skip, stopped.Way+": "+stopped.Why)
	return true
}

// convertProfile makes traces of what the engines recorded. Those of a warm-up are removed. The
// browser has ended. A profile that fails leaves the run valid, if it is not strict.
func (r *run) convertProfile(ctx context.Context, s *profile.Session, recording string) error {
	if s == nil {
		return nil
	}
	if r.Bare {
		if err := s.Discard(context.WithoutCancel(ctx)); err != nil {
			r.note("%v", err)
		}
		return nil
	}
	r.phase("reading the profile")
	infos, err := s.Convert(ctx, recording)
	r.noteEach(err)
	for _, info := range infos {
		r.log.Info("trace", "name", info.Name, "engine", info.Engine, "events", info.Events, "lost", info.Lost)
		for _, w := range info.Warnings {
			r.note("trace %s: %s", info.Name, w)
		}
	}
	if err != nil && r.Test.Profile.Strict {
		return fmt.Errorf("%w: %w", errIncomplete, err)
	}
	return nil
}

// errIncomplete is the error of a strict profile that lacks records. The next run may have them.
var errIncomplete = errors.New("the profile is not complete")

// traces are those of a run folder.
type traces []*activity.Trace

// openTraces opens the traces of a folder that are of a recording. Each that cannot be read is a
// problem.
func openTraces(dir, recording string) (all traces, problems []string) {
	entries, err := os.ReadDir(filepath.Join(dir, activity.TracesDir))
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			problems = append(problems, err.Error())
		}
		return nil, problems
	}
	for _, e := range entries[:min(len(entries), maxTraces)] {
		if !e.IsDir() {
			continue
		}
		t, err := activity.Open(filepath.Join(dir, activity.TracesDir, e.Name()))
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("trace %s cannot be read: %v", e.Name(), err))
		case !strings.EqualFold(t.Info().Recording, recording):
			problems = append(problems, fmt.Sprintf("trace %s is of another recording", e.Name()))
			problems = append(problems, closing(t)...)
		default:
			all = append(all, t)
		}
	}
	return all, problems
}

// maxTraces is the number of traces of a run that are read.
const maxTraces = 32

func closing(t *activity.Trace) []string {
	if err := t.Close(); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// addProfile adds the activity to new results.
func (r *run) addProfile(found *runfolder.Found, file *recording.Reader, t *take) {
	var fall *har.Waterfall
	if t.traffic != nil {
		fall = t.traffic.fall
	}
	p, problems := profileOf(r.Dir, idOf(file), found.Results.Windows, fall)
	for _, text := range problems {
		r.note("%s", text)
	}
	found.Results.Profile = p
}

// profileOf returns the activity of the run with the late frames of new results. Without the
// traces, it is that of the first measurement, without late frames.
func (e *Earlier) profileOf(found *runfolder.Found) *result.Profile {
	p, problems := profileOf(e.dir, e.recording, found.Results.Windows, e.fall)
	found.Results.Notes = append(found.Results.Notes, problems...)
	if p == nil && e.profileOnce != nil && !page.Alone(e.profileOnce) {
		once := *e.profileOnce
		once.Late, once.Tests, once.TestText = nil, nil, "The traces are missing."
		p = &once
	}
	return p
}

// profileOf returns the activity that the traces of a folder describe; nil: there are none. The
// waterfall may be nil.
func profileOf(dir, recording string, windows []result.Window, fall *har.Waterfall) (*result.Profile, []string) {
	all, problems := openTraces(dir, recording)
	if len(all) == 0 {
		return nil, problems
	}
	// claims of a page are not activity of threads: see [addMessages]
	measured := slices.DeleteFunc(slices.Clone(all), func(t *activity.Trace) bool {
		return t.Info().Name == page.TraceName
	})
	var found *result.Profile
	if len(measured) > 0 {
		found = frames.Results(measured, windows)
		suspect(found.Late, windows, fall)
	}
	for _, t := range all {
		if t.Info().Name == sockets.TraceName {
			waits, err := sockets.ReadWaits(filepath.Join(dir, activity.TracesDir, sockets.TraceName), found, all, fall)
			if err != nil {
				problems = append(problems, fmt.Sprintf("socket calls cannot be read: %v", err))
			}
			found.Sockets = waits
		}
	}
	for _, t := range all {
		problems = append(problems, closing(t)...)
	}
	return found, problems
}
