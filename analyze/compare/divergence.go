package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/bits"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
)

// divergence is the first pair of frames in which two windows differ. Two frames are a pair if
// their sequence numbers are equally far from their window's start. If one of the two was lost, the
// next pair is compared.
type divergence struct {
	RunA     string        `json:"run_a"`
	RunB     string        `json:"run_b"`
	Found    bool          `json:"found"`
	FrameA   int           `json:"frame_a"`          // -1: none
	FrameB   int           `json:"frame_b"`          // -1: none
	SinceA   time.Duration `json:"since_start_a_ns"` // from the window's start to the middle of its sampling interval
	SinceB   time.Duration `json:"since_start_b_ns"`
	Pixels   int           `json:"pixels"`          // that differ
	Region   []int         `json:"region"`          // around them in the frame: x, y, width and height
	Alike    int           `json:"alike_frames"`    // pairs that were looked at
	Unpaired int           `json:"unpaired_frames"` // of either without a partner
	Pictures []string      `json:"pictures"`
	Refusal  string        `json:"refusal"`

	box frame.Region // Region
}

func newDivergence(runA, runB string) *divergence {
	return &divergence{RunA: runA, RunB: runB, FrameA: -1, FrameB: -1, Region: []int{}, Pictures: []string{}}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

func (d *divergence) text() string {
	switch {
	case d.Refusal != "":
		return "first difference not looked for: " + d.Refusal
	case !d.Found:
		return fmt.Sprintf("none in %s", wording.Plural(d.Alike, "pair")+" of frames")
	}
	text := fmt.Sprintf("frame %d of A (%s after the start) and %d of B (%s) are the first that differ, "+
		"in %s within %s, after %s alike; %s and %s",
		d.FrameA, seconds(d.SinceA), d.FrameB, seconds(d.SinceB), wording.Plural(d.Pixels, "pixel"), d.box,
		wording.Plural(d.Alike, "pair"),
		d.Pictures[0], d.Pictures[1])
	if d.Unpaired > 0 {
		text += fmt.Sprintf("; %s before had no partner", wording.Plural(d.Unpaired, "frame"))
	}
	return text
}

// drawDivergence looks for the first frames that differ and writes them as pictures. What makes
// that impossible is a refusal.
func (d drawing) drawDivergence(ctx context.Context, a, b side) error {
	first := newDivergence(a.run.Name, b.run.Name)
	d.divergence = first
	ra, rb, err := twoRecordings(a, b)
	if missing := (noRecordingError{}); errors.As(err, &missing) {
		first.Refusal = wording.Sentence(missing)
		return nil
	}
	if err != nil {
		return err
	}
	defer ra.Close() // was only read
	defer rb.Close() // was only read
	p, err := newPairer(ra, rb, a.window, b.window)
	if err != nil {
		first.Refusal = err.Error()
		return nil
	}
	advance, end := d.progress.Phase("looking for the first difference",
		min(a.window.End-a.window.Start, b.window.End-b.window.Start)+1)
	defer end()
	return p.find(ctx, first, advance, func(a, b frame.Image) error {
		first.Pictures = []string{d.name(divergenceFileA), d.name(divergenceFileB)}
		return errors.Join(d.image(divergenceFileA, a), d.image(divergenceFileB, b))
	})
}

func (d drawing) image(name string, img frame.Image) error {
	return d.file(name, func(w io.Writer) error { return render.WritePNG(w, img) })
}

// pairer walks through two windows side by side.
type pairer struct {
	a, b   *recording.Reader
	wa, wb *result.Window
	counts *analyze.Area
	differ *frame.Differ
	line   []uint64
	most   int // pixels that may differ in frames that are alike
}

// newPairer compares what counts in both windows, with the larger of their tolerances. It refuses
// windows of which no pixel lies on one of the other.
func newPairer(a, b *recording.Reader, wa, wb *result.Window) (*pairer, error) {
	la, err := layoutOf(a, wa)
	if err != nil {
		return nil, fmt.Errorf("run A: %w", err)
	}
	lb, err := layoutOf(b, wb)
	if err != nil {
		return nil, fmt.Errorf("run B: %w", err)
	}
	area, areaB := regionOf(la, wa), regionOf(lb, wb)
	switch {
	case la.Format != lb.Format:
		return nil, fmt.Errorf("frames of A are %dx%d %s and of B %dx%d %s, or have other colours",
			la.Format.Width, la.Format.Height, la.Format.Pixel, lb.Format.Width, lb.Format.Height, lb.Format.Pixel)
	case area != areaB:
		return nil, fmt.Errorf("the content of A lies at %v and that of B at %v", area, areaB)
	case !area.In(la.Format.Width, la.Format.Height):
		return nil, fmt.Errorf("the content lies at %v, outside the frame", area)
	}
	var masks []frame.Region
	for _, m := range slices.Concat(wa.Masks, wb.Masks) {
		masks = append(masks, frame.Region{X: m[0], Y: m[1], Width: m[2], Height: m[3]})
	}
	counts, err := measure.NewArea(la, area, masks)
	if err != nil {
		return nil, err
	}
	return &pairer{
		a: a, b: b, wa: wa, wb: wb, counts: counts, differ: frame.NewDiffer(la, max(wa.Tolerance, wb.Tolerance)),
		line: make([]uint64, la.Words()), most: max(wa.MinPixels, wb.MinPixels),
	}, nil
}

// layoutOf returns that of a window's frames, of which there must be one.
func layoutOf(r *recording.Reader, w *result.Window) (*frame.Layout, error) {
	if w.End >= r.Frames() {
		return nil, fmt.Errorf("results speak of frame %d, and the recording has %d; analyze it again", w.End,
			r.Frames())
	}
	s, err := r.SegmentOf(w.Start)
	if err != nil {
		return nil, err
	}
	if w.End >= s.First+s.Frames {
		return nil, fmt.Errorf("its window has frames of two formats")
	}
	return s.Layout, nil
}

func regionOf(l *frame.Layout, w *result.Window) frame.Region {
	if len(w.Region) != 4 {
		return frame.Region{Width: l.Format.Width, Height: l.Format.Height}
	}
	return frame.Region{X: w.Region[0], Y: w.Region[1], Width: w.Region[2], Height: w.Region[3]}
}

// walk goes through one of two sequences of frames.
type walk struct {
	next    func() (*frame.Step, error, bool)
	step    *frame.Step
	first   frame.Meta
	began   bool
	changed bool // since the last pair
	move    bool // the other one does not lag behind
}

// forward goes to the next frame, unless this one waits for the other side.
func (w *walk) forward() (ok bool, err error) {
	if !w.move {
		return true, nil
	}
	step, err, ok := w.next()
	if !ok || err != nil {
		return false, err
	}
	if w.step = step; !w.began {
		w.began, w.first = true, step.Meta
	}
	w.changed = w.changed || len(step.Change.Spans) > 0
	return true, nil
}

// place is how many frames of the source lie between the window's start and this one.
func (w *walk) place() uint64 { return w.step.Meta.Sequence - w.first.Sequence }

// since is the time from the window's start.
func (w *walk) since() time.Duration {
	return time.Duration(w.step.Meta.Sampled.Mid() - w.first.Sampled.Mid())
}

// find goes through both windows up to the first difference, whose images it gives to show: they
// are valid until that returns.
func (p *pairer) find(ctx context.Context, d *divergence, advance func(frames int),
	show func(a, b frame.Image) error) error {
	nextA, stopA := iter.Pull2(p.a.Steps(p.wa.Start, p.wa.End+1))
	defer stopA()
	nextB, stopB := iter.Pull2(p.b.Steps(p.wb.Start, p.wb.End+1))
	defer stopB()
	a, b := &walk{next: nextA, changed: true}, &walk{next: nextB, changed: true}
	for a.move, b.move = true, true; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, w := range []*walk{a, b} {
			if ok, err := w.forward(); !ok {
				return err
			}
		}
		a.move, b.move = a.place() <= b.place(), b.place() <= a.place()
		if a.place() != b.place() {
			d.Unpaired++
			continue
		}
		if a.changed || b.changed { // else they are as alike as the pair before
			if pixels, box := p.compare(a.step.Image, b.step.Image); pixels > p.most {
				d.Found, d.Pixels, d.box, d.Region = true, pixels, box, []int{box.X, box.Y, box.Width, box.Height}
				d.FrameA, d.FrameB, d.SinceA, d.SinceB = a.step.Number, b.step.Number, a.since(), b.since()
				return show(a.step.Image, b.step.Image)
			}
		}
		a.changed, b.changed = false, false
		d.Alike++
		advance(1)
	}
}

