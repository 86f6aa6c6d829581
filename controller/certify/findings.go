package certify

import (
	"fmt"
	"math"
	"strings"

	"github.com/eideticker/eideticker/analyze/wording"
)

// conclude turns the numbers into findings and a verdict.
func (r *Report) conclude() {
	if r.Losses == nil {
		r.Losses = []Loss{}
	}
	r.Findings = append(r.Findings, r.signal())
	if r.NoPattern == "" {
		r.Findings = append(r.Findings,
			r.player(), r.rate(), r.duplicates(), r.drops(), r.order(), r.tearing(), r.blending(), r.delay(),
			r.scale(), r.position(), r.detail(), r.chroma(), r.valueRange(), r.colour(), r.levels(), r.bits(),
			r.losses())
	}
	r.Verdict = Pass
	for _, f := range r.Findings {
		switch {
		case f.Verdict == Fail:
			r.Verdict = Fail
		case f.Verdict == Remark && r.Verdict == Pass:
			r.Verdict = Remark
		}
	}
}

// finding makes a finding. blame adds its fault, if any.
func finding(property, kind, sent, came string) Finding {
	return Finding{Property: property, Verdict: Pass, Kind: kind, Sent: sent, Came: came}
}

func (f Finding) blame(is bool, v Verdict, advice string) Finding {
	if is && f.Verdict == Pass {
		f.Verdict, f.Advice = v, advice
	}
	return f
}

func refused(property, sent, why string) Finding {
	return Finding{Property: property, Verdict: NotJudged, Kind: refusedFinding, Sent: sent, Came: why}
}

func (r *Report) signal() Finding {
	t := r.Time
	sent := fmt.Sprintf("%dx%d, numbered", r.Mode.Width, r.Mode.Height)
	if r.NoPattern != "" {
		return finding(propertySignal, exactFinding, sent, "no frame shows the pattern").blame(true, Fail, r.NoPattern)
	}
	came := fmt.Sprintf("%s as %dx%d %s", wording.Plural(t.Judged, "frame"), r.Mode.CapturedWidth,
		r.Mode.CapturedHeight, r.Mode.Pixel)
	var faults []string
	for _, v := range []struct {
		n    int
		what string
	}{{t.Unreadable, "unreadable"}, {t.Stale, "not of this run"}, {t.Flagged, "flagged as damaged by the driver"}} {
		if v.n > 0 {
			faults = append(faults, fmt.Sprintf("%d %s", v.n, v.what))
		}
	}
	if r.Formats > 1 {
		faults = append(faults, fmt.Sprintf("%d formats, only the longest is judged", r.Formats))
	}
	if len(faults) > 0 {
		came += ": " + strings.Join(faults, ", ")
	}
	return finding(propertySignal, exactFinding, sent, came).
		blame(t.Judged == 0, Fail, "too few frames show pictures of this run: play longer with -t").
		blame(t.Stale > 0, Fail, "the device shows old pictures, or something else draws on the output").
		blame(len(faults) > 0, Fail,
			"look at the frames with -o FOLDER; a worn cable or an overlay on the screen does this")
}

func (r *Report) player() Finding {
	p := r.Played
	came := fmt.Sprintf("%s put, %d late, each within %s", wording.Plural(p.Pictures, "picture"), p.Late, ms(p.WidthNS))
	return finding(propertyPlayer, exactFinding, fmt.Sprintf("one every %s", ms(p.PeriodNS)), came).
		blame(p.Late*20 > p.Pictures, Remark,
			"this machine is too busy to play on time: close other programs, or play less with --fps or --size")
}

func (r *Report) rate() Finding {
	// The fit is exact to parts of a million, unless repeated or missing frames hide it.
	captured, fitted := float64(r.Mode.StepNS), float64(r.Mode.FittedPeriodFS)/1e6
	if captured == 0 || math.Abs(fitted/captured-1) < 0.02 {
		captured = fitted
	}
	sent, ratio := 1e9/float64(r.Played.MeanNS), captured/float64(r.Played.MeanNS)
	return finding(propertyRate, exactFinding, fmt.Sprintf("%.3f pictures/s", sent),
		fmt.Sprintf("%.3f frames/s", 1e9/captured)).
		blame(ratio > 1.1, Fail, "the source is slower than the signal: use another mode or a lower --fps").
		blame(r.Mode.Clocked && math.Abs(ratio-1) > 0.0005, Remark,
			"the two rates drift against each other: every so often a picture is sampled twice or not at all")
}

