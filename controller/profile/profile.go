// Package profile records the activity of a browser or another program: samples, calls, waits.
//
// A [Session] has an engine for each kind of activity. It starts its engines with the program and
// stops them before the program ends. It then converts their raw files into traces on
// CLOCK_MONOTONIC. A failed engine never fails the run.
package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/internal/devtools"
)

// Ways of recording native code, and JavaScript.
const (
	none      = "none"
	auto      = "auto" // functions, then imports, then samples
	Samples   = "samples"
	functions = "functions"
	imports   = "imports"

	jsMap   = "map"   // names of JavaScript functions in samples
	jsTrace = "trace" // the browser's own trace
	jsAuto  = auto    // map if it works, else trace
)

// Defaults of [Options].
const (
	defaultRate  = 997     // Hz; a prime, so that it does not follow a program's own period
	defaultLimit = 2 << 30 // bytes
	maxRate      = 20_000  // Hz
)

const nativeDir = "native" // of the trace of native code

// Options select engines.
type Options struct {
	Native  string // Samples, functions, imports, auto, none or ""
	JS      string // jsMap, jsTrace, jsAuto, none or ""
	Sockets bool
	Rate    int    // samples per second; 0: defaultRate
	Content bool   // keep only records between Content(true) and Content(false)
	Dir     string // folder for traces: RUN/traces
	Limit   int64  // bytes of raw files of an engine; 0: defaultLimit
	Browser string // chromium, firefox or "" for another program
	// Strict makes errors of missing engines, lost records and traces that end early.
	Strict bool
	// Skip are ways that auto leaves out, each with its reason, such as "imports: it crashed".
	Skip []string
	// Original returns a function of a served script by its place in the original; nil: as served.
	Original func(activity.Function) activity.Function
}

// originals passes functions of scripts on by their places in the originals.
func (o *Options) originals(to activity.Sink) activity.Sink {
	if o.Original == nil {
		return to
	}
	return &originals{to, o.Original}
}

type originals struct {
	activity.Sink
	of func(activity.Function) activity.Function
}

// Function implements activity.Sink.
func (o *originals) Function(f activity.Function) uint32 {
	if f.Lang == activity.Script && f.File != "" {
		f = o.of(f)
	}
	return o.Sink.Function(f)
}

// missingError is the reason for which an engine cannot record.
type missingError struct {
	Engine string // such as samples
	Why    string
	Repair string // a command or a setting; "": unknown
}

func (e *missingError) Error() string {
	text := "profile " + e.Engine + ": " + e.Why
	if e.Repair != "" {
		text += "; " + e.Repair
	}
	return text
}

// engine records one kind of activity. Its methods are called once each in this order, except
// Content. They are not called at the same time.
type engine interface {
	// Prepare attaches to the calling OS thread, which then starts the command and is locked until
	// then. It may change arguments and environment. The command is nil on a board.
	Prepare(ctx context.Context, cmd *exec.Cmd) error
	// Started reports the process of the command.
	Started(pid int)
	// Content reports that the content began or ended, if only that is recorded.
	Content(on bool)
	// Stop ends the recording. Errors of recording are warnings in the info.
	Stop(ctx context.Context) (activity.Info, error)
	// Convert reads the raw files, and keeps events within spans; nil: all. The program has ended.
	Convert(ctx context.Context, recording string, spans []timeline.Interval) (activity.Info, error)
}

// Session is a recording of activity.
type Session struct {
	o       Options
	ctx     context.Context
	mu      sync.Mutex
	engines []engine
	failed  []error             // of engines that could not start
	spans   []timeline.Interval // of content; the last one is open if on
	on      bool
	began   bool // the content
	root    int  // process of the program; 0: not started
	started bool
	stopped bool
	quit    chan struct{} // ends guard
	joined  sync.WaitGroup
	reserve int64 // bytes of the disk that remain free
}

// Open checks tools and rights. If engines are missing, the error joins their missingErrors, and
// the session has the other engines.
func Open(ctx context.Context, o Options) (*Session, error) { return openAll(ctx, o, openers()) }

// opener opens an engine; nil: it is not selected.
type opener = func(context.Context, Options) (engine, error)

func openAll(ctx context.Context, o Options, openers []opener) (*Session, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	o.Dir = dir
	s := &Session{o: o, ctx: ctx, quit: make(chan struct{}), reserve: defaultReserve}
	var missing []error
	for _, open := range openers {
		e, err := open(ctx, o)
		var lacks *missingError
		switch {
		case errors.As(err, &lacks):
			missing = append(missing, lacks)
		case err != nil:
			return nil, fmt.Errorf("profile: %w", err)
		case e != nil:
			s.engines = append(s.engines, e)
		}
	}
	if err := errors.Join(missing...); err == nil || !o.Strict {
		return s, err
	}
	return nil, errors.Join(append(missing, s.Discard(ctx))...)
}

// Engines returns the number of engines.
func (s *Session) Engines() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.engines)
}

// native returns the way of recording native code. Names of JavaScript functions need samples.
func (o Options) native() string {
	switch {
	case o.Native != "":
		return o.Native
	case o.JS == jsMap:
		return Samples
	}
	return none
}

func (o *Options) check() error {
	if !slices.Contains([]string{"", none, auto, Samples, functions, imports}, o.Native) {
		return fmt.Errorf("unknown way %q; use samples, functions, imports, auto or none", o.Native)
	}
	if !slices.Contains([]string{"", none, jsMap, jsTrace, jsAuto}, o.JS) {
		return fmt.Errorf("unknown way %q for JavaScript; use map, trace, auto or none", o.JS)
	}
	if o.Rate == 0 {
		o.Rate = defaultRate
	}
	if o.Limit == 0 {
		o.Limit = defaultLimit
	}
	if o.Rate < 1 || o.Rate > maxRate || o.Limit < 1<<20 {
		return fmt.Errorf("rate %d Hz or limit %d bytes is out of range; use up to %d Hz", o.Rate, o.Limit, maxRate)
	}
	return nil
}

