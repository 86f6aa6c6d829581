package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	activities "github.com/eideticker/eideticker/analyze/activity/export"
	"github.com/eideticker/eideticker/analyze/activity/frames"
	"github.com/eideticker/eideticker/analyze/activity/sockets"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/controller/profile"
	"github.com/eideticker/eideticker/controller/session"
)

// profileRecording are the flags with which a program is recorded.
type profileRecording struct {
	Native string `placeholder:"WAY" help:"Record samples, functions, imports or auto (default: samples)."`
	JS     string `name:"js" placeholder:"map" help:"Name functions of JavaScript in samples."`
	Rate   int    `placeholder:"HZ" help:"Samples per second (default: 997)."`
	// Sockets adds an engine.
	Sockets bool `help:"Record socket calls of a program too. For these alone, add --native none."`
	profileLimits
}

// printedOfProgram is the number of functions that are printed.
const printedOfProgram = 20

// record runs a program with the engines, prints its functions and threads, and keeps the traces.
func (c profileCmd) record(e *env, program []string) error {
	switch {
	case len(program) == 0:
		return usagef("profile: name a program after --")
	case c.Late, c.Frames.given, c.Window != 0, c.AtChange != nil, c.Trace != "", c.Thread != "", c.Tree != "",
		c.Symbols != "", c.URLs == "full":
		return usagef("profile: a program has no frames; use only the flags for recording and -o")
	}
	o := profile.Options{Native: c.Native, JS: c.JS, Rate: c.Rate, Sockets: c.Sockets, Limit: int64(c.TraceLimit),
		Strict: c.Strict}
	if o.Native == "" {
		o.Native = profile.Samples
	}
	if ending := c.ending(); ending == ".pftrace" || ending == ".json" {
		return usagef("profile: a program has no frames; OUT can be a folder or end in .callgrind .pb.gz .folded .svg")
	}
	cmd := exec.Command(program[0], program[1:]...)
	if cmd.Err != nil {
		return fmt.Errorf("profile: %w", cmd.Err)
	}
	dir, export := c.Output, slices.Contains([]string{".callgrind", ".pb.gz", ".folded", ".svg"}, c.ending())
	var err error
	switch {
	case export:
		first := c.Output
		if c.ending() == ".callgrind" {
			first = c.part(0)
		}
		if err = refuseExisting(first, c.Force); err == nil {
			dir, err = os.MkdirTemp(filepath.Dir(dir), ".profile-*")
		}
	case c.Force:
		return usagef("profile: --force can be used with .callgrind .pb.gz .folded and .svg")
	case dir == "":
		dir = session.FreeFolder(filepath.Join("out", filepath.Base(program[0])+time.Now().Format("-20060102-150405")))
	case exists(dir):
		err = fmt.Errorf("%s: %w", dir, fs.ErrExist)
	}
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	o.Dir = filepath.Join(dir, activity.TracesDir)
	ctx := context.Background()
	s, err := profile.Open(ctx, o)
	if err == nil && s.Engines() == 0 {
		err = usagef("profile: nothing to record; add --sockets, or record native code")
	}
	if s == nil || s.Engines() == 0 {
		return errors.Join(err, os.RemoveAll(dir)) // it is new
	}
	if err != nil {
		fmt.Fprintf(e.err, "warning: %s\n", terminal.Clean(err.Error()))
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, e.out, e.err
	ended, err := attend(s, cmd)
	if cmd.Process == nil { // the program did not start, so the folder has no records
		return errors.Join(fmt.Errorf("profile: %w", err), s.Discard(ctx), os.RemoveAll(dir))
	}
	if err == nil {
		if err = c.keep(e, s, dir, export); err != nil && export {
			return fmt.Errorf("%w; the recording remains in %s", err, dir)
		}
	}
	if export {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		return err
	}
	if ended != nil {
		return fmt.Errorf("profile %s: the program ended with %w", program[0], ended)
	}
	return nil
}

// keep writes the recording as traces in a folder, or as one export. Ctrl-C ends the program alone,
// so the context of the command, which may have ended with it, is not used.
func (c profileCmd) keep(e *env, s *profile.Session, dir string, export bool) error {
	if calls := c.Native == "functions" || c.Native == "imports"; calls && c.ending() == ".callgrind" && !c.Sockets {
		err := c.grind(e, s)
		if err != nil { // the folder remains, so others must be able to read it
			_, failed := s.Convert(context.Background(), "")
			if failed != nil && failed.Error() != err.Error() { // a strict session repeats its error
				err = errors.Join(err, failed)
			}
		}
		return err
	}
	infos, err := s.Convert(context.Background(), "")
	for _, info := range infos {
		if export {
			warnOf(e, info)
		}
	}
	if err != nil {
		return err
	}
	var traces []*activity.Trace
	for _, info := range infos {
		t, err := activity.Open(filepath.Join(dir, activity.TracesDir, info.Name))
		if err != nil {
			return fmt.Errorf("profile: %w", err)
		}
		defer t.Close()
		traces = append(traces, t)
	}
	if export {
		return c.ofProgram(e, traces)
	}
	if err = printProgram(e, dir, traces); err == nil {
		_, err = fmt.Fprintln(e.out, "\n"+terminal.Clean(dir))
	}
	return err
}

// grind exports calls without an index of them.
func (c profileCmd) grind(e *env, s *profile.Session) error {
	g := activities.NewGrinder()
	info, err := s.Pass(context.Background(), g)
	warnOf(e, info)
	if err != nil {
		return err
	}
	wrote, err := c.callgrind(g.Files(info))
	if err == nil {
		_, err = fmt.Fprintln(e.out, wrote)
	}
	return err
}

// warnOf prints the warnings of a trace.
func warnOf(e *env, info activity.Info) {
	for _, text := range info.Warnings {
		fmt.Fprintf(e.err, "warning: %s\n", terminal.Clean(text))
	}
}

// attend runs a program to its end. The thread that starts it must live for as long, for its
// counters are those of the program. The terminal sends Ctrl-C to the program too, which ends it.
func attend(s *profile.Session, cmd *exec.Cmd) (ended, err error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	defer signal.Stop(signals)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := s.Start(nil)(cmd); err != nil {
		return nil, errors.Join(err, s.Failed())
	}
	ended = cmd.Wait()
	if err := s.Failed(); err != nil {
		return nil, err
	}
	return ended, nil
}

// printProgram prints the activity of a program without frames.
func printProgram(e *env, dir string, traces []*activity.Trace) error {
	var whole []result.FrameSpan // of traces with waits
	for _, t := range traces {
		if info := t.Info(); info.Way == activity.WaySamples {
			whole = append(whole, result.FrameSpan{Window: -1, FromNS: info.BeginNS, ToNS: info.EndNS})
		}
	}
	found := frames.Table(traces, nil, whole)
	if slices.ContainsFunc(traces, func(t *activity.Trace) bool { return t.Info().Name == sockets.TraceName }) {
		waits, err := sockets.ReadWaits(filepath.Join(dir, activity.TracesDir, sockets.TraceName), found, traces, nil)
		if err != nil {
			return err
		}
		found.Sockets = waits
	}
	found = found.Complete(&result.Results{})
	found.TestText = "" // it is about frames
	found.Functions = found.Functions[:min(len(found.Functions), printedOfProgram)]
	return terminal.Profile(e.out, found)
}

// ofProgram prints or exports all of a trace without a recording.
func (c profileCmd) ofProgram(e *env, traces []*activity.Trace) error {
	switch {
	case c.Late, c.Frames.given, c.Window != 0, c.AtChange != nil, c.ending() == ".pftrace", c.ending() == ".json":
		return usagef("the folder has no frames; it can be printed, and exported as .callgrind .pb.gz .folded and .svg")
	case c.ending() == "":
		return printProgram(e, c.Args[0], traces)
	}
	of, err := c.trace(traces)
	if err != nil {
		return err
	}
	info := of.Info()
	text, err := c.write(e, "", &result.Results{}, traces, []result.FrameSpan{{FromNS: info.BeginNS, ToNS: info.EndNS}})
	if err == nil {
		_, err = fmt.Fprintln(e.out, strings.TrimPrefix(text, "1 frame in "))
	}
	return err
}