func (r *Report) duplicates() Finding {
	if r.Time.Whole == 0 {
		return refused(propertyDuplicates, "each picture while it was there", brokenWhy)
	}
	n, open := r.Time.Duplicates, r.Time.OpenDuplicates
	kind, came := exactFinding, wording.Plural(n, "duplicate")
	if open > 0 {
		kind, came = boundedFinding, fmt.Sprintf("%d to %d duplicates", n, n+open)
	}
	return finding(propertyDuplicates, kind, "each picture while it was there", came).
		blame(n > 0, Fail, "the path repeats frames, so framerates are too low: try another USB port, mode or card")
}

func (r *Report) drops() Finding {
	if r.Time.Whole == 0 {
		return refused(propertyDrops, wording.Plural(r.Played.Pictures, "picture"), brokenWhy)
	}
	t := r.Time
	kind, came := exactFinding, fmt.Sprintf("%d dropped", t.Dropped)
	if t.Unsampled > 0 {
		kind = boundedFinding
		came += fmt.Sprintf(", %d shown too shortly to tell", t.Unsampled)
	}
	if t.LostPictures > 0 {
		came += fmt.Sprintf(", %d in losses that the recording counts", t.LostPictures)
	}
	return finding(propertyDrops, kind, wording.Plural(r.Played.Pictures, "picture"), came).
		blame(t.Dropped > 0, Fail,
			"the path drops frames without notice: look for a frame rate limit of the adapter or of the card's format").
		blame(t.Unsampled*20 > r.Played.Pictures, Remark,
			"play at half the rate with --fps, so that each picture is there for two samples")
}

func (r *Report) order() Finding {
	if r.Time.Whole == 0 {
		return refused(propertyOrder, "in order", brokenWhy)
	}
	n := r.Time.Reordered
	return finding(propertyOrder, exactFinding, "in order", fmt.Sprintf("%d out of order", n)).
		blame(n > 0, Fail, "frames come in the wrong order: update the driver, or use fewer or more buffers")
}

func (r *Report) tearing() Finding {
	t := r.Time
	came := fmt.Sprintf("%d torn", t.Torn)
	if t.TornByPlayer > 0 {
		came += fmt.Sprintf(", and %d sampled while the player drew", t.TornByPlayer)
	}
	return finding(propertyTearing, exactFinding, "whole pictures", came).
		blame(t.Torn > 0, Fail, "frames mix several pictures: tearing read from this path is not the device's")
}

func (r *Report) blending() Finding {
	t := r.Time
	return finding(propertyBlending, exactFinding, "pictures apart",
		fmt.Sprintf("%d blended, at most %.0f %% of another picture", t.Blended, 100*min(1, t.BlendShare))).
		blame(t.Blended > 0, Fail,
			"pictures are mixed: turn off deinterlacing, noise reduction and motion smoothing in card and adapter")
}

func (r *Report) delay() Finding {
	if r.Time.Whole == 0 {
		return refused(propertyDelay, "when each was put", brokenWhy)
	}
	d := r.Delay
	came := fmt.Sprintf("%s in the middle", betweenMS(d.MedianLow, d.MedianTop))
	if d.Varies > 0 {
		came += fmt.Sprintf(", changes by at least %s", ms(d.Varies))
	}
	if d.OffTime > 0 {
		came += fmt.Sprintf(", %s off their time", wording.Plural(d.OffTime, "frame"))
	}
	return finding(propertyDelay, boundedFinding, "when each was put", came).
		blame(d.Varies > 0, Fail,
			"the delay changes while it runs: response times read from this path are wrong by as much").
		blame(d.OffTime*100 > r.Time.Judged, Remark,
			"single frames come off their time: response times have an outlier now and then")
}

func (r *Report) scale() Finding {
	g := r.Geometry
	kind := boundedFinding
	came := fmt.Sprintf("%.4f x %.4f", g.ScaleX, g.ScaleY)
	if g.Unscaled {
		kind, came = exactFinding, "pixel for pixel"
	}
	return finding(propertyScale, kind, fmt.Sprintf("%dx%d", r.Mode.Width, r.Mode.Height), came).
		blame(!g.Unscaled, Fail, "the picture is scaled: capture in the sent size (EDID, format), turn overscan off")
}

