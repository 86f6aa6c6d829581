package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/v4l2"
	"github.com/eideticker/eideticker/codec/recorder"
)

type recordCmd struct {
	Source []string `short:"s" required:"" sep:"none" placeholder:"SOURCE" help:"Source, see eideticker sources."`
	Output []string `short:"o" required:"" sep:"none" placeholder:"FILE.eid" help:"File to write; one per source."`

	Duration *time.Duration `short:"t" placeholder:"30s" help:"Stop after this time (default: at Ctrl-C or the end)."`
	Ring     byteSize       `placeholder:"4GiB" help:"Memory between source and disk (default: by the rate)."`
	FPS      string         `name:"fps" placeholder:"N" help:"Frames per second, for sources with a choice."`
	EDID     string         `name:"edid" placeholder:"MODES" help:"Modes to offer to the DUT, such as 1920x1080@60."`
	CPU      []int          `name:"cpu" placeholder:"N" help:"Processor of the capture; one for all or one each."`
	KeepLast *time.Duration `placeholder:"30s" help:"Record in a circle until Ctrl-C, then keep this much of the end."`
	All      bool           `help:"With --analyze: print all values."`
	Analyze  []string       `placeholder:"all|MEASURE,..." help:"Measure each window as soon as its red marker comes."`
	Force    bool           `help:"Overwrite the file if it exists."`
	JSON     bool           `help:"Print the result as one JSON object."`
}

func (recordCmd) Help() string {
	return `Examples:

  eideticker record -s 'x11::0?fps=60' -o desk.eid -t 30s
  eideticker record -s x11::1 -o a.eid -s x11::2 -o b.eid --keep-last 1m
  eideticker record -s x11::9 -o run.eid --analyze fps,speedindex
  eideticker record -s v4l2:/dev/video0 --edid 1920x1080@60 -o phone.eid

Press Ctrl-C to end the recording, and twice to end the program at once. Lost frames are counted and recorded as gaps.

Record up to four sources, each with its own -o. They share one clock and end together.
If one fails, the others continue, and the exit code is 1.

--edid is written only if it differs from the present modes. The DUT sees a hot plug, and the modes stay set.`
}

// maxSources is the largest number of sources.
const maxSources = 4

func (c recordCmd) Run(e *env) error {
	o := recorder.Options{RingBytes: int64(c.Ring), Force: c.Force}
	var err error
	if o.Duration, err = positive("--duration", c.Duration); err != nil {
		return err
	}
	if o.KeepLast, err = positive("--keep-last", c.KeepLast); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	inputs, err := c.open(e.ctx, o)
	if err != nil {
		return err
	}
	lives, err := c.analyses(e, inputs)
	if err != nil {
		return errors.Join(err, closeAll(inputs))
	}
	return e.record(inputs, c.announcement(o.KeepLast), c.JSON, lives...)
}

// check rejects invalid flags before anything is opened.
func (c recordCmd) check() error {
	switch n := len(c.Source); {
	case n != len(c.Output):
		return usagef("%d sources with -s, but %d files with -o: each source needs its own file", n, len(c.Output))
	case n > maxSources:
		return usagef("%d sources: at most %d can be recorded at once", n, maxSources)
	case len(c.CPU) > 1 && len(c.CPU) != n:
		return usagef("--cpu has %d numbers for %d sources: give one for all, or one for each", len(c.CPU), n)
	}
	if len(c.Analyze) > 0 && c.KeepLast != nil {
		return usagef("--analyze cannot be used with --keep-last: analyze the file afterwards")
	}
	if _, err := c.measures(); err != nil {
		return err
	}
	if len(c.CPU) > 0 {
		if err := recorder.CheckCPUs(c.CPU); err != nil {
			return usagef("--cpu: %w", err)
		}
	}
	if err := c.checkEDID(); err != nil {
		return err
	}
	for i, source := range c.Source {
		for _, other := range c.Source[:i] {
			if recorder.SameDevice(source, other) {
				return usagef("%s is given twice: a device can be recorded only once at a time", source)
			}
		}
	}
	stdin := 0
	for i, path := range c.Output {
		for _, other := range c.Output[:i] {
			if samePlace(path, other) {
				return usagef("%s is given twice: each source needs its own file", path)
			}
		}
		if recorder.ReadsStandardInput(c.Source[i]) {
			stdin++
		}
	}
	if stdin > 1 {
		return usagef("only one source can read standard input")
	}
	return nil
}

