package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/capture/timeline"
)

const jsDir = "js"

// tracer is the common part of engines that record the browser's own trace.
type tracer struct {
	recorder
	reader func(io.Reader, activity.Sink) (*activity.Claims, error)
	root   int
	since  int64  // records have later times
	file   string // raw
	failed error  // why the trace is missing
	ids    threadIDs
	lost   bool // records, as the browser states
	brief  bool // without scripts
}

// openTrace opens the engine for the browser's own trace.
func openTrace(_ context.Context, o Options) (engine, error) {
	if o.JS != jsTrace && o.JS != jsAuto {
		return nil, nil
	}
	t := tracer{recorder: recorder{o: o}}
	t.info = activity.Info{Name: jsDir, Engine: o.Browser, Way: jsTrace, Target: o.Browser, Why: "as selected"}
	switch {
	case o.Browser == "chromium":
		return newChromium(t), nil
	case o.Browser == "firefox":
		return newFirefox(t), nil
	case o.JS == jsAuto:
		return nil, nil
	}
	return nil, &missingError{jsDir, "only the browser of a recorded run is traced", "use map"}
}

// prepare makes the folder and returns the place of the browser in the arguments. Samples may have
// the names of functions already. Then the trace is brief.
func (t *tracer) prepare(cmd *exec.Cmd, program string) (raw string, at int, err error) {
	at = slices.IndexFunc(cmd.Args, func(arg string) bool { return strings.Contains(filepath.Base(arg), program) })
	if t.o.JS == jsAuto {
		t.brief = slices.ContainsFunc(cmd.Args, func(arg string) bool { return strings.Contains(arg, scriptFlags) })
		if t.brief {
			t.info.Why = "without scripts, whose names the samples have"
		} else {
			_, why := nameScripts(&exec.Cmd{Path: cmd.Path, Args: slices.Clone(cmd.Args)}, "")
			t.info.Why = cmp.Or(why, "samples are missing")
		}
	}
	if at < 0 {
		return "", at, &missingError{jsDir, filepath.Base(cmd.Path) + " is not " + t.o.Browser, ""}
	}
	raw, err = t.o.rawDir(jsDir)
	t.since = int64(timeline.Monotonic().Now())
	return raw, at, err
}

// Content does nothing: Convert keeps the records of the content.
func (*tracer) Content(bool) {}

func (t *tracer) Convert(ctx context.Context, recording string, spans []timeline.Interval) (activity.Info, error) {
	dir := filepath.Join(t.o.Dir, jsDir)
	if t.failed != nil {
		return t.info, errors.Join(fmt.Errorf("trace of %s: %w", t.o.Browser, t.failed), os.RemoveAll(dir))
	}
	f, err := os.Open(t.file)
	if err != nil {
		return t.info, fmt.Errorf("trace of %s: %w", t.o.Browser, err)
	}
	defer f.Close()                     // only read
	claims := &activity.Claims{End: -1} // of a trace that cannot be read
	t.info.Recording, t.info.Raw, t.info.Clock.Text = recording, []string{filepath.Base(t.file)}, "CLOCK_MONOTONIC"
	info, err := convert(dir, t.info, nil, func(sink activity.Sink) (map[string]int64, error) {
		to := &placed{Sink: t.o.originals(sink), spans: spans, ids: t.ids}
		if t.brief {
			to.scripts = map[uint32]bool{}
		}
		c, err := t.reader(io.LimitReader(interruptible{ctx, f}, t.o.Limit), to)
		if err != nil {
			return nil, err
		}
		claims = c
		if t.lost && !to.located {
			err = activity.WriteGap(to, 0, t.since, t.info.EndNS, "Chromium states lost records without their time")
		}
		return c.Skipped, err
	})
	if err != nil || claims.End < 0 {
		return info, err
	}
	info.RateHz = claims.RateHz
	if claims.Truncated {
		info.Warnings = append(info.Warnings, "The trace is truncated.")
	}
	// All records were made between two readings of CLOCK_MONOTONIC.
	during := claims.Begin+claims.Resolution >= t.since && claims.End <= info.EndNS
	if info.Events > 0 && (!claims.Monotonic || !during) {
		info.Clock = activity.Clock{None: true, Text: "unknown"}
		info.Warnings = append(info.Warnings, "The times are not those of CLOCK_MONOTONIC while the browser ran.")
	}
	return info, info.Write(dir)
}

// interruptible ends with a context.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (r interruptible) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(b)
}

// placed is a sink that keeps the parts of events within spans, with the threads as the system
// numbers them. Events may come in any order; but calls and returns are not among them.
type placed struct {
	activity.Sink
	spans []timeline.Interval // nil: all
	ids   threadIDs

	located bool // it has a gap
	// scripts are functions whose events are left out; nil: none.
	scripts map[uint32]bool
}

// Function implements activity.Sink.
func (p *placed) Function(f activity.Function) uint32 {
	n := p.Sink.Function(f)
	if p.scripts != nil && f.Lang == activity.Script {
		p.scripts[n] = true
	}
	return n
}

// Thread implements activity.Sink.
func (p *placed) Thread(t activity.Thread) uint32 {
	if id, ok := p.ids[[2]int32{t.Process, t.ID}]; ok {
		t.Process, t.ID = id[0], id[1]
	}
	return p.Sink.Thread(t)
}

// Event implements activity.Sink.
func (p *placed) Event(e activity.Event) (err error) {
	p.located = p.located || e.Kind == activity.Lost
	if e.Kind == activity.Slice && p.scripts[e.Ref] {
		return nil
	}
	if p.spans == nil {
		return p.Sink.Event(e)
	}
	lasts := int64(0)
	long := e.Kind == activity.Slice || e.Kind == activity.Lost
	if long {
		lasts = e.Value
	}
	for _, s := range p.spans {
		part := e
		part.At = max(e.At, int64(s.Earliest))
		until := min(e.At+lasts, int64(s.Latest))
		if until < part.At {
			continue
		}
		if long {
			part.Value = until - part.At
		}
		err = errors.Join(err, p.Sink.Event(part))
	}
	return err
}
