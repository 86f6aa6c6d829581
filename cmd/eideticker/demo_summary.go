package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
)

// demoSummary is what the demo writes as summary.json and prints with --json.
type demoSummary struct {
	Browser        string `json:"browser"` // as asked for; "" is the first that is installed
	BrowserVersion string `json:"browser_version"`
	// SharedMachine is true here: browser and recorder took each other's time.
	SharedMachine bool       `json:"shared_machine"`
	Verified      bool       `json:"verified"` // all recordings
	Problems      []string   `json:"problems"` // of recordings
	Pages         []demoPage `json:"pages"`    // a run each
	Total         demoCounts `json:"total"`
	Summary       string     `json:"summary"`
	Notes         []string   `json:"notes"`

	before []string // notes of no run
}

// demoCounts are what is counted of each run and in total.
type demoCounts struct {
	Frames        int `json:"frames"`        // recorded from the first content frame to the last
	UniqueFrames  int `json:"unique_frames"` // of them, different from the one before
	LostFrames    int `json:"lost_frames"`   // not recorded
	ChecksMade    int `json:"checks_made"`   // numbers that were held against what was drawn
	ChecksFailed  int `json:"checks_failed"`
	ChecksNotMade int `json:"checks_not_made"`
}

func (c *demoCounts) add(o demoCounts) {
	c.Frames += o.Frames
	c.UniqueFrames += o.UniqueFrames
	c.LostFrames += o.LostFrames
	c.ChecksMade += o.ChecksMade
	c.ChecksFailed += o.ChecksFailed
	c.ChecksNotMade += o.ChecksNotMade
}

// demoPage is a run of a test, and so of a page.
type demoPage struct {
	Name   string        `json:"name"`  // of the test
	Title  string        `json:"title"` // what it is about
	State  session.State `json:"state"`
	Reason string        `json:"reason,omitempty"`
	// Attempt is 2 where a try before it had lost too many frames.
	Attempt int `json:"attempt"`
	demoCounts
	GreenFrame int     `json:"green_frame"` // the last of the held green
	FirstFrame int     `json:"first_frame"`
	LastFrame  int     `json:"last_frame"`
	RedFrame   int     `json:"red_frame"`   // the first full red
	DurationNS int64   `json:"duration_ns"` // from the first content frame to the first full red
	ClaimedFPS float64 `json:"claimed_fps"` // by the page itself; 0: it claims none

	Checks  []result.Check   `json:"checks"` // measured beside drawn beside claimed
	Results []analyze.Result `json:"results"`
	Notes   []string         `json:"notes"`

	Network *demoNetwork `json:"network"` // null: it was loaded over no line

	Recording *infoJSON `json:"recording"` // null: nothing was recorded
	Dir       string    `json:"dir"`
	Report    string    `json:"report,omitempty"`
	Video     string    `json:"video,omitempty"`
	Pictures  string    `json:"pictures,omitempty"`
}

func newDemoSummary(file string) demoSummary {
	return demoSummary{SharedMachine: true, Verified: true, Problems: []string{}, Pages: []demoPage{}, Summary: file,
		Notes: []string{}}
}

// take looks at a run that has ended.
func (d *demo) take(t *suite.Test, dir string, m *session.Made) error {
	rec, s := m.Record, &d.summary
	p := demoPage{
		Name: t.Name, Title: t.About, State: rec.State, Reason: rec.Reason, Attempt: rec.Attempt,
		GreenFrame: -1, FirstFrame: -1, LastFrame: -1, RedFrame: -1,
		Checks: []result.Check{}, Results: []analyze.Result{}, Notes: append([]string{}, rec.Notes...),
		Dir: dir, Report: ifThere(dir, runfolder.PageFile), Video: ifThere(dir, runfolder.VideoFile),
		Pictures: ifThere(dir, runfolder.PicturesDir),
		Network:  newDemoNetwork(dir, m),
	}
	p.LostFrames, p.ChecksMade, p.ChecksFailed, p.ChecksNotMade = rec.WindowLost, rec.Checks, len(rec.ChecksFailed),
		len(rec.ChecksNotMade)
	if m.Found != nil && rec.State != session.Failed && len(m.Found.Results.Windows) > 0 {
		p.measured(&m.Found.Results.Windows[0]) // a page plays in one
	}
	if rec.Frames > 0 {
		if err := d.read(&p, filepath.Join(dir, runfolder.RecordingFile)); err != nil {
			return err
		}
	}
	s.Browser, s.BrowserVersion = rec.Browser, firstOf(rec.Environment[result.EnvBrowser], s.BrowserVersion)
	s.Pages = append(s.Pages, p)
	s.Total.add(p.demoCounts)
	s.Notes = append(slices.Clone(s.before), s.notes()...)
	d.made = append(d.made, m)
	return nil
}

