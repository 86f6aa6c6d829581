package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/trace/lines"
	"github.com/eideticker/eideticker/analyze/trace/profile"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/netsim/instrument/node"
)

type traceCmd struct {
	Format      string   `enum:"text,jsonl,trace,cpuprofile,callgrind" default:"text" help:"Format (default: text)."`
	Output      string   `short:"o" placeholder:"FILE" help:"Output file (default: standard error)."`
	Force       bool     `help:"Overwrite an existing file."`
	Only        string   `placeholder:"DIR" help:"Record only files in this folder (default: all files)."`
	Stopped     bool     `help:"Start without recording; the signal or start() begins it."`
	Signal      string   `enum:"SIGUSR2,SIGPIPE,none" default:"SIGUSR2" help:"Signal that switches (default: SIGUSR2)."`
	NoCallbacks bool     `help:"Do not record timers, promises and other callbacks."`
	PrintTracer bool     `help:"Print tracer.js, which works without this program, and exit."`
	Command     []string `arg:"" optional:"" passthrough:"" help:"Program and its arguments after --."`
}

func (traceCmd) Help() string {
	return `Examples:

  eideticker trace -- node app.js
  eideticker trace --only src -o calls.txt -- npm test
  eideticker trace --format cpuprofile -o app.cpuprofile -- node app.js
  eideticker trace --print-tracer > tracer.js

Modules are rewritten while Node loads them. Files on the disk stay unchanged.
The output follows when the program ends, also by Ctrl-C. The exit code is the program's.

Formats:

  text        a line per call and return, then totals per function
  jsonl       the same as one JSON object per line
  trace       for ui.perfetto.dev
  cpuprofile  for DevTools, of the busiest process or thread
  callgrind   for KCachegrind`
}

// childError passes on the exit code of a program.
type childError struct{ code int }

func (c childError) Error() string { return fmt.Sprintf("exit code %d", c.code) }

func (c traceCmd) Run(e *env) (err error) {
	if c.PrintTracer {
		_, err := io.WriteString(e.out, node.TracerJS)
		return err
	}
	if c.Command = programOf(c.Command); len(c.Command) == 0 {
		return usagef("trace: no program; name it after --, as in -- node app.js")
	}
	name := c.Command[0]
	path, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("trace %s: %w; Node 18 or newer is needed", name, errors.Unwrap(err))
	}
	if c.Output != "" {
		if err := refuseExisting(c.Output, c.Force); err != nil {
			return err
		}
	}
	if c.Signal == "none" {
		c.Signal = ""
	}
	t, err := node.New(node.Options{Only: c.Only, Signal: c.Signal, Stopped: c.Stopped, Callbacks: !c.NoCallbacks})
	if err != nil {
		return fmt.Errorf("trace %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	cmd := exec.Command(path, c.Command[1:]...)
	cmd.Args[0] = name
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.in, terminal.Inherited(e.out), terminal.Inherited(e.err)
	ended := t.Run(cmd)
	if exited := (*exec.ExitError)(nil); ended != nil && !errors.As(ended, &exited) {
		return fmt.Errorf("trace %s: %w", name, ended)
	}
	code := node.ExitCode(cmd.ProcessState)
	if err := c.write(e, t, code); err != nil {
		return fmt.Errorf("trace %s: %w", name, err)
	}
	if code != 0 {
		return childError{code}
	}
	return nil
}

// write writes the calls of a program that has ended.
func (c traceCmd) write(e *env, t *node.Tracer, code int) error {
	logs, err := t.Logs()
	if err != nil {
		return err
	}
	info := &scripts.Info{StartNS: int64(t.Start), Programs: session.Programs(t.Programs())}
	run, problems, err := scripts.ReadLogs(info, logs...)
	for _, text := range problems {
		fmt.Fprintf(e.err, "eideticker: %s\n", terminal.Clean(text))
	}
	if err != nil {
		return err
	}
	if len(run.Trace.Realms) == 0 {
		if code != 0 {
			return nil // it has reported its error
		}
		return errors.New("no calls were recorded; Node 18 or newer is needed")
	}
	if c.Output == "" {
		return c.format(terminal.NewWriter(e.err), run)
	}
	return writeOut(c.Output, c.Force, func(w io.Writer) error { return c.format(w, run) })
}

// format writes the calls in the chosen format.
func (c traceCmd) format(w io.Writer, run *scripts.Run) error {
	buffered := bufio.NewWriter(w)
	var err error
	if c.Format == "trace" {
		err = export.WriteTrace(context.Background(), buffered, run)
	} else {
		_, err = export.WriteCalls(buffered, run, map[string]export.CallFormat{
			"text": export.Lines(lines.Text), "jsonl": export.Lines(lines.JSON), "cpuprofile": export.CPUProfile(),
			"callgrind": {Write: profile.Callgrind}}[c.Format])
	}
	return errors.Join(err, buffered.Flush())
}
