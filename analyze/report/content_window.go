package report

import (
	"fmt"
	"strconv"

	"github.com/eideticker/eideticker/analyze"
)

type windowView struct {
	Index    int
	ID       string
	Title    string
	About    []string      // the frames first
	Tiles    []valueView   // one value of each measure
	Strips   []pictureView // filmstrips, and the waterfall under them
	Results  []resultView
	Refused  []resultView // those that say nothing but why
	Claims   []fact       // on nothing that was measured
	Checks   []checkView
	Pictures []pictureView
	Warnings sentences
	HasTimes bool
}

// checkView is a number that was measured beside what was drawn.
type checkView struct {
	What, Claimed, Note string
	Measured, Drawn     spanView
	Agrees, Unchecked   bool
	Frames              []frameLink
}

type spanView struct{ Text, Bounds string }

const mostDiffering = 12 // frames that are linked where measured and drawn differ

func newCheck(k *Check) checkView {
	v := checkView{What: titled(k.What), Measured: newSpan(k.Measured, k.Unit), Drawn: newSpan(k.Drawn, k.Unit),
		Note: k.Note, Agrees: k.Agrees, Unchecked: k.Unchecked}
	if k.Claimed != nil {
		v.Claimed = number(*k.Claimed, analyze.Value{Unit: k.Unit}) + unitText(k.Unit)
	}
	for _, n := range k.Frames[:min(len(k.Frames), mostDiffering)] {
		v.Frames = append(v.Frames, frameLink{n, count(n)})
	}
	return v
}

func newWindow(i int, w *Window, from *files) windowView {
	v := windowView{
		Index: i, ID: fmt.Sprintf("window-%d", i),
		Title: firstOf(w.Name, fmt.Sprintf("Frames %s – %s", count(w.Start), count(w.End))),
		About: windowAbout(w), Warnings: newSentences(w.Warnings), HasTimes: len(w.Times.Time) > 0,
	}
	claims := map[string]float64{}
	for name, x := range w.Claims {
		claims[name] = x
	}
	chart, left := 0, w.Pictures
	for k := range w.Results {
		r := newResult(&w.Results[k], claims)
		for j := range r.Values {
			r.Values[j].All.Frame = w.Start
		}
		for j := range r.Charts {
			r.Charts[j].Index = chart
			chart++
		}
		var own []Picture
		own, left = ofMeasure(left, w.Results[k].Measure)
		r.addPictures(own, from)
		if i := headline(&w.Results[k]); i >= 0 && len(v.Tiles) < mostTiles {
			v.Tiles = append(v.Tiles, r.Values[i])
		}
		if r.silent() {
			v.Refused = append(v.Refused, r)
		} else {
			v.Results = append(v.Results, r)
		}
	}
	for k := range w.Checks {
		v.Checks = append(v.Checks, newCheck(&w.Checks[k]))
	}
	for _, name := range sortedKeys(claims) {
		v.Claims = append(v.Claims, fact{words(name), trimZeros(strconv.FormatFloat(claims[name], 'f', 3, 64))})
	}
	for _, p := range pictures(left, from) {
		if p.Kind == PictureFilmstrip || p.Kind == PictureWaterfall {
			v.Strips = append(v.Strips, p)
		} else {
			v.Pictures = append(v.Pictures, p)
		}
	}
	return v
}

func windowAbout(w *Window) []string {
	all := []string{fmt.Sprintf("frames %s – %s", count(w.Start), count(w.End)), seconds(w.EndNS - w.StartNS)}
	switch w.Kind {
	case Markers:
		all = append(all, "between green and red")
	case End:
		all = append(all, "after the green")
	case All:
		all = append(all, "all of the recording")
	}
	if len(w.Region) == 4 {
		all = append(all, fmt.Sprintf("%d × %d at %d, %d", w.Region[2], w.Region[3], w.Region[0], w.Region[1]))
	}
	all = append(all, differingAbout(w)...)
	if w.T0 != nil {
		text := "T0 (" + firstOf(w.T0.Source, "command") + ") " + milliseconds(w.StartNS-w.T0.AtNS) +
			" before the first change"
		if w.T0.UncertaintyNS > 0 {
			text += ", ± " + milliseconds(w.T0.UncertaintyNS)
		}
		all = append(all, text)
	}
	return all
}

// differingAbout says which pixels count for different, where that is not simply all that are not
// equal.
func differingAbout(w *Window) (all []string) {
	if n := len(w.Masks); n > 0 {
		all = append(all, map[bool]string{true: "1 region left out", false: count(n) + " regions left out"}[n == 1])
	}
	if w.Tolerance > 0 || w.MinPixels > 0 || w.Noise != nil {
		text := fmt.Sprintf("tolerance %d, %s pixels may differ", w.Tolerance, count(w.MinPixels))
		if w.Noise != nil {
			text += fmt.Sprintf(", calibrated on %s held frames", count(w.Noise.Frames))
			if n := w.Noise.Pattern; n > 0 {
				text += fmt.Sprintf(", %s of them of a pattern", count(n))
			}
		}
		all = append(all, text)
	}
	return all
}

func milliseconds(ns int64) string {
	return grouped(trimZeros(strconv.FormatFloat(float64(ns)/1e6, 'f', 2, 64))) + " ms"
}
