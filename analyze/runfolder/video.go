package runfolder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/capture/video/media"
	"github.com/eideticker/eideticker/codec/recording"
)

// around is the number of frames before the first window and after the last in a video. They show
// green and red.
const around = 15

const noVideo = "no video was made"

// video shows all windows of the first one's format, with the frames between them.
func (f *folder) video(ctx context.Context) error {
	windows := f.found.Results.Windows
	if len(windows) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return f.interrupted(ctx, noVideo)
	}
	segment, err := f.reader.SegmentOf(windows[0].Start)
	if err != nil {
		return err
	}
	from, to := f.span(segment)
	advance, end := f.progress.Phase("writing the video", to-from)
	defer end()
	num, den := Rate(segment)
	v, err := render.NewVideo(f.path(VideoFile), segment.Layout,
		render.VideoOptions{RateNum: num, RateDen: den, Overlay: f.overlay(from, to)})
	if missing := (*media.Failure)(nil); errors.As(err, &missing) && missing.Unsupported {
		f.note("%s: %s", noVideo, missing.Text)
		return nil
	}
	if err != nil {
		return err
	}
	whole, err := f.film(ctx, v, from, to, advance)
	closed := v.Close()
	if err == nil && !whole { // what ends in the middle would pass for all
		return errors.Join(os.RemoveAll(f.path(VideoFile)), os.RemoveAll(f.path(videoMap)), f.interrupted(ctx, noVideo))
	}
	if err = errors.Join(err, closed); err != nil {
		return fmt.Errorf("write the video: %w", err)
	}
	f.found.Results.Video = &result.Video{File: VideoFile, Map: videoMap}
	return nil
}

// film puts frames into a video, and reports whether there was time for all.
func (f *folder) film(ctx context.Context, v *render.Video, from, to int, advance func(int)) (whole bool, err error) {
	for step, err := range f.reader.Steps(from, to) {
		if ctx.Err() != nil {
			return false, nil
		}
		if err == nil {
			err = v.Step(step)
		}
		if err != nil {
			return false, err
		}
		advance(1)
	}
	return true, nil
}

// span returns the frames of a segment that the video shows.
func (f *folder) span(s recording.Segment) (from, to int) {
	from, to = s.First+s.Frames, s.First
	for i, w := range f.found.Results.Windows {
		if w.Start < s.First || w.Start >= s.First+s.Frames {
			continue
		}
		from = min(from, f.lead(i))
		to = max(to, max(w.End, w.Red)+1+around)
	}
	return max(from, s.First), min(to, s.First+s.Frames)
}

// Rate returns frames a second as num/den, for a video; 0/0 where a recording does not know it.
func Rate(s recording.Segment) (num, den int64) {
	switch {
	case s.PeriodNum > 0 && s.PeriodDen > 0:
		return s.PeriodDen, s.PeriodNum
	case s.FemtoPeriod > 0:
		const milli = 1000
		return max(int64(1e15*milli)/s.FemtoPeriod, 1), milli
	}
	return 0, 0
}

// overlay returns the text below the picture.
func (f *folder) overlay(from, to int) *render.Overlay {
	o := &render.Overlay{First: from, Last: to - 1, At: f.at, Nothing: f.nothing}
	byName := map[string]int{}
	for i, found := range f.found.Outcomes {
		w := found.Window
		if w.Start < from || w.Start >= to {
			continue
		}
		o.Parts = append(o.Parts, f.part(i))
		o.Marks = append(o.Marks, windowMarks(&w)...)
		for _, m := range f.found.Results.LateMarks(i) {
			o.Marks = append(o.Marks, render.Mark{Frame: m.Frame, Until: m.Until, Label: m.Label, Tone: render.Fault})
		}
		for i := range found.Results {
			o.Marks = append(o.Marks, torn(&found.Results[i])...)
			for _, s := range found.Results[i].Series {
				if shown := found.Results[i].Measure == "fps" && s.Name == "frame_time" ||
					s.Name == "pixel.progress"; !shown {
					continue
				}
				k, ok := byName[s.Name]
				if !ok {
					k = len(o.Series)
					byName[s.Name] = k
					o.Series = append(o.Series, analyze.Series{Name: s.Name, Unit: s.Unit, Holds: s.Holds})
				}
				o.Series[k].Frames = append(o.Series[k].Frames, s.Frames...)
				o.Series[k].Values = append(o.Series[k].Values, s.Values...)
			}
		}
	}
	slices.SortStableFunc(o.Marks, func(a, b render.Mark) int { return a.Frame - b.Frame })
	return o
}

// part is what the video says of one window: its times count from T0, or from its start.
func (f *folder) part(i int) render.Part {
	o := f.found.Outcomes[i]
	p := render.Part{
		First: f.lead(i), Title: f.found.Results.Recording.Name, Zero: zero(o), Values: headline(o),
	}
	if name := f.found.Results.Windows[i].Name; len(f.found.Outcomes) > 1 && name != "" {
		p.Title = name
	}
	return p
}

// zero is the time from which a window's times count: T0, or that of its first frame.
func zero(o *analyze.Outcome) timeline.Time {
	if t0 := o.Window.T0; t0 != nil {
		return t0.At
	}
	return o.Times.At(o.Window.Start)
}

// lead is the frame with which the video of a window begins: some frames before its first, or the
// one at T0. It is behind the window before.
func (f *folder) lead(i int) int {
	w := &f.found.Results.Windows[i]
	from := w.Start - around
	if w.T0 != nil {
		from = min(from, f.reader.Find(timeline.Time(w.T0.AtNS)))
	}
	if i > 0 {
		before := &f.found.Results.Windows[i-1]
		from = max(from, max(before.End, before.Red)+1)
	}
	return max(from, 0)
}

// nothing reports whether a frame is before the content of a window, as its green is.
func (f *folder) nothing(n int) bool {
	for i, w := range f.found.Results.Windows {
		if w.Green >= 0 && n >= f.lead(i) && n < w.Start {
			return true
		}
	}
	return false
}

// at is a frame's time as the measures and the page have it. Between windows its stamp tells.
func (f *folder) at(n int, stamp timeline.Time) timeline.Time {
	for _, o := range f.found.Outcomes {
		if first, last := o.Window.Start, max(o.Window.End, o.Window.Red); n >= first && n <= last {
			return o.Times.At(n)
		}
	}
	return stamp
}

func windowMarks(w *analyze.Window) []render.Mark {
	marks := []render.Mark{{Frame: w.Start, Label: "start", Tone: render.Begin},
		{Frame: w.End, Label: "end", Tone: render.End}}
	if w.Red != analyze.None && w.Kind == analyze.ByMarkers {
		marks = append(marks, render.Mark{Frame: w.Red, Label: "red", Tone: render.Neutral})
	}
	return marks
}

func torn(r *analyze.Result) (marks []render.Mark) {
	for _, e := range r.Evidence {
		if e.Kind == "torn" {
			marks = append(marks, render.Mark{Frame: e.Frame, Label: "torn", Tone: render.Fault})
		}
	}
	return marks
}

// headline picks the numbers that fit beside a picture.
func headline(o *analyze.Outcome) (values []analyze.Value) {
	for _, want := range [][2]string{{"fps", "framerate"}, {"fps", "longest_freeze"}, {"tearing", "torn_frames"}} {
		if r, ok := o.Find(want[0]); ok {
			if v, ok := r.Find(want[1]); ok && v.State != analyze.Suspected {
				values = append(values, v)
			}
		}
	}
	return values
}