func (r *Report) position() Finding {
	g := r.Geometry
	var parts []string
	for i, side := range []string{"left", "top", "right", "bottom"} {
		if g.Cut[i] > 0 {
			parts = append(parts, fmt.Sprintf("%.0f px cut off at the %s", g.Cut[i], side))
		}
		if g.Bars[i] > 0 {
			parts = append(parts, fmt.Sprintf("%.0f px not covered at the %s", g.Bars[i], side))
		}
	}
	cut := g.Cut != [4]float64{}
	came := "whole, where it belongs"
	if len(parts) > 0 {
		came = strings.Join(parts, ", ")
	}
	kind := exactFinding
	if !g.Unscaled {
		kind = boundedFinding
	}
	return finding(propertyPosition, kind, "the whole frame", came).
		blame(cut, Fail, "part of the picture is cut off: turn overscan off, and set no region on the source").
		blame(len(parts) > 0, Remark, "the picture does not fill the frame: give measures its region")
}

const (
	scaledWhy  = "not judged: the picture is scaled, single pixels are gone"
	brokenWhy  = "not judged: no frame shows one whole picture"
	cutWhy     = "not judged: that part of the picture is cut off"
	blurredWhy = "not judged: neighbouring pixels run into each other in brightness too"
)

func (r *Report) detail() Finding {
	d := r.Detail
	const sent = "lines of one pixel"
	switch {
	case !r.whole:
		return refused(propertyDetail, sent, brokenWhy)
	case !r.Geometry.Unscaled:
		return refused(propertyDetail, sent, scaledWhy)
	case !d.Judged:
		return refused(propertyDetail, sent, cutWhy)
	}
	least := min(d.LumaColumns, d.LumaRows, d.LumaChecker)
	return finding(propertyDetail, exactFinding, sent, fmt.Sprintf("%.0f %% of their contrast", 100*min(1, least))).
		blame(least < sharp, Fail,
			"neighbouring pixels mix: turn off sharpening and smoothing, avoid analogue cables and compressed formats").
		blame(least < 0.95, Remark, "fine detail is softened a little")
}

// chroma holds the subsampling that is seen against that of the format, which has to do what it
// does.
func (r *Report) chroma() Finding {
	d := r.Detail
	const sent = "4:4:4"
	switch {
	case !r.whole:
		return refused(propertyChroma, sent, brokenWhy)
	case !r.Geometry.Unscaled:
		return refused(propertyChroma, sent, scaledWhy)
	case !d.ChromaJudged:
		return refused(propertyChroma, sent, cutWhy)
	case d.blurred():
		return refused(propertyChroma, sent, blurredWhy)
	}
	kind, came := exactFinding, d.Chroma
	if came == "" {
		kind, came = boundedFinding, "coarser than 4:4:4, but as no usual subsampling"
	}
	holds := r.Mode.Pixel + " frames hold " + r.Mode.Subsampling
	const ask = ": have the source ask for RGB or 4:4:4 (EDID), or the output send it"
	return finding(propertyChroma, kind, sent, came).
		blame(r.Mode.rgb && d.Chroma != sent, Fail, "colour is subsampled on the way though "+r.Mode.Pixel+
			" frames hold it in full"+ask).
		blame(coarser(d.Chroma, r.Mode.Subsampling), Fail,
			"colour is subsampled further on the way than it has to be, "+holds+ask).
		blame(d.Chroma == "none", Remark, r.Mode.Pixel+" holds no colour: record another format where colours matter").
		blame(d.Chroma != sent, Remark,
			holds+", colour for several pixels together: record an RGB format where exact colours matter")
}

// coarser reports whether the colour of one subsampling has less detail than that of another,
// across or down. A subsampling without a name is only coarser than 4:4:4.
func coarser(came, held string) bool {
	pixels := map[string][2]int{"4:4:4": {1, 1}, "4:2:2": {2, 1}, "4:4:0": {1, 2}, "4:2:0": {2, 2}, "4:1:1": {4, 1},
		"none": {1 << 16, 1 << 16}, "4:0:0": {1 << 16, 1 << 16}}
	a, known := pixels[came]
	b := pixels[held]
	if !known {
		return held == "4:4:4"
	}
	return a[0] > b[0] || a[1] > b[1]
}

func (r *Report) valueRange() Finding {
	c := r.Colour
	const sent = "full range, 0 to 255"
	switch {
	case !r.whole:
		return refused(propertyRange, sent, brokenWhy)
	case !c.Known:
		return refused(propertyRange, sent, "not judged: the colours were changed in no way that is known")
	}
	declared := r.Mode.rgb && r.Mode.Range == "limited" && c.Range == rangeCompressed
	came := map[string]string{
		kept: "full range, 0 to 255", rangeCompressed: "16 to 235: full range shown as limited",
		rangeExpanded: "clipped: full range taken for limited", rangeTwice: "30 to 218: compressed twice",
	}[c.Range]
	return finding(propertyRange, exactFinding, sent, came).
		blame(declared, Remark, "the source says so: its frames are of limited range").
		blame(c.Range != kept, Fail,
			"the path and the output do not agree on the range: set both to full, or both to limited")
}

