package load

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/visual"
)

// # speedindex: load figures
//
// They count from T0, the command that began the load. Without one they count from the first visual
// change, and their names begin with from_first_change.
//
//	first_visual_change, last_visual_change
//	                          ms; the first and last frame that differs beyond τ and m from the
//	                          previous one;
//	VARIANT.speed_index       Σ Δt·(1 − p), ms;
//	VARIANT.complete_85, _95, _99, _100       ms; first time p reaches this and stays;
//	VARIANT.crossed_85, _95, _99, _100        ms; first time p reaches this.
//
// p is, by variant:
//
//	pixel        H[i] / size(R), see loadhist;
//	histogram    RGB-histogram progress of the full picture; browsertime's script computes it from a
//	             small one: see package visual;
//	perceptual   SSIM of luma to the last frame (Wang et al. 2004). It is above 0 before s:
//	             plain green is similar to the plain parts of a page. The script has 0 there;
//	contentful   number of Canny's edges, divided by the maximum of all frames;
//	script       browsertime's script in all its steps, in whole ms and per cents, with its rules for
//	             frames. It uses thumbnails of 400 pixels. visual.Scaler scales them in place of the
//	             script's ffmpeg: see package visual.
//
// script.perceptual_speed_index and script.contentful_speed_index are the script's other two.
// script_old.speed_index is that of the older script, with the same frames and thumbnails. Its
// progress accepts a pixel's value within 5 of its place. script_old_white.speed_index adds its
// rules for white: it begins with the first white frame and ends before the next. The
// detail is [ScriptDetail]: it names the commits.
//
// τ is for the changes and for pixel. The other variants use every sample as it is. Small noise
// affects histogram most, so it is left out if τ is not 0, unless it is requested. Lost frames may
// have shown anything. The bounds cover that, for τ = 0; see bounds.go.
//
// pixel and histogram are always computed. The other three read all changes several times. Unless
// requested, they are left out of windows in which more than [costlyFrames] frames change.
func SpeedIndex(o Options) measure.Measure {
	values := figureValues("")
	return measure.Measure{Name: "speedindex", Version: 1, Pixels: true, Begin: begin(o),
		Values: append(append(values, figureValues(fromFirstChange)...), scriptValues()...)}
}

// fromFirstChange begins the names of values that count from there, since T0 is not known.
const fromFirstChange = "from_first_change."

// figureValues names the values of all variants but script.
func figureValues(prefix string) []string {
	names := []string{prefix + "first_visual_change", prefix + "last_visual_change"}
	for _, variant := range variantNames() {
		if variant == "script" {
			continue
		}
		name := prefix + variant
		names = append(names, name+".speed_index")
		for _, level := range visual.Levels() {
			names = append(names, reached(name, "complete", level), reached(name, "crossed", level))
		}
	}
	return names
}

// reached names the time at which a variant came to a level.
func reached(variant, how string, level float64) string {
	return fmt.Sprintf("%s.%s_%.0f", variant, how, 100*level)
}

// Options say which variants of progress are computed.
type Options struct {
	// some of pixel, histogram, perceptual; contentful, script; empty: as speedindex defines
	Variants []string
}

// variantNames returns the names of the variants of progress.
func variantNames() []string {
	return []string{"pixel", "histogram", "perceptual", "contentful", "script"}
}

// CheckVariants returns an error for an unknown variant.
func CheckVariants(names []string) error {
	for _, name := range names {
		if !slices.Contains(variantNames(), name) {
			return fmt.Errorf("unknown variant of load figures %q; known: %s", name,
				strings.Join(variantNames(), " "))
		}
	}
	return nil
}

// costlyFrames is how many frames of a window may change for all variants to be computed unasked.
const costlyFrames = 120

// variants are those that were chosen.
type variants struct {
	pixel, histogram, perceptual, contentful, script bool
	left                                             int  // frames that change, if variants are left out for that
	noisy                                            bool // histogram is left out for τ
}

