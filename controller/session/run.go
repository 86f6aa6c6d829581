package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/certify"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/screen"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/replay"
	"github.com/eideticker/eideticker/netsim/site"
)

// Options are one run.
type Options struct {
	Test    *suite.Test
	Device  Device
	Browser string // "": the device's first
	Dir     string // the run folder, which must not be there
	Program string
	Seed    uint64
	// MaxLost is the part of a window's frames that may be missing before the run does not count.
	MaxLost float64
	NoVideo bool
	// NoPictures leaves out what is only for people to look at, the video too.
	NoPictures bool
	// Untrusted keeps browsers of this machine from its files and its services: the test is somebody
	// else's.
	Untrusted bool
	// AllowLoopback lets it reach what this machine serves all the same.
	AllowLoopback bool
	// Bare leaves out what warm-ups need not have: results, pictures, video.
	Bare     bool
	Progress runfolder.Progress
	Observer Observer
	// Remote changes the run's network from outside while it is at work. Nil is nobody.
	Remote *Remote
	Labels

	Attempt, Block, Place int
	Retried               int // how often this run was begun again before
	WarmUp                bool

	join time.Duration // how long the device may take to join a network of the run's own; 0: joinTimeout
}

// reportTimeout is how long a page may take to tell what it drew once its red stands, beside the
// round trips of its network: it asks what time it is several times before.
const (
	reportTimeout = 30 * time.Second // for a machine that is busy with other things
	reportTrips   = 25
)

