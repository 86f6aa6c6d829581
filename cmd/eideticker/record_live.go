package main

import (
	"context"
	"encoding/json"
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

	results *result.Results // nil: the recording did not begin, or its analysis failed
	ready   []runfolder.Ready
	behind  bool
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
			if err := terminal.Window(j.out, &r.Window, l.settings, l.all); err != nil {
				return err
			}
			_, err := fmt.Fprintf(j.out, "  ready %s after its red\n", secondsText(r.After))
			return err
		})
	}
}

// end waits for the results of the finished recording.
func (l *liveAnalysis) end(e *env, of recorder.Outcome) (err error) {
	if of.Result.Path == "" {
		return nil
	}
	l.results, l.ready, l.behind, err = l.Results(context.WithoutCancel(e.ctx), e)
	if err != nil {
		return fmt.Errorf("analyze %s: %w", l.path, err)
	}
	return nil
}

// addTo adds the results to the JSON.
func (l *liveAnalysis) addTo(j *recordJSON) error {
	if l == nil {
		return nil
	}
	j.Live = &liveJSON{FellBehind: l.behind, Windows: []liveWindowJSON{}}
	for _, w := range l.ready {
		j.Live.Windows = append(j.Live.Windows, liveWindowJSON{w.Window.Start, w.Window.Red, w.After.Nanoseconds()})
	}
	if l.results == nil {
		return nil
	}
	b, err := result.Encode(l.results)
	j.Results = json.RawMessage(b)
	return err
}

// printAfter calls first, then prints the results that were not printed live.
func (l *liveAnalysis) printAfter(e *env, first func() error) error {
	if l != nil && len(l.ready) > 0 {
		fmt.Fprintln(e.out)
	}
	if err := first(); err != nil || l == nil || l.results == nil {
		return err
	}
	fmt.Fprintln(e.out)
	if err := terminal.Quality(e.out, l.results); err != nil {
		return err
	}
	if l.behind {
		if err := terminal.Lines(e.out,
			[]string{"the analysis was slower than the recording and read the file"}); err != nil {
			return err
		}
	}
	for i := range l.results.Windows {
		w := &l.results.Windows[i]
		if slices.ContainsFunc(l.ready, func(o runfolder.Ready) bool {
			return o.Window.Start == w.Start && o.Window.Red == w.Red
		}) {
			continue
		}
		if err := terminal.Window(e.out, w, l.results.Settings, l.all); err != nil {
			return err
		}
	}
	return nil
}
