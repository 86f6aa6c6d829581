package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
)

// Summary is the content of summary.json.
type Summary struct {
	Browser        string `json:"browser"` // as asked for; "": the first that is installed
	BrowserVersion string `json:"browser_version"`
	// SharedMachine is true: browser and recorder shared this machine.
	SharedMachine bool     `json:"shared_machine"`
	Verified      bool     `json:"verified"` // all recordings
	Problems      []string `json:"problems"` // of recordings
	Pages         []Page   `json:"pages"`    // a run each
	Total         Counts   `json:"total"`
	// Comparison is of two pages that took turns; null: none.
	Comparison *Comparison `json:"comparison"`

	Summary string   `json:"summary"`
	Notes   []string `json:"notes"`

	Made []*session.Made `json:"-"` // the runs, in the order of Pages

	before []string // notes of no run
}

// Comparison is the comparison of a page with a slower one.
type Comparison struct {
	Answer  string          `json:"answer"`
	Outcome compare.Outcome `json:"outcome"` // it is right if it is compare.Regressed
	Page    string          `json:"page"`
}

// Counts are counts of a run or in total.
type Counts struct {
	Frames        int `json:"frames"`        // recorded from the first content frame to the last
	UniqueFrames  int `json:"unique_frames"` // different from the frame before
	LostFrames    int `json:"lost_frames"`   // not recorded
	ChecksMade    int `json:"checks_made"`   // values compared with the drawn content
	ChecksFailed  int `json:"checks_failed"`
	ChecksNotMade int `json:"checks_not_made"`
}

func (c *Counts) add(o Counts) {
	c.Frames += o.Frames
	c.UniqueFrames += o.UniqueFrames
	c.LostFrames += o.LostFrames
	c.ChecksMade += o.ChecksMade
	c.ChecksFailed += o.ChecksFailed
	c.ChecksNotMade += o.ChecksNotMade
}

// Page is a run of a test.
type Page struct {
	Name   string        `json:"name"` // of the test
	Title  string        `json:"title"`
	State  session.State `json:"state"`
	Reason string        `json:"reason,omitempty"`
	// Attempt is 2 if an earlier try lost too many frames.
	Attempt int `json:"attempt"`
	Counts
	GreenFrame int     `json:"green_frame"` // the last of the held green
	FirstFrame int     `json:"first_frame"`
	LastFrame  int     `json:"last_frame"`
	RedFrame   int     `json:"red_frame"`   // the first full red
	DurationNS int64   `json:"duration_ns"` // from the first content frame to the first full red
	ClaimedFPS float64 `json:"claimed_fps"` // by the page; 0: none

	Checks  []result.Check   `json:"checks"` // measured, drawn and claimed values
	Results []analyze.Result `json:"results"`
	Notes   []string         `json:"notes"`

	Network *Network `json:"network"` // null: no link

	Recording *export.Info `json:"recording"` // null: nothing was recorded
	Dir       string       `json:"dir"`
	Report    string       `json:"report,omitempty"`
	Video     string       `json:"video,omitempty"`
	Pictures  string       `json:"pictures,omitempty"`
}

func newSummary(file string) *Summary {
	return &Summary{SharedMachine: true, Verified: true, Problems: []string{}, Pages: []Page{}, Summary: file,
		Notes: []string{}}
}

