package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller/certify"
)

// record records sources and prints the results, also of failed recordings. It closes the sources.
// There is one analysis per source, or none.
func (e *env) record(inputs []recorder.Input, what string, asJSON bool, lives ...*liveAnalysis) error {
	if err := refuseOutputs(inputs); err != nil {
		return errors.Join(err, closeAll(inputs))
	}
	p := newJoint(e, inputs, what)
	for i := range inputs {
		inputs[i].Options.Program = program()
		inputs[i].Options.Metadata = append(inputs[i].Options.Metadata, certify.Metadata(inputs[i].Source.Info())...)
		inputs[i].Options.Progress = func(at recorder.Progress) { p.report(i, at) }
	}
	for _, l := range lives {
		l.begin(p, asJSON)
	}
	outcomes := recorder.RecordAll(e.ctx, inputs)
	p.end()
	var err error
	for i, l := range lives {
		err = errors.Join(err, l.end(e, outcomes[i]))
	}
	lives = append(lives, make([]*liveAnalysis, len(inputs)-len(lives))...)
	for i, in := range inputs {
		outcomes[i].Err = errors.Join(outcomes[i].Err, in.Source.Close())
	}
	if len(inputs) == 1 {
		return errors.Join(e.recordedOne(inputs[0], outcomes[0], asJSON, lives[0]), err)
	}
	return errors.Join(e.recordedSeveral(inputs, outcomes, asJSON, lives), err)
}

// refuseOutputs rejects outputs before several recordings start. The recorder itself checks a
// single one.
func refuseOutputs(inputs []recorder.Input) error {
	for _, in := range inputs {
		for _, other := range inputs {
			if recorder.Reads(other.Source.Info().URI, in.Path) {
				return usagef("%s is the input: choose another name for the recording", in.Path)
			}
		}
		if len(inputs) == 1 {
			continue
		}
		if err := refuseExisting(in.Path, in.Options.Force); err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Dir(in.Path)); err != nil {
			return fmt.Errorf("record to %s: %w", in.Path, err)
		}
	}
	return nil
}

// joint is the progress of concurrent recordings.
type joint struct {
	phases // begun with the first report, so that what cannot begin is not announced
	what   string
	total  int // frames of all together, 0 unknown

	mu  sync.Mutex // reports come from each recording's goroutine
	all []recorder.Progress
}

func newJoint(e *env, inputs []recorder.Input, what string) *joint {
	j := &joint{phases: phases{env: e}, what: what, all: make([]recorder.Progress, len(inputs))}
	for _, in := range inputs {
		n := in.Source.Info().Frames
		if n == 0 || n >= 1<<31 {
			j.total = 0
			break
		}
		j.total += int(n)
	}
	return j
}

// report shows the progress of all recordings.
func (j *joint) report(i int, at recorder.Progress) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all[i] = at
	var sum recorder.Progress
	for _, p := range j.all {
		sum.Frames += p.Frames
		sum.Missing += p.Missing
		sum.Bytes += p.Bytes
	}
	j.show(j.what, int(sum.Frames), j.total)
	j.bar.Describe(j.what + progressText(sum, j.total))
}

// print prints in place of the bar. Its errors are ignored.
func (j *joint) print(what func() error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.bar.Hide()
	_ = what()
}

func (j *joint) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.phases.end()
}

// progressText returns the part of the progress that a bar cannot show.
func progressText(at recorder.Progress, total int) string {
	var text string
	if total <= 0 {
		text = fmt.Sprintf(": %s, %s", plural(at.Frames, "frame"), bytesText(at.Bytes))
	}
	if at.Missing > 0 {
		text += fmt.Sprintf("; %s lost", countText(at.Missing))
	}
	return text
}

func (e *env) recordedOne(in recorder.Input, out recorder.Outcome, asJSON bool, live *liveAnalysis) error {
	switch {
	case out.Result.Path == "": // nothing was begun
		return out.Err
	case asJSON:
		result := recordResult(in.Source.Info(), out.Result, out.Err)
		result.Certificate = certificate(in)
		return errors.Join(out.Err, live.addTo(&result), printJSON(e.out, result))
	}
	return errors.Join(out.Err,
		live.printAfter(e, func() error { return printRecorded(e, "", certificate(in), out.Result) }))
}

// recordedSeveral prints all results in the order of the command line.
func (e *env) recordedSeveral(inputs []recorder.Input, outcomes []recorder.Outcome, asJSON bool,
	lives []*liveAnalysis) error {
	all := recordingsJSON{}
	var failed error
	printed := 0
	for i, in := range inputs {
		out := outcomes[i]
		if out.Err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %s", in.Path, wording.Sentence(out.Err)))
		}
		result := recordResult(in.Source.Info(), out.Result, out.Err)
		result.Certificate = certificate(in)
		if result.Path == "" { // it was not begun
			result.Path = in.Path
		}
		failed = errors.Join(failed, lives[i].addTo(&result))
		all.Recordings = append(all.Recordings, result)
		if asJSON || out.Result.Path == "" {
			continue
		}
		if printed++; printed > 1 {
			fmt.Fprintln(e.out)
		}
		print := func() error { return printRecorded(e, in.Source.Info().URI, certificate(in), out.Result) }
		if err := lives[i].printAfter(e, print); err != nil {
			return errors.Join(failed, err)
		}
	}
	if asJSON {
		return errors.Join(failed, printJSON(e.out, all))
	}
	return failed
}
