package session

import (
	"context"
	"errors"
	"fmt"
	"image/png"
	"os"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/quality"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/screen"
)

// keep writes the results of a run and its record, with its state. failure is the error of the
// first step that failed. A run that failed keeps its last frame, and results of all its frames.
// file is nil if nothing was recorded. found is nil if nothing was measured.
func (r *run) keep(ctx context.Context, record *Record, file *recording.Reader, t *take, found *runfolder.Found,
	failure error) (*runfolder.Found, error) {
	if failure == nil && found != nil {
		failure = r.writeResults(ctx, record, file, t.traffic, found)
	}
	if failure == nil {
		r.judge(record, found)
	} else {
		record.State, record.Reason = unfinished(ctx, failure), reason(ctx, failure)
		if record.State == Failed {
			record.Fault = faultOf(failure)
		}
		if record.State == Rejected {
			r.log.Warn("the run does not count", "reason", record.Reason)
		} else {
			r.log.Error("the run has failed", "reason", record.Reason, "error", failure)
		}
		if file != nil && file.Frames() > 0 {
			found = r.keepFailed(ctx, record, file, t, found)
		}
	}
	var err error
	if t.traffic != nil && !t.traffic.kept {
		err = r.writeHAR(r.Dir, record, t.traffic, found)
	}
	record.ElapsedNS = int64(time.Since(record.began)) // changes of the wall clock do not matter
	record.Notes = r.noted()
	r.log.Info("the run is over", "state", string(record.State))
	return found, errors.Join(ctx.Err(), err, record.Write(r.Dir))
}

// writeResults writes results, page, pictures and video.
func (r *run) writeResults(ctx context.Context, record *Record, file *recording.Reader, t *traffic,
	found *runfolder.Found) error {
	results := &found.Results
	results.Recording.File = runfolder.RecordingFile
	if results.Recording.Name == "" {
		results.Recording.Name = r.Test.Name
	}
	carry(results, max(r.Attempt, 1)-1, r.noted(), record.Environment)
	record.Environment = results.Environment
	_, _, lost := lostFrames(found)
	noVideo := r.NoVideo || r.VideoIfCounted && (record.State == Failed || lost > r.MaxLost)
	o := runfolder.FolderOptions{Force: true, NoVideo: noVideo, NoPictures: r.NoPictures, Partial: true,
		FilmstripStep: r.FilmstripStep}
	if t != nil {
		o.Network = &runfolder.Network{Results: t.figures.results(t.fall), Fall: t.fall,
			HAR: func(dir string) error { return r.writeHAR(dir, record, t, found) }}
	}
	before := len(results.Notes)
	if err := runfolder.WriteFolder(ctx, r.Dir, file, found, o, r.Progress); err != nil {
		return err
	}
	if ctx.Err() != nil { // the record names the missing parts too
		for _, n := range results.Notes[before:] {
			r.note("%s", n)
		}
	}
	return nil
}

// judge decides if a run counts. A run that measured none of its measures has failed. A run that
// lost too many frames in its windows is rejected.
func (r *run) judge(record *Record, found *runfolder.Found) {
	record.State = Passed
	if found == nil {
		return
	}
	refused, measured := refusals(found.Results.Windows)
	if len(refused) > 0 && !measured && !slices.Contains(r.Test.Measures, quality.Name) {
		record.State, record.Fault = Failed, ProductFault
		record.Reason = fmt.Sprintf("nothing was measured: %s: %s", refused[0].Measure, refused[0].Refusal)
		r.log.Error("the run has failed", "reason", record.Reason)
		return
	}
	for _, one := range refused {
		if slices.Contains(r.Test.Measures, one.Measure) {
			r.note("%s was not measured: %s", one.Measure, one.Refusal)
		}
	}
	var lost float64
	if record.WindowFrames, record.WindowLost, lost = lostFrames(found); lost > r.MaxLost {
		record.State = Rejected
		record.Reason = fmt.Sprintf("the capture lost %d of %d measured frames, %.1f %%: more than %.3g %%; "+
			"a quieter machine or a smaller window: loses fewer, and --max-lost says how many may be",
			record.WindowLost, record.WindowFrames+record.WindowLost, 100*lost, 100*r.MaxLost)
		r.log.Warn("the run does not count", "reason", record.Reason)
	}
}

// lostFrames returns the recorded frames of the windows, the lost ones, and their share.
func lostFrames(found *runfolder.Found) (frames, lost int, share float64) {
	for _, w := range found.Results.Windows {
		frames += w.End - w.Start + 1
		for _, l := range w.Times.Lost {
			lost += int(l.Frames)
		}
	}
	return frames, lost, float64(lost) / float64(max(frames+lost, 1))
}

// refusals returns the measures that were refused in all windows. measured reports if any measure
// was not refused.
func refusals(windows []result.Window) (refused []analyze.Result, measured bool) {
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

// unfinished returns the state of a run that did not reach its end. A recorder that was too busy,
// and a browser that lost its input, say nothing about device and test: such a run is repeated. So
// is one whose strict profile lacks records.
func unfinished(ctx context.Context, err error) State {
	if ctx.Err() == nil && (errors.Is(err, screen.ErrNotWatched) || errors.Is(err, errUnheard) ||
		errors.Is(err, errIncomplete)) {
		return Rejected
	}
	return Failed
}

// reason returns why a run failed. The end of ctx goes before the errors that it causes.
func reason(ctx context.Context, err error) string {
	var end *EndError
	switch {
	case ctx.Err() != nil && errors.As(context.Cause(ctx), &end):
		return "interrupted: " + end.Error()
	case ctx.Err() != nil:
		return "interrupted"
	}
	return err.Error()
}

// keepFailed keeps evidence of a failure: the last frame, and results and video of all frames. An
// interrupted run has no time for results.
func (r *run) keepFailed(ctx context.Context, record *Record, file *recording.Reader, t *take,
	found *runfolder.Found) *runfolder.Found {
	if found == nil && ctx.Err() == nil && !r.Bare {
		all, err := runfolder.Run(ctx, file, runfolder.Settings{Measures: []string{"fps"}, To: file.Frames(),
			Name: r.Test.Name}, r.Program, r.Progress)
		if err == nil {
			found = all
			found.Results.Notes = append(found.Results.Notes, record.why())
			if t.script != nil {
				found.Results.Script = t.script.Results(found.Results.Windows)
			}
			err = r.writeResults(ctx, record, file, t.traffic, found)
		}
		if err != nil {
			r.log.Warn("the failed run's last frame could not be shown", "why", err)
		}
	}
	if err := r.writeLastFrame(file); err != nil {
		r.log.Warn("the last frame could not be kept as a picture", "why", err)
	}
	return found
}

// LastFrameFile is the picture that a run which failed has.
const LastFrameFile = runfolder.PicturesDir + "/last-frame.png"

func (r *run) writeLastFrame(file *recording.Reader) error {
	img, err := file.Image(file.Frames() - 1)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.path(runfolder.PicturesDir), 0o755); err != nil {
		return err
	}
	out, err := os.Create(r.path(LastFrameFile))
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(out, frame.NewConverter(img.Layout).Picture(img)), out.Close())
}
