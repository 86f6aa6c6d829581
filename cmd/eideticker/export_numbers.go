package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/analyze/terminal"
)

// save writes the output and shows the progress of the frames.
func (j *job) save(write func(context.Context, io.Writer) error) error {
	return writeOut(j.cmd.Output, j.cmd.Force, func(w io.Writer) error {
		defer j.writing()()
		return write(j.ctx, w)
	})
}

func exportJSON(j *job) (string, error) {
	doc, err := j.Numbers()
	if err != nil {
		return "", err
	}
	err = writeOut(j.cmd.Output, j.cmd.Force, func(w io.Writer) error { return printJSON(w, doc) })
	return fmt.Sprintf("%s and %s in %s", plural(len(doc.Events), "event"), plural(len(doc.Gaps), "gap"), j.cmd.Output),
		err
}

func exportCSV(j *job) (string, error) { return exportFrames(j, j.CSV, "line") }

func exportNPY(j *job) (string, error) { return exportFrames(j, j.NPY, "element") }

// exportFrames writes something for each frame.
func exportFrames(j *job, write func(context.Context, io.Writer) error, what string) (string, error) {
	err := writeOut(j.cmd.Output, j.cmd.Force, func(w io.Writer) error { return write(j.ctx, w) })
	return fmt.Sprintf("%s in %s", plural(j.To-j.From, what), j.cmd.Output), err
}

func exportTrace(j *job) (string, error) {
	write := j.Trace
	if strings.HasSuffix(strings.ToLower(j.cmd.Output), ".pftrace") {
		write = j.Perfetto
	}
	var n export.TraceCounts
	err := j.save(func(ctx context.Context, w io.Writer) (err error) {
		n, err = write(ctx, w)
		return err
	})
	if err != nil {
		return "", err
	}
	if n.Left > 0 {
		fmt.Fprintf(j.err, "warning: %s left out, which overlap others\n", plural(n.Left, "slice"))
	}
	calls := ""
	if n.Calls > 0 {
		calls = ", " + plural(n.Calls, "call")
	}
	if n.Slices > 0 {
		calls += ", " + plural(n.Slices, "slice") + " of threads"
	}
	return fmt.Sprintf("%s, %s%s, %s and %s in %s", plural(j.To-j.From, "frame"), plural(n.Gaps, "gap"), calls,
		plural(n.Events, "event"), plural(n.Requests, "request"), j.cmd.Output), nil
}

func exportMessages(j *job) (string, error) {
	n, lost := 0, int64(0)
	err := writeOut(j.cmd.Output, j.cmd.Force, func(w io.Writer) (err error) {
		n, lost, err = j.Messages(j.ctx, w)
		return err
	})
	if lost > 0 && err == nil {
		fmt.Fprintf(j.err, "warning: lost packets of the page: %d\n", lost)
	}
	return fmt.Sprintf("%s in %s", plural(n, "message"), j.cmd.Output), err
}

// exportCalls returns the export of calls of scripts in a format.
func exportCalls(format export.CallFormat) func(*job) (string, error) {
	return func(j *job) (string, error) {
		n, problem := 0, ""
		err := writeOut(j.cmd.Output, j.cmd.Force, func(w io.Writer) (err error) {
			n, problem, err = j.Calls(w, format)
			return err
		})
		if problem != "" && err == nil {
			fmt.Fprintf(j.err, "warning: %s\n", terminal.Clean(problem))
		}
		return fmt.Sprintf("%s in %s", plural(n, "call"), j.cmd.Output), err
	}
}
