package profile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/activity"
	activitysockets "github.com/eideticker/eideticker/analyze/activity/sockets"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/profile/sockets"
)

// socketCalls is the engine for socket calls.
type socketCalls struct {
	recorder
	dir  string // of the trace
	file *os.File
	run  *sockets.Recorder
}

// openSockets starts the recording. It has no records before the command starts.
func openSockets(_ context.Context, o Options) (engine, error) {
	if !o.Sockets {
		return nil, nil
	}
	raw, err := o.rawDir(activitysockets.TraceName)
	if err != nil {
		return nil, err
	}
	e := &socketCalls{recorder: recorder{o: o}, dir: filepath.Dir(raw)}
	if e.file, err = os.Create(filepath.Join(raw, activitysockets.RawFile)); err != nil {
		return nil, err
	}
	e.run, err = sockets.Open(e.file, sockets.Options{Limit: o.Limit})
	if err == nil {
		return e, nil
	}
	err = errors.Join(err, e.file.Close(), os.RemoveAll(e.dir))
	var missing *sockets.MissingError
	if errors.As(err, &missing) {
		return nil, &missingError{"sockets", missing.Why, missing.Repair}
	}
	return nil, err
}

func (e *socketCalls) Prepare(_ context.Context, cmd *exec.Cmd) error {
	e.info.Target = filepath.Base(cmd.Path)
	e.run.Prepare(cmd)
	return nil
}

func (*socketCalls) Started(int) {}

func (*socketCalls) Content(bool) {}

// bound implements bounded. The file has a limit of its own.
func (e *socketCalls) bound(why string) {
	if why != "" && e.info.Cut == "" {
		e.info.Cut = why
		_, _ = e.run.Stop() // Stop returns the same error
	}
}

func (e *socketCalls) Stop(context.Context) (activity.Info, error) {
	found, err := e.run.Stop()
	i := &e.info
	switch err = errors.Join(err, e.run.Close(), e.file.Close()); {
	case err != nil:
		i.Cut = err.Error()
	case found.Full:
		i.Cut = fmt.Sprintf("its file reached the limit of %d bytes", e.o.Limit)
	}
	i.Name, i.Engine, i.Way, i.Why = activitysockets.TraceName, "ebpf", activity.WaySockets, ""
	i.Raw, i.Clock.Text = []string{activitysockets.RawFile}, "CLOCK_MONOTONIC"
	i.BeginNS, i.EndNS, i.Lost = found.Begin, found.End, found.Lost
	if found.Lost > 0 {
		e.warn("The kernel lost %d records of socket calls.", found.Lost)
	}
	if !found.Arrivals {
		e.warn("Arrivals at sockets are unknown, since the kernel is older than 6.3.")
	}
	return e.info, nil
}

func (e *socketCalls) Convert(_ context.Context, recording string, spans []timeline.Interval) (activity.Info, error) {
	e.info.Recording = recording
	f, err := os.Open(e.file.Name())
	if err != nil {
		return e.info, err
	}
	table, err := activitysockets.Decode(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return e.info, err
	}
	i := &e.info
	i.EndNS = max(i.BeginNS, min(i.EndNS, table.End)) // a write error cuts the file
	if n := len(spans); n > 0 {                       // these times select the calls of the raw file
		i.EndNS = min(i.EndNS, int64(spans[n-1].Latest))
		i.BeginNS = min(max(i.BeginNS, int64(spans[0].Earliest)), i.EndNS)
	}
	return convert(e.dir, e.info, spans, func(to activity.Sink) (map[string]int64, error) {
		return table.Skipped, table.Events(to)
	})
}
