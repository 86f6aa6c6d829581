package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument"
)

// scriptCmd instruments JavaScript without a network, and reports what instrumented pages sent.
type scriptCmd struct {
	List    scriptListCmd    `cmd:"" help:"List policies, or the programs that a run served."`
	Rewrite scriptRewriteCmd `cmd:"" help:"Insert measuring code into a script or module."`
	Verify  scriptVerifyCmd  `cmd:"" help:"Check that files can be instrumented."`
	Report  scriptReportCmd  `cmd:"" help:"Print functions, errors, coverage and cost of a run."`
}

func (scriptCmd) Help() string {
	return `Examples:

  eideticker script list
  eideticker script report out/stutter-20261124-101500
  eideticker script verify site/*.js
  eideticker script rewrite site/app.js --count -o app.counted.js

Insertions contain no line breaks. Without them, the rewritten file equals the original.
The rewritten file calls global functions that a runtime must define. docs/scripts.md lists them.`
}

// scriptFlags select the insertions.
type scriptFlags struct {
	Count bool   `xor:"shape" help:"Count calls of every function."`
	Time  bool   `xor:"shape" help:"Time every call (default)."`
	Nonce string `placeholder:"NAME" help:"Ending of every inserted name (default: from the contents)."`
}

func (f scriptFlags) plan(src string) instrument.Plan {
	plan := instrument.Plan{Shape: instrument.Time, Nonce: f.Nonce}
	if f.Count {
		plan.Shape = instrument.Count
	}
	if plan.Nonce == "" {
		plan.Nonce = instrument.Nonce(src)
	}
	return plan
}

// rewritten is a file with its insertions.
type rewritten struct {
	src  string
	goal ecma.Goal
	instrument.Result
}

// rewrite reads and rewrites a file. A file is a module if it is not a valid script, or by its
// ending.
func (f scriptFlags) rewrite(path string) (rewritten, error) {
	text, err := readBounded(path, ecma.MaxSource) // the parser rejects longer files
	if err != nil {
		return rewritten{}, err
	}
	src := string(text)
	plan, first := f.plan(src), error(nil)
	for _, goal := range []ecma.Goal{ecma.Script, ecma.Module} {
		if goal == ecma.Script && filepath.Ext(path) == ".mjs" {
			continue
		}
		result, err := instrument.Rewrite(src, goal, plan)
		if err == nil {
			return rewritten{src, goal, result}, nil
		}
		var here, before *ecma.Error
		if !errors.As(err, &here) {
			return rewritten{src: src}, err
		}
		// The goal that gets further is the one that was meant.
		if !errors.As(first, &before) || here.Offset > before.Offset {
			first = err
		}
	}
	return rewritten{src: src}, first
}

type scriptRewriteCmd struct {
	File string `arg:"" name:"file" complete:"files" help:"A script or module."`
	scriptFlags
	Output string `short:"o" placeholder:"FILE" help:"Output file (default: standard output)."`
	Force  bool   `help:"Overwrite an existing file."`
}

func (scriptRewriteCmd) Help() string {
	return `Example:

  eideticker script rewrite site/app.js --time -o app.timed.js

A file that cannot be instrumented is an error with line and column. Nothing is written then.`
}

func (c scriptRewriteCmd) Run(e *env) error {
	r, err := c.rewrite(c.File)
	if err != nil {
		return fmt.Errorf("rewrite %s: %w", c.File, err)
	}
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, r.Text)
		return err
	}
	if c.Output == "" {
		return write(e.out)
	}
	return writeOut(c.Output, c.Force, write)
}

type scriptVerifyCmd struct {
	Files []string `arg:"" name:"file" complete:"files" help:"Scripts and modules."`
	scriptFlags
	JSON bool `help:"Print one JSON object."`
}

func (scriptVerifyCmd) Help() string {
	return `Example:

  eideticker script verify site/*.js

Each file is rewritten. The result is parsed again and must have the same structure.
Its insertions are removed, which must give the original. The exit code is 1 if a file cannot be instrumented.`
}

// scriptJSON is one file of script verify --json.
type scriptJSON struct {
	Path          string `json:"path"`
	Bytes         int    `json:"bytes"`
	Functions     int    `json:"functions"`
	Insertions    int    `json:"insertions"`
	InsertedBytes int    `json:"inserted_bytes"`
	Problem       string `json:"problem"` // empty: can be instrumented
	Line          int    `json:"line"`    // of the problem; 0: the file as a whole
	Column        int    `json:"column"`
}

func (c scriptVerifyCmd) Run(e *env) error {
	all, failed := make([]scriptJSON, 0, len(c.Files)), 0
	for _, path := range c.Files {
		if err := e.ctx.Err(); err != nil {
			return orInterrupted(err)
		}
		f := c.verify(path)
		if f.Problem != "" {
			failed++
		}
		all = append(all, f)
		if c.JSON {
			continue
		}
		if err := f.print(e.out); err != nil {
			return err
		}
	}
	if c.JSON {
		if err := printJSON(e.out, map[string]any{"files": all}); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("script verify: %d of %s cannot be instrumented", failed, plural(len(all), "file"))
	}
	return nil
}

func (c scriptVerifyCmd) verify(path string) scriptJSON {
	r, err := c.rewrite(path)
	if err == nil {
		err = r.Verify(r.src, r.goal)
	}
	f := scriptJSON{Path: path, Bytes: len(r.src)}
	var place *ecma.Error
	switch {
	case errors.As(err, &place):
		f.Problem, f.Line, f.Column = place.Reason, place.Line, place.Column
		return f
	case err != nil:
		f.Problem = err.Error()
		return f
	}
	f.Functions, f.Insertions, f.InsertedBytes = len(r.Functions), len(r.Insertions), len(r.Text)-len(r.src)
	return f
}

func (f scriptJSON) print(w io.Writer) error {
	if f.Line > 0 {
		_, err := fmt.Fprintf(w, "bad  %s:%d:%d: %s\n", f.Path, f.Line, f.Column, f.Problem)
		return err
	} else if f.Problem != "" {
		_, err := fmt.Fprintf(w, "bad  %s: %s\n", f.Path, f.Problem)
		return err
	}
	_, err := fmt.Fprintf(w, "ok   %s: %s, %s, %s, bytes × %.3f\n", f.Path, bytesText(f.Bytes),
		plural(f.Functions, "function"), plural(f.Insertions, "insertion"),
		1+float64(f.InsertedBytes)/float64(max(f.Bytes, 1)))
	return err
}