func (r *Report) colour() Finding {
	c := r.Colour
	const sent = "red green blue"
	if !r.whole {
		return refused(propertyColour, sent, brokenWhy)
	}
	near := fmt.Sprintf(", within %.0f of 255", math.Ceil(c.MaxError))
	if !c.Known {
		return finding(propertyColour, exactFinding, sent, "changed: "+c.Worst).
			blame(true, Fail, "colours change: turn picture modes, colour correction and HDR conversion off")
	}
	var parts []string
	if c.Channels != sentChannels {
		parts = append(parts, "channels as "+strings.ToUpper(c.Channels))
	}
	if c.ChromaUV != kept {
		parts = append(parts, "Cb and Cr swapped")
	}
	if c.Matrix != kept {
		parts = append(parts, c.Matrix)
	}
	switch {
	case r.Mode.Subsampling == "4:0:0":
		return finding(propertyColour, exactFinding, sent,
			"the luma of the sent picture"+near+"; the format has no colour")
	case len(parts) == 0:
		return finding(propertyColour, exactFinding, sent, "as sent"+near)
	}
	return finding(propertyColour, exactFinding, sent, strings.Join(parts, ", ")+near).
		blame(true, Fail, "the source misreads colours: use another pixel format, or correct its matrix")
}

func (r *Report) bits() Finding {
	x := r.Exactness
	sent := "every pixel"
	if x.Luma {
		sent = "every pixel's luma"
	}
	switch {
	case !r.whole || x.Judged && x.Frames == 0:
		return refused(propertyBits, sent, brokenWhy)
	case !x.Judged:
		return refused(propertyBits, sent, "not judged: a pixel of the frame is none of the picture")
	case !r.Colour.unchanged():
		return refused(propertyBits, sent, "not judged: colours or range were changed, see there")
	case r.Detail.ChromaJudged && coarser(r.Detail.Chroma, r.Mode.Subsampling):
		return refused(propertyBits, sent, "not judged: colour is subsampled or detail softened, see there")
	}
	are := "exact"
	if x.Luma { // computed on the way, and rounded
		are = fmt.Sprintf("within 1 of %d", x.Most)
	}
	came := fmt.Sprintf("%d of %s are %s, %d wrong pixels, off by up to %d of %d", x.ExactFrames,
		wording.Plural(x.Frames, "frame"), are, x.WrongPixels, x.MaxError, x.Most)
	if x.ExactFrames == x.Frames {
		came = fmt.Sprintf("all of %s are %s", wording.Plural(x.Frames, "frame"), are)
	}
	share := float64(x.WrongPixels) / float64(max(1, x.Pixels))
	return finding(propertyBits, exactFinding, sent, came).
		blame(x.WrongPixels > 0 && share < 0.01, Fail,
			"single pixels are wrong: a cable at its limit, or something small drawn over the picture").
		blame(x.MaxError*255 <= 2*x.Most && x.WrongPixels > 0, Remark,
			fmt.Sprintf("values are rounded on the way: give measures a tolerance of %d", x.MaxError)).
		blame(x.WrongPixels > 0, Fail,
			"noise or compression changes pixels: choose an uncompressed format, or give measures a tolerance")
}

// maxLost is the share of lost frames, one in so many, from which on losses are not an exception.
// Fewer are counted too.
const maxLost = 100

func (r *Report) losses() Finding {
	var parts []string
	var path, ours uint64
	for _, l := range r.Losses {
		parts = append(parts, fmt.Sprintf("%d %s", l.Frames, l.Cause))
		if l.path {
			path += l.Frames
		} else {
			ours += l.Frames
		}
	}
	came := "none lost"
	if path+ours > 0 {
		came = strings.Join(parts, ", ")
	}
	const advice = "the path loses frames, and the recording counts them: try another cable, port or mode"
	return finding(propertyLosses, exactFinding, "every frame recorded", came).
		blame(path*maxLost > uint64(r.Mode.Frames), Fail, advice).
		blame(path > 0, Remark, advice).
		blame(ours > 0, Remark, "this machine lost frames, and the recording counts them: see eideticker doctor")
}
