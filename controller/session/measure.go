package session

import (
	"context"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/suite"
)

// analyze measures the recording as the test asks, and writes results, page, pictures and video.
func (s *session) analyze(ctx context.Context) error {
	r, err := recording.Open(s.path(runfolder.RecordingFile))
	if err != nil {
		return err
	}
	defer r.Close() // was only read
	settings := s.settings()
	found, err := runfolder.Run(ctx, r, settings, s.Program, s.Progress)
	if err != nil {
		return fmt.Errorf("measure the recording: %w", err)
	}
	s.record.Measured = measuredBy(settings)
	s.log.Info("measured")
	if err := s.holdAgainst(ctx, r, found); err != nil { // the numbers are as good as those of other pages
		s.note("what was measured could not be held against what the page drew: %v", err)
	}
	return s.keep(ctx, r, found)
}

// keep writes what was found into the run folder.
func (s *session) keep(ctx context.Context, r *recording.Reader, found *runfolder.Found) error {
	s.found = found
	results := &found.Results
	results.Recording.File = runfolder.RecordingFile
	if results.Recording.Name == "" {
		results.Recording.Name = s.Test.Name
	}
	carry(results, s.Retried, s.record.Notes, s.record.Environment)
	s.record.Environment = results.Environment
	known := len(results.Notes)
	o := runfolder.FolderOptions{Force: true, NoVideo: s.NoVideo, NoPictures: s.NoPictures, Partial: true,
		Network: s.brought()}
	if err := runfolder.WriteFolder(ctx, s.Dir, r, found, o, s.Progress); err != nil {
		return err
	}
	if ctx.Err() != nil { // the run is told of what it lacks
		for _, n := range results.Notes[known:] {
			s.note("%s", n)
		}
	}
	return nil
}

// settings are what the test asks of the analysis.
func (s *session) settings() runfolder.Settings {
	t := s.Test
	a := runfolder.Settings{
		Measures: t.Measures, Name: t.Name, T0: t.T0, Markers: true,
		Still: t.Sync.Still, EndEvent: t.Sync.Event,
		Tolerance: t.Tolerance.N, AutoTolerance: t.Tolerance.Auto,
		FPS: analyze.FPSOptions{Cadence: t.Cadence},
	}
	if t.Sync.Limit > 0 {
		a.EndEvent = controller.Ended
	}
	if s.pages.site != nil {
		page := s.pages.site.Playlist()[0]
		if page.Markers {
			a.Nonce = s.pages.nonce
		}
		a.Tearing.Disjoint = page.Flip != nil // of which we know it
	}
	if t.Region != (frame.Region{}) {
		r := s.place(t.Region)
		a.Region = &r
	}
	for _, m := range t.Masks {
		a.Masks = append(a.Masks, s.place(m))
	}
	a.Response = s.answers()
	return a
}

// answers is what counts as an answer to pings.
func (s *session) answers() (o analyze.ResponseOptions) {
	if len(s.played.Answers) == 0 {
		o.Kinds = []string{input.EventKind} // each turn of a wheel, say, is answered by what it scrolls
		return o
	}
	first := s.played.Answers[0]
	o.Kinds, o.Limit = []string{controller.Asked}, first.Timeout
	if first.Region != s.played.Area { // all of the content is where nothing is said
		o.Region = first.Region
	}
	if c := first.Colour; c != nil {
		o.Colour = &analyze.Colour{R: c.R, G: c.G, B: c.B}
	}
	for _, other := range s.played.Answers[1:] {
		if other.Region != first.Region || (other.Colour == nil) != (first.Colour == nil) || first.Colour != nil &&
			*other.Colour != *first.Colour {
			s.note("ping steps expect different answers: response is measured by what the first expects")
			break
		}
	}
	return o
}

// place moves a region of the content to where it lies on the screen.
func (s *session) place(r frame.Region) frame.Region {
	if s.Test.Places != suite.Screen {
		r.X += s.played.Area.X
		r.Y += s.played.Area.Y
	}
	return r
}