// compare counts the pixels of the content that differ, and returns the smallest region around
// them.
func (p *pairer) compare(a, b frame.Image) (pixels int, box frame.Region) {
	r := p.counts.Region
	x0, x1, y0, y1 := r.X+r.Width, r.X, r.Y+r.Height, r.Y
	w0, w1 := r.X/64, (r.X+r.Width+63)/64
	for y := r.Y; y < r.Y+r.Height; y++ {
		line := p.line[:w1-w0]
		p.differ.Line(line, y, w0, w1, a, b)
		for i, word := range line {
			left := 64 * (w0 + i)
			if word = p.counted(word, left, y); word == 0 {
				continue
			}
			pixels += bits.OnesCount64(word)
			x0, x1 = min(x0, left+bits.TrailingZeros64(word)), max(x1, left+64-bits.LeadingZeros64(word))
			y0, y1 = min(y0, y), max(y1, y+1)
		}
	}
	if pixels == 0 {
		return 0, frame.Region{}
	}
	return pixels, frame.Region{X: x0, Y: y0, Width: x1 - x0, Height: y1 - y0}
}

// counted leaves those bits of a word of pixels that count.
func (p *pairer) counted(word uint64, left, y int) uint64 {
	for rest := word; rest != 0; rest &= rest - 1 {
		if i := bits.TrailingZeros64(rest); !p.counts.Holds(left+i, y) {
			word &^= 1 << i
		}
	}
	return word
}
