package main

import (
	"context"
	"fmt"
	"io"
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
	n, err := j.Trace(j.ctx, out)
	if err := out.finish(err); err != nil {
		return "", err
	}
	calls := ""
	if n.Calls > 0 {
		calls = ", " + plural(n.Calls, "call")
	}
	return fmt.Sprintf("%s, %s%s, %s and %s in %s", plural(j.To-j.From, "frame"), plural(n.Gaps, "gap"), calls,
		plural(n.Events, "event"), plural(n.Requests, "request"), j.cmd.Output), nil
}