func (c recordCmd) checkEDID() error {
	if c.EDID == "" {
		return nil
	}
	if _, err := v4l2.ParseModes(c.EDID); err != nil {
		return usagef("--edid: %w", err)
	}
	if !slices.ContainsFunc(c.Source, recorder.IsDevice) {
		return usagef("--edid needs a capture device as a source: v4l2:")
	}
	return nil
}

// samePlace reports whether two paths name one file, which need not exist.
func samePlace(a, b string) bool {
	return recorder.SameFile(a, b) || place(a) == place(b)
}

// place returns a path with its folder resolved.
func place(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// open opens all sources, or none.
func (c recordCmd) open(ctx context.Context, o recorder.Options) (inputs []recorder.Input, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(inputs))
		}
	}()
	for i, source := range c.Source {
		uri, err := c.uri(source)
		if err != nil {
			return inputs, err
		}
		src, err := openSource(ctx, uri)
		if err != nil {
			return inputs, err
		}
		in := recorder.Input{Source: src, Path: c.Output[i], Options: o}
		switch len(c.CPU) {
		case 0:
		case 1:
			in.Options.CPUs = c.CPU
		default:
			in.Options.CPUs = c.CPU[i : i+1]
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

func closeAll(inputs []recorder.Input) error {
	var err error
	for _, in := range inputs {
		err = errors.Join(err, in.Source.Close())
	}
	return err
}

// announcement describes the recording while it runs.
func (c recordCmd) announcement(keepLast time.Duration) string {
	what, them := strings.Join(c.Source, " and "), "it"
	if len(c.Source) > 1 {
		what, them = plural(len(c.Source), "source"), "them"
	} else if uri, err := c.uri(what); err == nil {
		what = uri
	}
	if keepLast > 0 {
		return "recording " + what + ", Ctrl-C saves the last " + keepLast.String()
	}
	return "recording " + what + ", Ctrl-C ends " + them
}

// uri adds --fps and --edid to a source.
func (c recordCmd) uri(source string) (string, error) {
	uri := source
	if c.FPS != "" {
		var err error
		if uri, err = c.withFPS(source); err != nil {
			return "", err
		}
	}
	if c.EDID == "" || !recorder.IsDevice(source) {
		return uri, nil
	}
	uri, err := recorder.WithParameter(uri, "edid", c.EDID)
	if err != nil {
		return "", usageError{err}
	}
	return uri, nil
}

func (c recordCmd) withFPS(source string) (string, error) {
	scheme, _, _ := strings.Cut(source, ":")
	if scheme == "y4m" || scheme == "video" {
		return "", usagef("--fps cannot be used with %s: its frames have their own times", scheme)
	}
	if _, _, err := frame.ParseRate(c.FPS); err != nil {
		return "", usagef("--fps: %w", err)
	}
	uri, err := recorder.WithParameter(source, "fps", c.FPS)
	if err != nil {
		return "", usageError{err}
	}
	return uri, nil
}

// openSource opens a source. Invalid URIs are usage errors. Ctrl-C ends a wait for a signal.
func openSource(ctx context.Context, uri string) (capture.Source, error) {
	src, err := recorder.OpenSource(ctx, uri)
	switch {
	case errors.Is(err, recorder.ErrURI):
		return nil, usageError{err}
	case errors.Is(err, context.Canceled):
		return nil, fmt.Errorf("open %s: %w", uri, orInterrupted(err))
	}
	return src, err
}
