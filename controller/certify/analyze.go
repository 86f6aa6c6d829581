package certify

import (
	"context"
	"fmt"
	"image"
	"math"

	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
)

// analyzeFile analyses the recording at path; see analyzeRecording.
func analyzeFile(ctx context.Context, path string) (*Report, error) {
	r, err := recording.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close() // was only read
	rep, err := analyzeRecording(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("analyse the recording: %w", err)
	}
	return rep, nil
}

// analyzeRecording reports how a path changed the pictures in a recording made by [Run]. It returns
// an error for a recording that cannot be judged at all. A path that shows none of the played
// pictures fails in the report.
func analyzeRecording(ctx context.Context, r *recording.Reader) (*Report, error) {
	e, err := readEvidence(r)
	if err != nil {
		return nil, err
	}
	rep := &Report{Played: e.judgePlayer(), Mode: e.mode(), Formats: e.formats, Exactness: Exactness{Worst: -1},
		Time: Temporal{Worst: -1}}
	for _, g := range r.Gaps() {
		rep.addLoss(g.Cause, g.Count)
	}
	at, err := e.locate()
	if err == errNoPattern {
		rep.NoPattern = err.Error()
		rep.conclude()
		return rep, nil
	}
	if err != nil {
		return nil, err
	}
	rep.Geometry = e.judgeGeometry(at)
	if err := e.watch(ctx, at, rep); err != nil {
		return nil, err
	}
	rep.conclude()
	return rep, nil
}

// mode describes the played signal and the recorded one.
func (e *evidence) mode() PlayedMode {
	f := e.segment.Layout.Format
	return PlayedMode{
		Output: e.played.Output, Device: e.played.Device, Width: e.played.Width, Height: e.played.Height,
		PeriodNum: e.played.PeriodNum, PeriodDen: e.played.PeriodDen, LatchNS: e.played.LatchNS,
		Clocked:       e.played.Clocked,
		CapturedWidth: f.Width, CapturedHeight: f.Height, Pixel: f.Pixel.String(), Range: f.Range.String(),
		Matrix:          f.Matrix.String(),
		CapturePeriodNS: e.period.Nanoseconds(), StepNS: e.medianStep().Nanoseconds(),
		FittedPeriodFS: e.segment.FemtoPeriod,
		First:          e.segment.First, Frames: e.segment.Frames, Subsampling: f.Pixel.Subsampling(),
		rgb: f.Pixel.IsRGB(),
	}
}

// watch goes through all frames once.
func (e *evidence) watch(ctx context.Context, at placement, rep *Report) error {
	l := e.segment.Layout
	reader, err := strip.NewPlaced(l, at.lines)
	if err != nil {
		return err
	}
	compare, err := e.newComparer(at)
	if err != nil {
		return err
	}
	player, err := e.rec.Play(e.segment.First, e.segment.First+e.segment.Frames)
	if err != nil {
		return err
	}
	defer player.Close()
	p := newPixels(frame.NewConverter(l), l.Format)
	mixing := e.newMixing(at)
	colours := e.newPalette(at)
	var shots []shot
	detailed, settled := false, false
	for player.Next() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s := shot{frame: player.Number(), meta: player.Meta()}
		p.img = player.Image()
		e.identify(&s, reader.Read(p.img))
		s.blend = mixing.share(p, s)
		shots = append(shots, s)
		if !s.single() || s.meta.Flags&frame.FlagError != 0 {
			continue
		}
		colours.add(p)
		// In the middle all has settled; where no frame after it is whole, one before it does.
		if !detailed || !settled && s.frame >= e.segment.First+e.segment.Frames/2 {
			detailed, settled = true, s.frame >= e.segment.First+e.segment.Frames/2
			rep.Detail = e.measureDetail(p, at, colours.contrast())
		}
		if compare != nil && s.blend <= blendLimit {
			if err := compare.compare(s.frame, p.img, e.puts[s.put].n); err != nil {
				return err
			}
		}
	}
	if err := player.Err(); err != nil {
		return err
	}
	rep.Time, rep.Delay = e.judgeTime(shots)
	sent, came := colours.means()
	rep.Colour = judgeColour(sent, came, l.Format)
	rep.Exactness = compare.result()
	rep.whole = detailed
	return nil
}