func (p *demoPage) measured(w *result.Window) {
	p.GreenFrame, p.FirstFrame, p.LastFrame, p.RedFrame = w.Green, w.Start, w.End, w.Red
	p.DurationNS, p.ClaimedFPS = w.EndNS-w.StartNS, w.Claims["fps.framerate"]
	p.Checks, p.Results = append(p.Checks, w.Checks...), append(p.Results, w.Results...)
}

// read counts what a recording has, and decodes all of its frames once more, as eideticker verify
// does.
func (d *demo) read(p *demoPage, path string) error {
	if err := p.count(path); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	bar := d.phase("verifying", int(p.Recording.Frames))
	found, err := recording.Verify(d.ctx, path, func(done, _ int) { bar.set(done) })
	bar.end()
	if err != nil {
		return err
	}
	for _, problem := range found.Problems {
		d.summary.Verified = false
		d.summary.Problems = append(d.summary.Problems, path+": "+damageText(problem))
	}
	return nil
}

func (p *demoPage) count(path string) error {
	r, err := recording.Open(path)
	if err != nil {
		return err
	}
	defer r.Close() // was only read
	has, err := recorder.SummarizeReader(r)
	if err != nil {
		return err
	}
	has.Path, has.Bytes = path, r.Info().Bytes
	about := describeRecording(r, has)
	p.Recording = &about
	if p.FirstFrame < 0 {
		return nil
	}
	played := r.Timeline(p.FirstFrame, p.LastFrame+1)
	for played.Next() {
		p.Frames++
		if played.Number() == p.FirstFrame || len(played.Change().Spans) > 0 {
			p.UniqueFrames++
		}
	}
	return played.Err()
}

// ifThere is the path of a file in a folder, or "" where there is none.
func ifThere(dir, name string) string {
	if path := filepath.Join(dir, name); exists(path) {
		return path
	}
	return ""
}

// verdict is the error with which the demo ends if it did not show what it claims.
func (s *demoSummary) verdict() error {
	var ended, unknown, wrong []string
	for _, p := range s.Pages {
		switch {
		case lineOff(p.State, p.Reason):
			continue
		case p.State == session.Failed:
			ended = append(ended, p.Name+" failed: "+p.Reason)
			continue
		case p.State != session.Passed:
			ended = append(ended, p.Name+" does not count: "+p.Reason)
		case p.ChecksMade == 0:
			unknown = append(unknown, p.Name)
		}
		for _, c := range p.Checks {
			if c.Failed() {
				wrong = append(wrong, p.Name+": "+c.What)
			}
		}
	}
	switch {
	case !s.Verified:
		return fmt.Errorf("demo: cannot read a recording: %s", strings.Join(s.Problems, ", "))
	case len(wrong) > 0:
		return fmt.Errorf("demo: values differ from the drawn content: %s; %s lists the frames", strings.Join(wrong, ", "),
			s.Summary)
	case len(ended) > 0:
		return errors.New("demo: " + strings.Join(ended, "; "))
	case len(unknown) > 0:
		return fmt.Errorf("demo: unknown drawn content in %s", strings.Join(unknown, ", "))
	}
	return nil
}