// Start returns a function that starts a command with all engines. The command must start on the
// thread that calls the function, by begin; nil: by its method Start. An engine that cannot record
// it is left out: see [Session.Failed].
func (s *Session) Start(begin func(*exec.Cmd) error) func(*exec.Cmd) error {
	if begin == nil {
		begin = (*exec.Cmd).Start
	}
	return func(cmd *exec.Cmd) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.start(cmd, begin)
	}
}

// Failed returns the errors of engines that could not record the program.
func (s *Session) Failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.failed...)
}

// Content reports that the content began or ended.
func (s *Session) Content(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began = s.began || on; !s.o.Content || s.on == on || s.stopped {
		return
	}
	s.on = on
	now := timeline.Monotonic().Now()
	if on {
		s.spans = append(s.spans, timeline.Interval{Earliest: now})
	}
	for _, e := range s.engines {
		if s.started {
			e.Content(on)
		}
	}
	if !on {
		s.spans[len(s.spans)-1].Latest = timeline.Monotonic().Now()
	}
}

// Stop ends the recording of all engines. Call it before the program is ended.
func (s *Session) Stop(ctx context.Context) ([]activity.Info, error) {
	s.Content(false)
	defer s.joined.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, nil
	}
	s.stopped = true
	close(s.quit)
	return s.all(func(e engine) (activity.Info, error) { return e.Stop(ctx) })
}

// Convert makes the traces in Dir from raw files. Call it after the program ended, with the id of
// the recording; "" without one.
func (s *Session) Convert(ctx context.Context, recording string) ([]activity.Info, error) {
	if _, err := s.Stop(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		return nil, nil
	}
	var spans []timeline.Interval
	if s.o.Content {
		spans = append([]timeline.Interval{}, s.spans...)
	}
	infos, err := s.all(func(e engine) (activity.Info, error) { return e.Convert(ctx, recording, spans) })
	for _, i := range infos {
		err = errors.Join(err, s.o.complete(i))
	}
	return infos, err
}

// complete returns the error of a strict session for a trace without all records.
func (o *Options) complete(i activity.Info) error {
	if !o.Strict || i.Lost == 0 && i.Cut == "" {
		return nil
	}
	return fmt.Errorf("profile %s: %d records are lost; %s", i.Name, i.Lost, cmp.Or(i.Cut, "it has gaps"))
}

// passer is an engine whose raw files have calls in the order of time.
type passer interface {
	pass(to activity.Sink) (activity.Info, error)
}

// Pass passes the calls of functions or imports on. It writes no trace.
func (s *Session) Pass(ctx context.Context, to activity.Sink) (activity.Info, error) {
	if _, err := s.Stop(ctx); err != nil {
		return activity.Info{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.engines {
		if p, ok := e.(passer); ok {
			info, err := p.pass(to)
			if err != nil {
				return info, fmt.Errorf("profile: %w", err)
			}
			return info, s.o.complete(info)
		}
	}
	return activity.Info{}, errors.New("profile: no calls were recorded")
}

// Discard stops the recording and removes its files, with the folder Dir. Call it instead of
// Convert, after the program ended.
func (s *Session) Discard(ctx context.Context) error {
	_, err := s.Stop(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.engines {
		if d, ok := e.(interface{ discard() }); ok {
			d.discard()
		}
	}
	return errors.Join(err, os.RemoveAll(s.o.Dir))
}

func (s *Session) all(do func(engine) (activity.Info, error)) (infos []activity.Info, err error) {
	for _, e := range s.engines {
		info, failed := do(e)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("profile: %w", failed))
			continue
		}
		infos = append(infos, info)
	}
	return infos, err
}

// Attach starts engines that start no program, as those of [OpenBoard].
func (s *Session) Attach() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prepare(nil)
}

// prepare starts the engines. The error is that of a strict session.
func (s *Session) prepare(cmd *exec.Cmd) error {
	s.started = true
	s.engines = slices.DeleteFunc(s.engines, func(e engine) bool {
		err := e.Prepare(s.ctx, cmd)
		if err != nil {
			s.failed = append(s.failed, err)
		} else if s.on { // the content includes the start of the program
			e.Content(true)
		}
		return err != nil
	})
	if s.o.Strict {
		return errors.Join(s.failed...)
	}
	return nil
}

func (s *Session) start(cmd *exec.Cmd, begin func(*exec.Cmd) error) error {
	if err := s.prepare(cmd); err != nil {
		return err
	}
	if err := begin(cmd); err != nil {
		return err
	}
	s.root = cmd.Process.Pid
	for _, e := range s.engines {
		e.Started(s.root)
	}
	s.joined.Go(s.guard)
	return nil
}

// inspector is an engine that takes another user's connection to the developer tools.
type inspector interface {
	inspected(context.Context, *devtools.Conn)
}

// Inspected reports that the program's developer tools were opened. The connection must be idle
// then, and in Stop. It must stay open until Stop.
func (s *Session) Inspected(ctx context.Context, conn *devtools.Conn) {
	s.mu.Lock()
	engines := slices.Clone(s.engines)
	s.mu.Unlock()
	for _, e := range engines {
		if i, ok := e.(inspector); ok && conn != nil {
			i.inspected(ctx, conn)
		}
	}
}

// rawDir makes the folder for raw files of a trace.
func (o Options) rawDir(name string) (string, error) {
	dir := filepath.Join(o.Dir, name, activity.RawDir)
	return dir, os.MkdirAll(dir, 0o755)
}