// Run makes one run and its folder. That the run failed, or its capture did, is told by the record;
// the error is for what kept the folder from being written, and for the end of ctx. That ends the
// run as failed, unless it was recorded and measured by then: then it lacks pictures or the video,
// and says so.
func Run(ctx context.Context, o Options) (*Record, *runfolder.Found, error) {
	if err := os.MkdirAll(filepath.Dir(o.Dir), 0o755); err != nil {
		return nil, nil, err
	}
	if err := os.Mkdir(o.Dir, 0o755); err != nil {
		return nil, nil, err
	}
	logFile, err := os.Create(filepath.Join(o.Dir, LogFile))
	if err != nil {
		return nil, nil, err
	}
	began := time.Now()
	s := &session{Options: o, began: began,
		log: slog.New(slog.NewTextHandler(logFile, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	s.record = Record{
		Schema: Schema, Version: Version, Test: o.Test.Name, File: o.Test.File, Address: o.Test.URL,
		Device: o.Device.Name(), Browser: o.Browser,
		State: Running, Attempt: max(o.Attempt, 1), Block: max(o.Block, 1), Place: max(o.Place, 1), WarmUp: o.WarmUp,
		Seed:          o.Seed,
		StartedWallNS: began.UnixNano(), Program: o.Program, Environment: report.Environment{}, Labels: o.Labels,
	}
	err = s.record.write(o.Dir)
	if err == nil {
		err = s.run(ctx)
	}
	return &s.record, s.found, errors.Join(err, logFile.Close())
}

// session is one run at work.
type session struct {
	Options
	log     *slog.Logger
	began   time.Time // with the monotonic clock
	record  Record
	archive *replay.Archive  // that answers in the test's network, as it was read; nil: there is none
	network *testnet.Network // nil: the device's own
	stage   Stage
	pages   *pages
	played  controller.Played
	result  recorder.Result
	found   *runfolder.Found
	report  *site.Report // of the page; nil: it is none of ours, or has told nothing
	noting  sync.Mutex   // of the record's notes, while several take them

	witnessed
	changing
}

func (s *session) path(name string) string { return filepath.Join(s.Dir, name) }

// run goes through the run's parts: play, judge, keep.
func (s *session) run(ctx context.Context) error {
	failure := s.play(ctx)
	s.record.Recording = RecordingID(s.path(runfolder.RecordingFile))
	if failure == nil { // who waited for what the page tells of itself got on without
		failure = ctx.Err()
	}
	if failure == nil {
		failure = s.reached(ctx)
	}
	if failure == nil && !s.Bare {
		failure = s.analyze(ctx)
	}
	switch {
	case failure != nil:
		s.record.State, s.record.Reason = unfinished(ctx, failure), reason(ctx, failure)
		s.tellUnfinished(failure)
		s.keepFailed(ctx)
	default:
		s.judge()
	}
	failed := s.keepHAR()
	s.record.ElapsedNS = int64(time.Since(s.began)) // whatever is done to the wall clock meanwhile
	s.log.Info("the run is over", "state", string(s.record.State))
	return errors.Join(ctx.Err(), failed, s.record.write(s.Dir))
}

// EndError is the cause of a context's end of which its run is to tell.
type EndError struct{ Why error }

func (e *EndError) Error() string { return e.Why.Error() }

// Unwrap returns why.
func (e *EndError) Unwrap() error { return e.Why }

// errUnheard says that the browser has not done what it was told by input, as a person would see.
var errUnheard = errors.New("the browser did not request the page")

// unheard adds to why a run failed that the page was never asked for, where its network has not
// seen that the browser tried.
func (s *session) unheard(err error) error {
	var unseen *controller.UnseenError
	if !errors.As(err, &unseen) || s.pages.site == nil || s.pages.site.Asked() || s.fall != nil &&
		len(s.fall.Lookups) > 0 {
		return err
	}
	return fmt.Errorf("%w: %w", err, errUnheard)
}

// unfinished is what a run is that did not come to its end. One that the recorder was too busy to
// look at says nothing of the device or the test, nor does one whose browser, on a busy machine,
// has lost what it was told: they are made again.
func unfinished(ctx context.Context, err error) State {
	if ctx.Err() == nil && (errors.Is(err, screen.ErrNotWatched) || errors.Is(err, errUnheard)) {
		return Rejected
	}
	return Failed
}

// tellUnfinished tells the log why a run has failed, or that it does not count, which is no error.
func (s *session) tellUnfinished(why error) {
	if s.record.State == Rejected {
		s.log.Warn("the run does not count", "reason", s.record.Reason)
		return
	}
	s.log.Error("the run has failed", "reason", s.record.Reason, "error", why)
}

// reason is why a run failed, for people. What a run is ended by fails it in many ways, and what
// else is cancelled ended by itself.
func reason(ctx context.Context, err error) string {
	var told *EndError
	switch {
	case ctx.Err() != nil && errors.As(context.Cause(ctx), &told):
		return "interrupted: " + told.Error()
	case ctx.Err() != nil:
		return "interrupted"
	}
	return err.Error()
}

// play records while the test is run. What it starts has ended when it returns.
func (s *session) play(ctx context.Context) (err error) {
	if s.archive, err = check(s.Test, Variant{s.Device, s.Browser}); err != nil {
		return err
	}
	s.told("getting the device ready")
	if s.network, err = s.openNetwork(ctx); err != nil {
		return err
	}
	var listen listening
	if s.network != nil {
		defer func() { err = errors.Join(err, s.network.Close()) }()
		listen, s.set = onNetwork(s.network), s.network.Set
	} else {
		host, err := pagesHost(s.Device)
		if err != nil {
			return err
		}
		listen = onHost(host)
	}
	if s.pages, err = servePages(ctx, s.Test, s.archive, s.Dir, listen); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.pages.close()) }()
	if s.pages.keys != nil && s.record.Network != nil {
		s.record.Network.KeyLog = KeyLogFile
	}
	if s.stage, err = s.Device.Open(ctx, s.wanted()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stage.Close()); s.log.Info("the device is as it was") }()
	if s.network != nil {
		if err := s.joined(ctx); err != nil {
			return err
		}
	}
	src, err := recorder.OpenSource(ctx, s.stage.Source())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	s.tellInput()
	s.record.Environment = ofRig()
	maps.Copy(s.record.Environment, s.stage.About())
	if s.record.Network != nil {
		s.record.Environment[report.EnvNetwork] = s.record.Network.String()
	}
	s.log.Info("ready", "device", s.record.Device, "source", src.Info().URI)
	err = s.recordWhile(ctx, src)
	s.tellInput() // what the input says of itself may have changed
	maps.Copy(s.record.Environment, s.stage.About())
	s.noteSandbox()
	return err
}

// starter is a stage that starts a browser on this machine.
type starter interface {
	launched() *device.Browser // nil: it started none
}

// noteSandbox warns of pages that are not the run's own in a browser without a sandbox.
func (s *session) noteSandbox() {
	stage, ok := s.stage.(starter)
	if !ok || s.Test.Page != "" && !loads(s.Test.Steps) {
		return
	}
	if b := stage.launched(); b != nil && b.SandboxWarning() != "" {
		s.note("%s", b.SandboxWarning())
	}
}

// tellInput records what the input says of itself.
func (s *session) tellInput() {
	if driver := s.stage.Input(); driver != nil {
		info := driver.Info()
		s.record.Input = &info
	}
}

