package load

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/visual"
	"github.com/eideticker/eideticker/capture/frame"
)

// thumbnails are the changed frames of a window as the script sees them: cut to the region and
// shrunk. They are read again for each use, so a long window needs no more memory than a short one.
type thumbnails struct {
	load   *part
	crop   visual.Picture // the region, as R G B A
	scaler *visual.Scaler
	// kept are the last three that were asked for, the latest first, and their frames' numbers.
	kept   [3]visual.Picture
	number [3]int
}

func (l *part) thumbnails() (*thumbnails, error) {
	r := l.Area.Region
	w, h := visual.ThumbnailSize(r.Width, r.Height, visual.ThumbnailSide)
	t := &thumbnails{load: l, number: [3]int{measure.None, measure.None, measure.None}}
	var err error
	if t.crop, err = visual.NewPicture(r.Width, r.Height); err != nil {
		return nil, err
	}
	if t.scaler, err = visual.NewScaler(r.Width, r.Height, w, h); err != nil {
		return nil, err
	}
	for i := range t.kept {
		if t.kept[i], err = visual.NewPicture(w, h); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *thumbnails) Len() int { return len(t.load.frames) }

func (t *thumbnails) Picture(i int) (visual.Picture, error) {
	n := t.load.frames[i]
	k := slices.Index(t.number[:], n)
	if k < 0 {
		k = len(t.kept) - 1 // the one that was not asked for longest
		t.number[k] = measure.None
		m, err := t.load.Recording.Image(n)
		if err != nil {
			return visual.Picture{}, err
		}
		t.cut(m)
		if err := t.scaler.Scale(t.kept[k], t.crop); err != nil {
			return visual.Picture{}, err
		}
	}
	p := t.kept[k]
	copy(t.kept[1:k+1], t.kept[:k])
	copy(t.number[1:k+1], t.number[:k])
	t.kept[0], t.number[0] = p, n
	return p, nil
}

// cut copies the region. Masked pixels are black in every frame.
func (t *thumbnails) cut(m frame.Image) {
	r := t.load.Area.Region
	for y := r.Y; y < r.Y+r.Height; y++ {
		t.load.Area.Runs(y, r.X, r.X+r.Width, func(from, to int) {
			t.load.conv.RGBARow(t.crop.Row(y-r.Y, from-r.X, to-r.X), m, y, from, to)
		})
	}
}

// scriptValues names the values that script adds.
func scriptValues() []string {
	return []string{
		"script.speed_index", "script.perceptual_speed_index", "script.contentful_speed_index",
		"script.first_visual_change", "script.last_visual_change",
		"script.complete_85", "script.complete_95", "script.complete_99", "script_old.speed_index",
		"script_old_white.speed_index",
	}
}

// script adds what browsertime's script would say of the window. The script knows of no lost
// frames: with them its figures can be anything that the window's length allows.
func (l *part) script(r *measure.Result, d *doubt) {
	if err := l.scriptFigures(r, d); err != nil {
		r.Warnf("script: %v", err)
	}
}

func (l *part) scriptFigures(r *measure.Result, d *doubt) error {
	t, err := l.thumbnails()
	if err != nil {
		return err
	}
	kept, err := visual.ScriptRules().Keep(t)
	if err != nil || len(kept) == 0 {
		return err
	}
	s, err := t.look(kept)
	if err != nil {
		return err
	}
	r.Detail = measure.Detail(ScriptDetail{visual.ScriptCommit, visual.OldScriptCommit, visual.PySSIMCommit,
		measure.OrEmpty(s.white)})
	f := visual.NewScriptFigures(s.points)
	lost := len(d.holes) > 0 || d.final
	if lost {
		r.Warnf("script: lost frames are not in its figures, of which only the window's length is sure")
	}
	add := func(name string, value int, some bool) {
		if !some {
			return
		}
		v := measure.Exactly(name, "ms", float64(value), measure.Lower, 0.03)
		v.Note = "counted from the first frame that the script keeps, not from T0"
		if lost {
			most := math.Ceil(measure.MS(d.longest())) + 1 // times are cut to whole ones
			if name == "script.perceptual_speed_index" {
				most *= 2 // a similarity may be -1
			}
			v.Low, v.High, v.State = min(0, v.Low), max(most, v.High), measure.Bounded
		}
		r.Add(v)
	}
	add("script.first_visual_change", f.FirstChange, true)
	add("script.last_visual_change", f.LastChange, true)
	add("script.speed_index", f.SpeedIndex, true)
	add("script.complete_85", f.Complete85, f.Has85)
	add("script.complete_95", f.Complete95, f.Has95)
	add("script.complete_99", f.Complete99, f.Has99)
	add("script_old.speed_index", visual.NewScriptFigures(s.slop).SpeedIndex, true)
	white, some, err := t.whiteIndex()
	if err != nil {
		return err
	}
	add("script_old_white.speed_index", white, some)
	add("script.perceptual_speed_index", visual.ScriptPerceptual(s.ms, s.similar), true)
	add("script.contentful_speed_index", visual.ScriptContentful(s.ms, s.edges), true)
	return nil
}

// ScriptDetail is the detail of load figures in which the script has a part: of which commits that
// is true.
type ScriptDetail struct {
	Script string `json:"script_commit"`     // sitespeedio/browsertime, visualmetrics-portable.py
	Old    string `json:"old_script_commit"` // sitespeedio/browsertime, visualmetrics.py
	PySSIM string `json:"pyssim_commit"`     // jterrace/pyssim
	// White are the first kept frames that the old script, with its rules for white, counts as
	// white. script_old_white leaves frames out for them; the others do not.
	White []int `json:"white_frames"`
}

// scriptLook is what the script finds in the frames that it keeps.
type scriptLook struct {
	points  []visual.ScriptPoint
	slop    []visual.ScriptPoint // with the old script's progress
	white   []int                // frames that the old script takes for white
	ms      []int
	similar []float64
	edges   []int
}

// whiteIndex is the old script's Speed Index of the frames that it keeps with its rules for white.
// It is false if the script keeps none.
func (t *thumbnails) whiteIndex() (int, bool, error) {
	kept, err := visual.WhiteRules().Keep(t)
	if err != nil || len(kept) == 0 {
		return 0, false, err
	}
	count := func(k int, hist *visual.Histogram) error {
		p, err := t.Picture(k)
		if err != nil {
			return err
		}
		for y := range p.Height {
			hist.Add(p.Row(y, 0, p.Width), 4)
		}
		return nil
	}
	var first, last visual.Histogram
	if err := errors.Join(count(kept[0], &first), count(kept[len(kept)-1], &last)); err != nil {
		return 0, false, err
	}
	points := make([]visual.ScriptPoint, len(kept))
	for i, k := range kept {
		var hist visual.Histogram
		if err := count(k, &hist); err != nil {
			return 0, false, err
		}
		progress := visual.HistogramProgressSlop(&hist, &first, &last)
		points[i] = visual.ScriptPoint{MS: t.load.scriptTime(t.load.frames[k], t.load.frames[kept[0]]),
			Percent: progress.Percent()}
	}
	return visual.NewScriptFigures(points).SpeedIndex, true, nil
}

// look goes through the kept frames, once for all three progresses.
func (t *thumbnails) look(kept []int) (s scriptLook, err error) {
	last, err := t.Picture(kept[len(kept)-1])
	if err != nil {
		return s, err
	}
	w, h := last.Width, last.Height
	luma := make([]byte, w*h)
	all := frame.Region{Width: w, Height: h}
	grey := func(p visual.Picture) {
		for y := range h {
			visual.Luma(luma[y*w:(y+1)*w], p.Row(y, 0, w))
		}
	}
	count := func(p visual.Picture) (hist visual.Histogram) {
		for y := range h {
			hist.Add(p.Row(y, 0, w), 4)
		}
		return hist
	}
	grey(last)
	final := count(last)
	ssim, err := visual.NewSSIM(luma, w, w, h, visual.PySSIM)
	if err != nil {
		return s, err
	}
	edges, err := visual.NewEdges(w, h)
	if err != nil {
		return s, err
	}
	var first visual.Histogram
	zero := t.load.frames[kept[0]]
	for i, k := range kept {
		p, err := t.Picture(k)
		if err != nil {
			return s, err
		}
		hist := count(p)
		if i == 0 {
			first = hist
		}
		at := t.load.scriptTime(t.load.frames[k], zero)
		grey(p)
		similar, err := ssim.Update(luma, w, all)
		if err != nil {
			return s, err
		}
		found, err := edges.Update(luma, w, all)
		if err != nil {
			return s, err
		}
		s.points = append(s.points,
			visual.ScriptPoint{MS: at, Percent: visual.HistogramProgress(&hist, &first, &final).Percent()})
		s.slop = append(s.slop, visual.ScriptPoint{MS: at, Percent: visual.HistogramProgressSlop(&hist, &first,
			&final).Percent()})
		if visual.IsWhite(p, true) {
			s.white = measure.AppendFrame(s.white, t.load.frames[k])
		}
		s.ms, s.similar, s.edges = append(s.ms, at), append(s.similar, similar), append(s.edges, found)
	}
	return s, nil
}

// scriptTime returns the time of a frame in ms, counted from another one. The script cuts each time
// of a file to whole milliseconds, and then subtracts. A signal's frames are on its beat, as in a
// file that begins with the first kept frame.
func (l *part) scriptTime(n, zero int) int {
	whole := func(t time.Duration) int { return int(math.Floor(measure.MS(t))) }
	if l.OwnClock {
		at := func(n int) time.Duration { return time.Duration(l.Times.Meta(n).Sampled.Mid()) }
		return whole(at(n)) - whole(at(zero))
	}
	return whole(l.Times.At(n).Sub(l.Times.At(zero)))
}
