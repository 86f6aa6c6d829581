package main

import (
	"encoding/json"
	"slices"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/netsim/site"
)

// checkTearing: a frame is torn if and only if the copies of its strip disagree; and where the page drew it torn, its rows and
// images are those that the page names.
func (t *demoTruth) checkTearing() []demoCheck {
	c := demoCheck{What: "torn frames", Unit: "frames", of: "tearing.torn_frames"}
	if said, ok := t.report.Truth.Claim("torn_frames"); ok {
		c.Claimed = &said.Value
	}
	var drawn []int
	for i := range t.views {
		if t.torn(&t.views[i]) {
			drawn = append(drawn, t.views[i].frame)
		}
	}
	c.Drawn = exactSpan(len(drawn))
	detail, v, ok := t.tears()
	if !ok {
		c.Note = "not measured"
		return []demoCheck{c}
	}
	var torn []int
	for _, tear := range detail.Torn {
		torn = append(torn, tear.Frame)
	}
	c.Frames = difference(torn, drawn)
	c.Measured, c.Agrees = spanOf(v), len(c.Frames) == 0
	if !t.report.Page.Flip.Torn {
		return []demoCheck{c}
	}
	return []demoCheck{c, t.checkRows(&detail)}
}

// imageFrames returns, for each of the page's images, the first frame that shows it whole, or nil where one was never seen so.
func (t *demoTruth) imageFrames() []int {
	frames := make([]int, t.report.Page.Flip.Images)
	seen := 0
	for i := len(t.views) - 1; i >= 0; i-- {
		v := &t.views[i]
		if t.torn(v) || v.ids[0] == unreadable {
			continue
		}
		image := t.shows(v)[0]
		if frames[image] == 0 {
			seen++
		}
		frames[image] = v.frame
	}
	if seen < len(frames) {
		return nil
	}
	return frames
}

// tears returns what the measure found with a set of images.
func (t *demoTruth) tears() (d analyze.TearingDetail, torn analyze.Value, ok bool) {
	r := t.result("tearing")
	if r == nil {
		return d, torn, false
	}
	if torn, ok = r.Find("torn_frames"); !ok {
		return d, torn, false
	}
	return d, torn, json.Unmarshal(r.Detail, &d) == nil
}

// checkRows counts the torn frames whose rows and images are as drawn.
func (t *demoTruth) checkRows(d *analyze.TearingDetail) demoCheck {
	c := demoCheck{What: "rows and images, exact in", Unit: "frames"}
	equal, all := 0, 0
	for i := range t.views {
		want, ok := t.drawnTear(&t.views[i])
		if !ok {
			continue
		}
		all++
		k := slices.IndexFunc(d.Torn, func(tear analyze.Tear) bool { return tear.Frame == t.views[i].frame })
		if k >= 0 && slices.Equal(d.Torn[k].Rows, want.Rows) && slices.Equal(t.imagesOf(d, d.Torn[k].Images), want.Images) {
			equal++
		} else {
			c.Frames = append(c.Frames, t.views[i].frame)
		}
	}
	c.Measured, c.Drawn, c.Agrees = exactSpan(equal), exactSpan(all), equal == all && all > 0
	return c
}

// drawnTear returns the tear that the page drew in the picture that a frame shows.
func (t *demoTruth) drawnTear(v *demoView) (site.Tear, bool) {
	newest := slices.Max(v.ids[:])
	tears := t.report.Truth.Tears
	i, ok := slices.BinarySearchFunc(tears, newest, func(tear site.Tear, id int) int { return int(tear.ID) - id })
	if !ok || !t.torn(v) {
		return site.Tear{}, false
	}
	return tears[i], true
}

// imagesOf translates numbers of the set that the measure found into those of the page, by the pictures that the set's frames show.
func (t *demoTruth) imagesOf(d *analyze.TearingDetail, of []int) (images []int) {
	for _, k := range of {
		image := -1
		if k >= 0 && k < len(d.Images) {
			if i := d.Images[k] - t.outcome.Window.Start; i >= 0 && i < len(t.views) {
				image = t.shows(&t.views[i])[0]
			}
		}
		images = append(images, image)
	}
	return images
}