// recordWhile records while the controller is at work.
func (s *session) recordWhile(caller context.Context, src capture.Source) error {
	ctx, stop := context.WithCancel(caller)
	defer stop()
	watcher := screen.New()
	var failure error
	known, err := json.Marshal(s.record.Environment)
	if err != nil {
		return err
	}
	s.told("running " + s.Test.Name)
	res, err := recorder.Record(ctx, src, s.path(runfolder.RecordingFile), recorder.Options{
		Program: s.Program, Watch: s.Observer.watch(watcher), Progress: s.Observer.Progress, Host: s.Observer.Host,
		Metadata: append(certify.Metadata(src.Info()), capture.Metadata{Name: runfolder.MetadataName, Value: known}),
		Started: func(ctx context.Context, emit func(timeline.Event)) error {
			failure = s.control(ctx, watcher, src.Info(), emit)
			stop()
			return nil // a run that fails is no recording that does
		},
	})
	s.result = res
	s.Observer.recorded(res)
	s.record.Frames, s.record.LostFrames = res.Stored, res.Missing
	s.record.Notes = append(s.record.Notes, res.Notes...)
	s.log.Info("recorded", "frames", res.Stored, "lost", res.Missing, "ended", string(res.Ended))
	if caller.Err() == nil && errors.Is(failure, context.Canceled) { // nobody stopped it
		failure = fmt.Errorf("the recording ended before the test did: %s", res.Ended)
	}
	return errors.Join(failure, err)
}

// control runs the test, and takes in what the page tells of itself.
func (s *session) control(ctx context.Context, screen controller.Screen, info capture.Info,
	emit func(timeline.Event)) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() {
		s.witness(emit)
		err = s.unheard(s.whyUnseen(err))
	}()
	var told <-chan error
	happened := make(chan string, 16)
	if s.pages.site != nil {
		told = s.listen(ctx, cancel, func(e timeline.Event) {
			emit(e)
			select {
			case happened <- e.Kind:
			default: // a page tells of fewer kinds than there is room for
			}
		})
	}
	if w, ok := s.stage.(interface{ watchBy(controller.Screen) }); ok {
		w.watchBy(screen)
	}
	leave := s.attend(emit)
	s.played, err = controller.Run(ctx, controller.Setup{
		Test: s.Test, Browser: s.stage, Painter: s.painter(), Input: s.stage.Input(), Screen: screen,
		Clock: timeline.Monotonic(), Emit: emit, Log: s.log,
		Address: s.pages.address, Own: s.pages.own, GreenAddress: s.pages.green,
		Size:   frame.Region{Width: info.Format.Width, Height: info.Format.Height},
		Random: rand.New(rand.NewPCG(s.Seed, 0)), Gestures: gestures{s.Test.Dir}, Happened: happened,
		ChangeLink: s.changeLink(),
	})
	leave()
	s.record.Pings, s.record.MissedPings = s.played.Pings, s.played.Misses
	if a := s.played.Area; a != (frame.Region{}) {
		s.record.Area = []int{a.X, a.Y, a.Width, a.Height}
	}
	if told == nil {
		return err
	}
	if err != nil {
		cancel(nil)
		<-told
		return err
	}
	wait := reportTimeout + reportTrips*s.line.RTT()
	late := time.AfterFunc(wait, func() { cancel(fmt.Errorf("timeout %v after the red marker", wait)) })
	defer late.Stop()
	if err := <-told; err != nil { // it was seen all the same
		s.note("the page told nothing of itself: %v", err)
	}
	return nil
}

// painter is the device's own, or a red page in its place.
func (s *session) painter() controller.Painter {
	if p := s.stage.Painter(); p != nil || s.pages.red == "" {
		return p
	}
	return loadedRed{s.stage, s.pages.red}
}

// listen takes in what the page tells of itself, on a goroutine that sends once; a page that says
// it cannot play ends the run.
func (s *session) listen(ctx context.Context, fail context.CancelCauseFunc, emit func(timeline.Event)) <-chan error {
	done := make(chan error, 1)
	go func() {
		told, err := s.pages.site.Next(ctx)
		var cannot *site.PageError
		switch {
		case errors.As(err, &cannot):
			fail(err)
		case err == nil:
			s.takeIn(told, emit)
		}
		done <- err
	}()
	return done
}

func (s *session) takeIn(r site.Report, emit func(timeline.Event)) {
	s.report = &r
	for _, e := range r.Events() {
		emit(e)
	}
	for _, w := range r.Warnings {
		s.note("the page says: %s", w)
	}
	s.log.Info("the page has told of itself", "pictures", len(r.Drawn), "claimed_fps", r.ClaimedFPS)
}

func (s *session) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.noting.Lock()
	defer s.noting.Unlock()
	s.record.Notes = append(s.record.Notes, text)
	s.log.Warn(text)
}

// told says what is being done.
func (s *session) told(what string) {
	s.log.Info(what)
	_, end := s.Progress.Phase(what, 0)
	end()
}
