package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/codec/recorder"
)

// liveAnalysis is the analysis of one recording while it is made.
type liveAnalysis struct {
	*runfolder.Live
	path     string
	settings result.Settings
	all      bool                  // print all values
	show     func(runfolder.Ready) // set before the recording begins
}

// liveJSON is the part of record --json about a live analysis.
type liveJSON struct {
	FellBehind bool             `json:"fell_behind"`
	Windows    []liveWindowJSON `json:"windows"`
}

type liveWindowJSON struct {
	Start   int   `json:"start_frame"`
	Red     int   `json:"red_frame"`
	ReadyNS int64 `json:"ready_ns"`
}

// measures reads --analyze.
func (c recordCmd) measures() ([]string, error) {
	if slices.Equal(c.Analyze, []string{"all"}) {
		return nil, nil
	}
	names, err := measureNames(strings.Fields(strings.Join(c.Analyze, " ")))
	if err != nil {
		return nil, usagef("--analyze: %w; all selects every measure that applies", err)
	}
	return names, nil
}

// analyses starts the requested analyses. After a first Ctrl-C the recording is still measured.
func (c recordCmd) analyses(e *env, inputs []recorder.Input) (lives []*liveAnalysis, err error) {
	if len(c.Analyze) == 0 {
		return nil, nil
	}
	measures, err := c.measures()
	if err != nil {
		return nil, err
	}
	for i := range inputs {
		path := inputs[i].Path
		l := &liveAnalysis{path: path, settings: result.Settings{Measures: measures}, all: c.All,
			show: func(runfolder.Ready) {}}
		s := runfolder.Settings{Measures: measures, Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))}
		l.Live = runfolder.NewLive(context.WithoutCancel(e.ctx), runfolder.LiveOptions{
			Settings: s, Path: path, Program: program(), Ready: func(r runfolder.Ready) { l.show(r) },
		})
		inputs[i].Options.Watch = l.Live
		lives = append(lives, l)
	}
	return lives, nil
}

// begin prints each window when its results are ready. With --json all come at the end.
func (l *liveAnalysis) begin(j *joint, asJSON bool) {
	if asJSON {
		return
	}
	l.show = func(r runfolder.Ready) {
		j.print(func() error {
			if err := terminal.Window(j.env.out, &r.Window, l.settings, l.all); err != nil {
				return err
			}
			_, err := fmt.Fprintf(j.env.out, "  ready %s after its red\n", secondsText(r.After))
			return err
		})
	}
}

// liveResults are the results at the end.
type liveResults struct {
	results *result.Results
	ready   []runfolder.Ready
	behind  bool
	all     bool // print all values
}

// end waits for the results of the finished recording.
func (l *liveAnalysis) end(e *env) (found liveResults, err error) {
	found.all = l.all
	found.results, found.ready, found.behind, err = l.Results(context.WithoutCancel(e.ctx), e)
	if err != nil {
		return found, fmt.Errorf("analyze %s: %w", l.path, err)
	}
	return found, nil
}

// addTo adds the results to the JSON.
func (r *liveResults) addTo(j *recordJSON) error {
	if r == nil {
		return nil
	}
	j.Live = &liveJSON{FellBehind: r.behind, Windows: []liveWindowJSON{}}
	for _, w := range r.ready {
		j.Live.Windows = append(j.Live.Windows, liveWindowJSON{w.Window.Start, w.Window.Red, w.After.Nanoseconds()})
	}
	if r.results == nil {
		return nil
	}
	b, err := result.Encode(r.results)
	j.Results = json.RawMessage(b)
	return err
}

// printAfter calls first, then prints the results that were not printed live.
func (r *liveResults) printAfter(e *env, first func() error) error {
	if r != nil && len(r.ready) > 0 {
		fmt.Fprintln(e.out)
	}
	if err := first(); err != nil || r == nil || r.results == nil {
		return err
	}
	fmt.Fprintln(e.out)
	if err := terminal.Quality(e.out, r.results); err != nil {
		return err
	}
	if r.behind {
		if err := terminal.Lines(e.out,
			[]string{"the analysis was slower than the recording and read the file"}); err != nil {
			return err
		}
	}
	for i := range r.results.Windows {
		w := &r.results.Windows[i]
		if slices.ContainsFunc(r.ready, func(o runfolder.Ready) bool {
			return o.Window.Start == w.Start &&
				o.Window.Red == w.Red
		}) {
			continue
		}
		if err := terminal.Window(e.out, w, r.results.Settings, r.all); err != nil {
			return err
		}
	}
	return nil
}

// endAll waits for the results of the recordings.
func (e *env) endAll(lives []*liveAnalysis, outcomes []recorder.Outcome) (all []*liveResults, err error) {
	all = make([]*liveResults, len(outcomes))
	for i, l := range lives {
		if outcomes[i].Result.Path == "" {
			continue
		}
		found, failed := l.end(e)
		all[i], err = &found, errors.Join(err, failed)
	}
	return all, err
}
