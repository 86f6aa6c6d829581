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
	"time"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/analysis"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/certify"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/rig"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/suite"
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
	// Bare leaves out what warm-ups need not have: results, pictures, video.
	Bare bool
	Told analysis.Told

	Attempt, Block, Place int
	Retried               int // how often this run was begun again before
	WarmUp                bool
}

// reportTimeout is how long a page may take to tell what it drew once its red stands.
const reportTimeout = 5 * time.Second

// Run makes one run and its folder. That the run failed, or its capture did, is told by the record; the error is for what kept the folder from being
// written, and for the end of ctx, which ends the run as failed.
func Run(ctx context.Context, o Options) (*Record, *analysis.Found, error) {
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
	s := &session{Options: o, log: slog.New(slog.NewTextHandler(logFile, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	s.record = Record{
		Schema: Schema, Version: Version, Test: o.Test.Name, File: o.Test.File, Address: o.Test.URL, Device: o.Device.Name(), Browser: o.Browser,
		State: Running, Attempt: max(o.Attempt, 1), Block: max(o.Block, 1), Place: max(o.Place, 1), WarmUp: o.WarmUp, Seed: o.Seed,
		StartedWallNS: time.Now().UnixNano(), Program: o.Program, Environment: report.Environment{},
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
	log    *slog.Logger
	record Record
	stage  Stage
	pages  *pages
	played controller.Played
	result rig.Result
	found  *analysis.Found
}

func (s *session) path(name string) string { return filepath.Join(s.Dir, name) }

// run goes through the run's parts: play, judge, keep.
func (s *session) run(ctx context.Context) error {
	failure := s.play(ctx)
	if failure == nil { // who waited for what the page tells of itself got on without
		failure = ctx.Err()
	}
	if failure == nil && !s.Bare {
		failure = s.analyze(ctx)
	}
	switch {
	case failure != nil:
		s.record.State, s.record.Reason = Failed, reason(ctx, failure)
		s.log.Error("the run has failed", "reason", s.record.Reason, "error", failure)
		s.keepFailed(ctx)
	default:
		s.judge()
	}
	s.record.ElapsedNS = s.record.elapsed()
	return errors.Join(ctx.Err(), s.record.write(s.Dir))
}

// reason is why a run failed, for people. What a run is ended by fails it in many ways, and what else is cancelled ended by itself.
func reason(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "interrupted"
	}
	return err.Error()
}

// play records while the test is run. What it starts has ended when it returns.
func (s *session) play(ctx context.Context) (err error) {
	if err := controller.Check(s.Test); err != nil {
		return err
	}
	s.told("getting the device ready")
	host, err := pagesHost(s.Device)
	if err != nil {
		return err
	}
	if s.pages, err = servePages(ctx, s.Test, host); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.pages.close()) }()
	if s.stage, err = s.Device.Open(ctx, Wanted{Browser: s.Browser, Window: s.Test.Window, Link: s.pages.leadsTo()}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stage.Close()) }()
	src, err := rig.OpenSource(ctx, s.stage.Source())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if driver := s.stage.Input(); driver != nil {
		info := driver.Info()
		s.record.Input = &info
	}
	s.record.Environment = ofRig()
	maps.Copy(s.record.Environment, s.stage.About())
	s.log.Info("ready", "device", s.record.Device, "source", src.Info().URI)
	err = s.recordWhile(ctx, src)
	maps.Copy(s.record.Environment, s.stage.About())
	return err
}

// recordWhile records while the controller is at work.
func (s *session) recordWhile(caller context.Context, src capture.Source) error {
	ctx, stop := context.WithCancel(caller)
	defer stop()
	screen := rig.NewScreen()
	var failure error
	known, err := json.Marshal(s.record.Environment)
	if err != nil {
		return err
	}
	s.told("running " + s.Test.Name)
	res, err := rig.Record(ctx, src, s.path(analysis.RecordingFile), rig.Options{
		Program: s.Program, Watch: screen,
		Metadata: append(certify.Metadata(src.Info()), capture.Metadata{Name: analysis.MetadataName, Value: known}),
		Started: func(ctx context.Context, emit func(timeline.Event)) error {
			failure = s.control(ctx, screen, src.Info(), emit)
			stop()
			return nil // a run that fails is no recording that does
		},
	})
	s.result = res
	s.record.Frames, s.record.LostFrames = res.Stored, res.Missing
	s.record.Notes = append(s.record.Notes, res.Notes...)
	s.log.Info("recorded", "frames", res.Stored, "lost", res.Missing, "ended", string(res.Ended))
	if caller.Err() == nil && errors.Is(failure, context.Canceled) { // nobody stopped it
		failure = fmt.Errorf("the recording ended before the test did: %s", res.Ended)
	}
	return errors.Join(failure, err)
}

// control runs the test, and takes in what the page tells of itself.
func (s *session) control(ctx context.Context, screen controller.Screen, info capture.Info, emit func(timeline.Event)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var told <-chan error
	if s.pages.site != nil {
		told = s.listen(ctx, cancel, emit)
	}
	var err error
	s.played, err = controller.Run(ctx, controller.Setup{
		Test: s.Test, Browser: s.stage, Painter: s.painter(), Input: s.stage.Input(), Screen: screen,
		Clock: timeline.Monotonic(), Emit: emit, Log: s.log,
		Address: s.pages.address, Own: s.pages.own, GreenAddress: s.pages.green,
		Size:   frame.Region{Width: info.Format.Width, Height: info.Format.Height},
		Random: rand.New(rand.NewPCG(s.Seed, 0)), Gestures: gestures{s.Test.Dir},
	})
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
	late := time.AfterFunc(reportTimeout, func() { cancel(fmt.Errorf("nothing came within %v of its red", reportTimeout)) })
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

// listen takes in what the page tells of itself, on a goroutine that sends once; a page that says it cannot play ends the run.
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
	s.record.Notes = append(s.record.Notes, text)
	s.log.Warn(text)
}

// told says what is being done.
func (s *session) told(what string) {
	s.log.Info(what)
	_, end := s.Told.Phase(what, 0)
	end()
}