// refusals returns the measures that were refused in all windows, with why, and whether anything
// was measured at all.
func refusals(windows []report.Window) (refused []analyze.Result, measured bool) {
	taken := map[string]bool{}
	for _, w := range windows {
		for _, r := range w.Results {
			if r.State != analyze.Refused {
				taken[r.Measure], measured = true, true
			}
		}
	}
	for _, w := range windows {
		for _, r := range w.Results {
			if !taken[r.Measure] {
				taken[r.Measure] = true
				refused = append(refused, r)
			}
		}
	}
	return refused, measured
}

// judge says whether a run counts: a run that measured nothing of what it was made for has failed,
// and too many frames that are missing in what was measured are no basis for numbers.
func (s *session) judge() {
	s.record.State = Passed
	if s.found == nil {
		return
	}
	refused, measured := refusals(s.found.Results.Windows)
	if len(refused) > 0 && !measured && !slices.Contains(s.Test.Measures, analyze.QualityName) {
		s.record.State = Failed
		s.record.Reason = fmt.Sprintf("nothing was measured: %s: %s", refused[0].Measure, refused[0].Refusal)
		s.log.Error("the run has failed", "reason", s.record.Reason)
		return
	}
	for _, r := range refused {
		if slices.Contains(s.Test.Measures, r.Measure) {
			s.note("%s was not measured: %s", r.Measure, r.Refusal)
		}
	}
	for _, w := range s.found.Results.Windows {
		s.record.WindowFrames += w.End - w.Start + 1
		for _, l := range w.Times.Lost {
			s.record.WindowLost += int(l.Frames)
		}
	}
	all := s.record.WindowFrames + s.record.WindowLost
	if lost := float64(s.record.WindowLost) / float64(max(all, 1)); lost > s.MaxLost {
		s.record.State = Rejected
		s.record.Reason = fmt.Sprintf(
			"the capture lost %d of %d frames of what is measured, %.1f %%: more than %.3g %%; a quieter machine or a smaller window: loses fewer, and --max-lost says how many may be", s.record.WindowLost, all, 100*lost, 100*s.MaxLost)
		s.log.Warn("the run does not count", "reason", s.record.Reason)
	}
}

// keepFailed keeps what helps to understand a failure: the last frame, and where there is time for
// it the results and the video of all there is.
func (s *session) keepFailed(ctx context.Context) {
	r, err := recording.Open(s.path(runfolder.RecordingFile))
	if err != nil {
		return // nothing was recorded; the reason is told already
	}
	defer r.Close() // was only read
	if r.Frames() == 0 {
		return
	}
	if s.found == nil && ctx.Err() == nil && !s.Bare {
		found, err := runfolder.Run(ctx, r, runfolder.Settings{Measures: []string{"fps"}, To: r.Frames(),
			Name: s.Test.Name}, s.Program, s.Progress)
		if err == nil {
			found.Results.Notes = append(found.Results.Notes, s.record.why())
			err = s.keep(ctx, r, found)
		}
		if err != nil {
			s.log.Warn("what was recorded of the failed run could not be shown", "why", err)
		}
	}
	if err := s.lastFrame(r); err != nil {
		s.log.Warn("the last frame could not be kept as a picture", "why", err)
	}
}

// lastFrameFile is in the folder of pictures.
const lastFrameFile = "last-frame.png"

func (s *session) lastFrame(r *recording.Reader) error {
	img, err := r.Image(r.Frames() - 1)
	if err != nil {
		return err
	}
	dir := s.path(runfolder.PicturesDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(dir, lastFrameFile))
	if err != nil {
		return err
	}
	if err := png.Encode(out, frame.NewConverter(img.Layout).Picture(img)); err != nil {
		_ = out.Close() // what matters is why it could not be drawn
		return err
	}
	return out.Close()
}
