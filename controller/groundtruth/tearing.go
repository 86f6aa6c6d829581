package groundtruth

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/tearing"
	"github.com/eideticker/eideticker/netsim/site"
)

// measureTearing measures tearing again with the images of the strip, if the measure found others.
// If pictures are torn most of the time in the same way, only the strip reveals it.
func (t *played) measureTearing(ctx context.Context) error {
	if !t.asked("tearing") {
		return nil
	}
	if d, _, ok := t.tears(); ok && t.whole(d.Images) {
		return nil
	}
	images := t.imageFrames()
	old, ok := t.Outcome.Find("tearing")
	if images == nil || !ok {
		return nil
	}
	o, err := analyze.Analyze(ctx, t.Reader, t.Outcome.Window, analyze.Options{
		Measures: []string{"tearing"}, Masks: t.Masks, Tearing: tearing.Options{Images: images},
	})
	if err == nil {
		*old = o.Results[0]
	}
	return err
}

// checkTearing: a frame is torn if and only if the copies of its strip disagree; and where the page
// drew it torn, its rows and images are those that the page names.
func (t *played) checkTearing() []check {
	if !t.asked("tearing") {
		return nil
	}
	c := newCheck("torn frames", "frames", "tearing.torn_frames")
	c.claim(t, "torn_frames")
	var drawn, unread []int
	for i := range t.views {
		switch v := &t.views[i]; {
		case slices.Contains(v.ids[:], unreadable):
			unread = append(unread, v.frame)
		case t.torn(v):
			drawn = append(drawn, v.frame)
		}
	}
	c.Drawn = exactly(len(drawn))
	c.Drawn.High += float64(len(unread))
	detail, v, ok := t.tears()
	if !ok {
		if t.imageFrames() == nil {
			return []check{c.notMade(
				"not each of the page's images was seen whole, and by those that were not nothing can be told")}
		}
		c.Note = notMeasured
		return []check{c}
	}
	var torn []int
	for _, tear := range detail.Torn {
		torn = append(torn, tear.Frame)
	}
	c.Frames = without(difference(torn, drawn), unread)
	c.Measured, c.Agrees = spanOf(v), len(c.Frames) == 0
	if !t.Report.Page.Flip.Torn || !t.pixelForPixel() {
		return []check{c}
	}
	return []check{c, t.checkRows(&detail)}
}

// whole reports whether frames show each of the page's images, whole.
func (t *played) whole(frames []int) bool {
	seen := make([]bool, t.Report.Page.Flip.Images)
	for _, n := range frames {
		i := n - t.Outcome.Window.Start
		if i < 0 || i >= len(t.views) || slices.Contains(t.views[i].ids[:], unreadable) || t.torn(&t.views[i]) {
			return false
		}
		seen[t.shows(&t.views[i])[0]] = true
	}
	return len(frames) == len(seen) && !slices.Contains(seen, false)
}

// imageFrames returns the first whole frame of each of the page's images, or nil if one never
// appeared whole.
func (t *played) imageFrames() []int {
	frames := make([]int, t.Report.Page.Flip.Images)
	seen := 0
	for i := len(t.views) - 1; i >= 0; i-- {
		v := &t.views[i]
		if slices.Contains(v.ids[:], unreadable) || t.torn(v) {
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
func (t *played) tears() (d tearing.Detail, torn analyze.Value, ok bool) {
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
func (t *played) checkRows(d *tearing.Detail) check {
	c := newCheck("rows and images, exact in", "frames", "")
	equal, all := 0, 0
	for i := range t.views {
		want, ok := t.drawnTear(&t.views[i])
		if !ok {
			continue
		}
		all++
		k := slices.IndexFunc(d.Torn, func(tear tearing.Tear) bool { return tear.Frame == t.views[i].frame })
		if k >= 0 && slices.Equal(d.Torn[k].Rows, want.Rows) &&
			slices.Equal(t.imagesOf(d, d.Torn[k].Images), want.Images) {
			equal++
		} else {
			c.Frames = append(c.Frames, t.views[i].frame)
		}
	}
	c.Measured, c.Drawn, c.Agrees = exactly(equal), exactly(all), equal == all
	if all == 0 {
		return c.notMade("no frame shows a picture that the page drew torn")
	}
	return c
}

// drawnTear returns the tear that the page drew in the picture that a frame shows.
func (t *played) drawnTear(v *view) (site.Tear, bool) {
	tears := t.Report.Truth.Tears
	i, ok := slices.BinarySearchFunc(tears, v.newest(), func(tear site.Tear, id int) int { return int(tear.ID) - id })
	if !ok || !t.torn(v) {
		return site.Tear{}, false
	}
	return tears[i], true
}

// imagesOf translates numbers of the measure's set into those of the page, by the pictures of the
// set's frames.
func (t *played) imagesOf(d *tearing.Detail, of []int) (images []int) {
	for _, k := range of {
		image := -1
		if k >= 0 && k < len(d.Images) {
			if i := d.Images[k] - t.Outcome.Window.Start; i >= 0 && i < len(t.views) {
				image = t.shows(&t.views[i])[0]
			}
		}
		images = append(images, image)
	}
	return images
}