// palette sums up the flat patches over frames.
type palette struct {
	areas  []image.Rectangle
	sent   []rgb
	sum    []colourF
	ok     []bool
	frames int
}

// paletteFrames is how many frames are enough for the patches.
const paletteFrames = 8

func (e *evidence) newPalette(at placement) *palette {
	q := &palette{}
	for _, v := range e.pattern.patches {
		q.areas = append(q.areas, at.rect(v.area, e.segment.Layout.Format))
		q.sent = append(q.sent, v.colour)
	}
	q.sum, q.ok = make([]colourF, len(q.areas)), make([]bool, len(q.areas))
	return q
}

func (q *palette) add(p *pixels) {
	if q.frames == paletteFrames {
		return
	}
	q.frames++
	for i, r := range q.areas {
		mean, _, ok := p.flat(r)
		q.ok[i] = ok
		for c := range mean {
			q.sum[i][c] += mean[c]
		}
	}
}

// means returns the visible patches: the sent and the received colours.
func (q *palette) means() (sent []rgb, came []colourF) {
	for i, ok := range q.ok {
		if !ok {
			continue
		}
		v := q.sum[i]
		for c := range v {
			v[c] /= float64(q.frames)
		}
		sent, came = append(sent, q.sent[i]), append(came, v)
	}
	return sent, came
}

// contrast returns how far the lightest patch is from the darkest, in green.
func (q *palette) contrast() float64 {
	low, high := math.Inf(1), math.Inf(-1)
	_, came := q.means()
	for _, v := range came {
		low, high = min(low, v[1]), max(high, v[1])
	}
	return max(0, high-low)
}

// mixing measures how much of another picture is in a frame, where pictures that follow each other
// differ: the flickering patch, and the low digits of the number with their inverse.
type mixing struct {
	black, white image.Rectangle
	flicker      image.Rectangle
	digits       [mixedDigits][2]image.Rectangle
}

// mixedDigits is how many low digits are looked at: mixes of pictures up to so many powers of two
// apart.
const mixedDigits = 3

func (e *evidence) newMixing(at placement) *mixing {
	f := e.segment.Layout.Format
	greys, _ := flatColours()
	m := &mixing{
		black:   core(at.rect(e.pattern.patches[0].area, f)),
		white:   core(at.rect(e.pattern.patches[len(greys)-1].area, f)),
		flicker: core(at.rect(e.pattern.flicker, f)),
	}
	for i := range m.digits {
		for row := range 2 {
			m.digits[i][row] = core(at.rect(e.pattern.digit(row, digitBits-1-i), f))
		}
	}
	return m
}

// core returns a few pixels in the middle of a rectangle: every frame is looked at.
func core(r image.Rectangle) image.Rectangle {
	if r.Empty() {
		return r
	}
	c := image.Pt((r.Min.X+r.Max.X)/2, (r.Min.Y+r.Max.Y)/2)
	return image.Rect(c.X-3, c.Y-2, c.X+3, c.Y+2).Intersect(r)
}

// share returns the share of other pictures in a frame, from 0 to 1. Of a frame whose number cannot
// be read it is what keeps it from being black or white.
func (m *mixing) share(p *pixels, s shot) float64 {
	if s.state == strip.Torn {
		return 0
	}
	black, _, ok1 := p.flat(m.black)
	white, _, ok2 := p.flat(m.white)
	if !ok1 || !ok2 || white[1]-black[1] < 64 {
		return 0
	}
	worst := 0.0
	look := func(r image.Rectangle, light bool) {
		v, _, ok := p.flat(r)
		if !ok {
			return
		}
		light01 := math.Min(math.Max((v[1]-black[1])/(white[1]-black[1]), 0), 1)
		off := 1 - light01
		if s.put < 0 {
			off = math.Min(light01, 1-light01)
		} else if !light {
			off = light01
		}
		worst = math.Max(worst, off)
	}
	n := s.number
	look(m.flicker, flickers(n))
	for i, rows := range m.digits {
		on := id(n)>>i&1 != 0
		look(rows[0], on)
		look(rows[1], !on)
	}
	return worst
}