// chooseVariants says which variants are computed in a window.
func chooseVariants(c *measure.Case, asked []string) (v variants, err error) {
	if err := CheckVariants(asked); err != nil {
		return v, err
	}
	if len(asked) > 0 {
		has := func(name string) bool { return slices.Contains(asked, name) }
		return variants{has("pixel"), has("histogram"), has("perceptual"), has("contentful"), has("script"), 0, false},
			nil
	}
	if !c.Wants("speedindex") && !c.Wants("windowopen") {
		return v, nil
	}
	changed, noisy := 0, c.Tolerance > 0
	for step, err := range c.Changes(c.Window.Start, c.Window.End+1) {
		if err != nil {
			return v, err
		}
		if len(step.Change.Spans) > 0 {
			changed++
		}
	}
	if changed > costlyFrames {
		return variants{pixel: true, histogram: !noisy, left: changed, noisy: noisy}, nil
	}
	all := variants{true, !noisy, true, true, true, 0, noisy}
	if r := c.Area.Region; r.Width < 16 || r.Height < 16 {
		all.perceptual, all.script = false, false // no window of SSIM fits
	}
	return all, nil
}

// figures is the result of speedindex.
func (l *part) figures() measure.Result {
	var r measure.Result
	prefix := ""
	start := visual.Start{}
	if t0, known := l.Origin(); known {
		start.T0 = visual.Middle(t0)
	} else {
		prefix = fromFirstChange
		start.FirstChange = true
		r.Warnf("no navigation, launch or input is known: times count from the first change")
	}
	d := l.doubt(&start)
	for i, c := range l.curves() {
		points := l.points(c.p, d)
		f, err := visual.NewFigures(start, points, d.end)
		if err != nil {
			return measure.Result{State: measure.Refused, Refusal: refusalOf(err)}
		}
		d.widen(&f, &c, points)
		addCurve(&r, prefix+c.name, f, d.frames)
		if i == 0 { // these two are the same for all
			first, last := d.changes(points)
			addElapsed(&r, prefix+"first_visual_change", first, d.frames)
			addElapsed(&r, prefix+"last_visual_change", last, d.frames)
		}
		r.Series = append(r.Series, measure.Series{Name: c.name + ".progress", Unit: "fraction", Holds: true,
			Frames: l.frames,
			Values: c.p})
	}
	r.Warnings = append(r.Warnings, d.warnings()...)
	if l.variants.script {
		l.script(&r, d)
	}
	if l.variants.noisy {
		r.Warnf("histogram takes every sample as it is, whatever the tolerance: with one it is computed only if " +
			"asked for, with --variants")
	}
	if n := l.variants.left; n > 0 {
		r.Warnf("%d frames change: perceptual, contentful and script are computed only if asked for, with --variants",
			n)
	}
	return r
}

// refusalOf says what follows for the user from a progress that is none.
func refusalOf(err error) string {
	if errors.Is(err, visual.ErrProgress) {
		return err.Error() + ": choose a window in which something changes after the command that begins it"
	}
	return err.Error()
}

// curve is a variant of progress over the frames that were noted.
type curve struct {
	name   string
	p      []float64
	least  float64 // that it can be
	scaled bool    // by the most of all frames: one that was lost may make all others less
}

func (l *part) curves() (all []curve) {
	if l.variants.pixel {
		all = append(all, curve{name: "pixel", p: l.progress()})
	}
	if l.variants.histogram {
		p := make([]float64, len(l.matched))
		for i, m := range l.matched {
			p[i] = m.Fraction()
		}
		all = append(all, curve{name: "histogram", p: p})
	}
	if l.variants.perceptual {
		all = append(all, curve{name: "perceptual", p: l.similar, least: -1})
	}
	if l.variants.contentful {
		most := slices.Max(l.edges)
		p := make([]float64, len(l.edges))
		for i, n := range l.edges {
			p[i] = visual.Contentfulness(n, most)
		}
		all = append(all, curve{name: "contentful", p: p, scaled: true})
	}
	return all
}

// addElapsed adds a time, if it came to that.
func addElapsed(r *measure.Result, name string, e visual.Elapsed, frames []int) {
	if !e.Some {
		return
	}
	v := measure.Between(name, "ms", measure.MS(e.Value), measure.MS(e.Low), measure.MS(e.High), measure.Lower, 0.03)
	v.Frames = []int{frames[e.Point]}
	r.Add(v)
}

// addCurve adds the figures of one variant.
func addCurve(r *measure.Result, name string, f visual.Figures, frames []int) {
	r.Add(measure.Between(name+".speed_index", "ms", f.SpeedIndex.Value, f.SpeedIndex.Low, f.SpeedIndex.High,
		measure.Lower, 0.03))
	for i, level := range visual.Levels() {
		addElapsed(r, reached(name, "complete", level), f.Complete[i], frames)
		addElapsed(r, reached(name, "crossed", level), f.Crossed[i], frames)
	}
}