// take adds a run that has ended.
func (d *demo) take(ctx context.Context, t *suite.Test, dir string, m *session.Made) error {
	rec, s := m.Record, d.summary
	p := Page{
		Name: t.Name, Title: t.About, State: rec.State, Reason: rec.Reason, Attempt: rec.Attempt,
		GreenFrame: -1, FirstFrame: -1, LastFrame: -1, RedFrame: -1,
		Checks: []result.Check{}, Results: []analyze.Result{}, Notes: append([]string{}, rec.Notes...),
		Dir: dir, Report: ifThere(dir, runfolder.PageFile), Video: ifThere(dir, runfolder.VideoFile),
		Pictures: ifThere(dir, runfolder.PicturesDir),
		Network:  newNetwork(dir, m),
	}
	p.LostFrames, p.ChecksMade, p.ChecksFailed, p.ChecksNotMade = rec.WindowLost, rec.Checks, len(rec.ChecksFailed),
		len(rec.ChecksNotMade)
	if m.Found != nil && rec.State != session.Failed && len(m.Found.Results.Windows) > 0 {
		p.measured(&m.Found.Results.Windows[0])
	}
	if rec.Frames > 0 {
		if err := d.read(ctx, &p, filepath.Join(dir, runfolder.RecordingFile)); err != nil {
			return err
		}
	}
	s.Browser, s.BrowserVersion = rec.Browser, cmp.Or(rec.Environment[result.EnvBrowser], s.BrowserVersion)
	s.Pages = append(s.Pages, p)
	s.Total.add(p.Counts)
	s.Notes = append(slices.Clone(s.before), s.notes()...)
	s.Made = append(s.Made, m)
	return nil
}

func (p *Page) measured(w *result.Window) {
	p.GreenFrame, p.FirstFrame, p.LastFrame, p.RedFrame = w.Green, w.Start, w.End, w.Red
	p.DurationNS, p.ClaimedFPS = w.EndNS-w.StartNS, w.Claims["fps.framerate"]
	p.Checks, p.Results = append(p.Checks, w.Checks...), append(p.Results, w.Results...)
}

// read counts the frames of a recording, and verifies it as eideticker verify does.
func (d *demo) read(ctx context.Context, p *Page, path string) error {
	if err := p.count(path); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	advance, end := d.Progress.Phase("verifying", int(p.Recording.Frames))
	before := 0
	found, err := recording.Verify(ctx, path, func(done, _ int) {
		advance(done - before)
		before = done
	})
	end()
	if err != nil {
		return err
	}
	for _, problem := range found.Problems {
		d.summary.Verified = false
		d.summary.Problems = append(d.summary.Problems, path+": "+problem.String())
	}
	return nil
}

func (p *Page) count(path string) error {
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
	about := export.NewInfo(r, has)
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

// ifThere returns the path of a file in a folder, or "" if it does not exist.
func ifThere(dir, name string) string {
	if path := filepath.Join(dir, name); exists(path) {
		return path
	}
	return ""
}

// Verdict returns an error if a value differs from the drawn content, or a run is missing.
func (s *Summary) Verdict() error {
	var ended, unknown, wrong []string
	for _, p := range s.Pages {
		switch {
		case linkOff(p.State, p.Reason):
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
		return fmt.Errorf("cannot read a recording: %s", strings.Join(s.Problems, ", "))
	case len(wrong) > 0:
		return fmt.Errorf("values differ from the drawn content: %s; %s lists the frames",
			strings.Join(wrong, ", "), s.Summary)
	case len(ended) > 0:
		return errors.New(strings.Join(ended, "; "))
	case len(unknown) > 0:
		return fmt.Errorf("unknown drawn content in %s", strings.Join(unknown, ", "))
	case s.Comparison != nil && s.Comparison.Outcome != compare.Regressed:
		return fmt.Errorf("a slower page was not found: %s", s.Comparison.Answer)
	}
	return nil
}

// notes collects the notes of all runs. A note of every run is listed once.
func (s *Summary) notes() (all []string) {
	of := map[string][]string{}
	var texts []string
	for _, p := range s.Pages {
		for _, text := range p.Notes {
			if of[text] == nil {
				texts = append(texts, text)
			}
			if !slices.Contains(of[text], p.Name) {
				of[text] = append(of[text], p.Name)
			}
		}
	}
	for _, text := range texts {
		if names := of[text]; len(names) < len(s.Pages) || len(s.Pages) == 1 {
			text = strings.Join(names, ", ") + ": " + text
		}
		all = append(all, text)
	}
	return all
}
