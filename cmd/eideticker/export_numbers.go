package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/analyze/terminal"
)

func exportJSON(j *job) (string, error) {
	doc, err := j.Numbers()
	if err != nil {
		return "", err
	}
	out, err := createOut(j.cmd.Output, j.cmd.Force)
	if err != nil {
		return "", err
	}
	err = out.finish(printJSON(out, doc))
	return fmt.Sprintf("%s and %s in %s", plural(len(doc.Events), "event"), plural(len(doc.Gaps), "gap"), j.cmd.Output),
		err
}

func exportCSV(j *job) (string, error) { return exportFrames(j, j.CSV, "line") }

func exportNPY(j *job) (string, error) { return exportFrames(j, j.NPY, "element") }

// exportFrames writes something for each frame.
func exportFrames(j *job, write func(context.Context, io.Writer) error, what string) (string, error) {
	out, err := createOut(j.cmd.Output, j.cmd.Force)
	if err != nil {
		return "", err
	}
	err = out.finish(write(j.ctx, out))
	return fmt.Sprintf("%s in %s", plural(j.To-j.From, what), j.cmd.Output), err
}

func exportTrace(j *job) (string, error) {
	out, err := createOut(j.cmd.Output, j.cmd.Force)
	if err != nil {
		return "", err
	}
	defer j.writing()()
	write := j.Trace
	if strings.HasSuffix(strings.ToLower(j.cmd.Output), ".pftrace") {
		write = j.Perfetto
	}
	n, err := write(j.ctx, out)
	if err := out.finish(err); err != nil {
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
	out, err := createOut(j.cmd.Output, j.cmd.Force)
	if err != nil {
		return "", err
	}
	n, lost, err := j.Messages(j.ctx, out)
	if err := out.finish(err); err != nil {
		return "", err
	}
	if lost > 0 {
		fmt.Fprintf(j.err, "warning: lost packets of the page: %d\n", lost)
	}
	return fmt.Sprintf("%s in %s", plural(n, "message"), j.cmd.Output), nil
}

// exportCalls returns the export of calls of scripts in a format.
func exportCalls(format export.CallFormat) func(*job) (string, error) {
	return func(j *job) (string, error) {
		out, err := createOut(j.cmd.Output, j.cmd.Force)
		if err != nil {
			return "", err
		}
		n, problem, err := j.Calls(out, format)
		if err := out.finish(err); err != nil {
			return "", err
		}
		if problem != "" {
			fmt.Fprintf(j.err, "warning: %s\n", terminal.Clean(problem))
		}
		return fmt.Sprintf("%s in %s", plural(n, "call"), j.cmd.Output), nil
	}
}
