package render

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"strings"

	"golang.org/x/image/draw"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/capture/frame"
)

// EvidenceOptions say how a frame is shown.
type EvidenceOptions struct {
	Caption  string // such as "frame 123, 2.050 s"; empty for the frame's number
	MaxWidth int    // pixels above which the frame is scaled down; 0 for 1280, negative for no limit
}

// errEvidence is wrapped where there is nothing to show, or it does not fit its frame.
var errEvidence = errors.New("bad evidence")

// EvidencePicture shows a frame with its evidence: lines at the rows of tears, outlines around
// regions, and their texts below. All evidence is of the one frame. Lines and outlines are between
// or around the pixels as far as the scale lets them.
func EvidencePicture(m frame.Image, all []analyze.Evidence, o EvidenceOptions) (*image.RGBA, error) {
	f := m.Layout.Format
	if err := checkEvidence(f, all); err != nil {
		return nil, fmt.Errorf("draw evidence: %w", err)
	}
	if o.MaxWidth == 0 {
		o.MaxWidth = 1280
	}
	content := shrink(m, o.maxWidth(f), math.MaxInt32)
	s, err := newEvidenceSheet(content, f, all, o)
	if err != nil {
		return nil, fmt.Errorf("draw evidence: %w", err)
	}
	for i, e := range all {
		s.draw(e, evidenceColour(e.Kind, i))
	}
	s.caption(all, o)
	return s.img, nil
}

func (o EvidenceOptions) maxWidth(f frame.Format) int {
	if o.MaxWidth < 0 {
		return f.Width
	}
	return max(16, o.MaxWidth)
}

func checkEvidence(f frame.Format, all []analyze.Evidence) error {
	const most = 1000
	if len(all) == 0 || len(all) > most {
		return fmt.Errorf("%w: %d pieces for one frame, want 1 to %d", errEvidence, len(all), most)
	}
	for _, e := range all {
		if e.Frame != all[0].Frame {
			return fmt.Errorf("%w: of frames %d and %d, want one frame for a picture", errEvidence, all[0].Frame,
				e.Frame)
		}
		for _, y := range e.Rows {
			if y < 0 || y > f.Height {
				return fmt.Errorf("%w: row %d of a frame of %d rows", errEvidence, y, f.Height)
			}
		}
		if len(e.Region) == 0 {
			continue
		}
		if r, ok := regionOf(e); !ok || !r.In(f.Width, f.Height) {
			return fmt.Errorf("%w: region %v is outside a frame of %dx%d", errEvidence, e.Region, f.Width,
				f.Height)
		}
	}
	return nil
}

func regionOf(e analyze.Evidence) (frame.Region, bool) {
	if len(e.Region) != 4 {
		return frame.Region{}, false
	}
	return frame.Region{X: e.Region[0], Y: e.Region[1], Width: e.Region[2], Height: e.Region[3]}, true
}

// evidenceColour is chosen to be seen on bright and dark pages.
func evidenceColour(kind string, i int) color.RGBA {
	if strings.Contains(kind, "check") {
		others := [...]uint32{0xff3fb4, 0x9b5cff, 0xff7a45, 0x00b8d9}
		return rgb(others[i%len(others)])
	}
	return rgb(0xff7a1a)
}

// evidenceSheet is a frame with margins left and right for what points at its rows, and a caption
// below.
type evidenceSheet struct {
	img    *image.RGBA
	fonts  *fonts
	k      float64
	area   image.Rectangle // of the content
	sx, sy float64         // pixels of the picture for one of the frame
	tags   []int           // baselines taken in the left margin
}

const maxLines = 6 // of the caption

func newEvidenceSheet(content *image.RGBA, f frame.Format, all []analyze.Evidence, o EvidenceOptions) (*evidenceSheet,
	error) {
	s := &evidenceSheet{
		k:  textScale(content.Rect.Dx()),
		sx: float64(content.Rect.Dx()) / float64(f.Width), sy: float64(content.Rect.Dy()) / float64(f.Height),
	}
	var err error
	if s.fonts, err = newFonts(s.k); err != nil {
		return nil, err
	}
	left, right := s.px(8), s.px(8)
	for _, e := range all {
		for _, y := range e.Rows {
			left = max(left, s.fonts.label.width(rowText(y))+s.px(34))
			right = s.px(26)
		}
	}
	width := max(content.Rect.Dx()+left+right, minSheet/2)
	bottom := s.px(46 + 22*float64(min(len(texts(all)), maxLines)))
	s.img = image.NewRGBA(image.Rect(0, 0, width, s.px(8)+content.Rect.Dy()+bottom))
	fill(s.img, s.img.Rect, inkPanel())
	s.area = content.Rect.Add(image.Pt(left, s.px(8)))
	draw.Draw(s.img, s.area, content, image.Point{}, draw.Src)
	return s, nil
}

func (s *evidenceSheet) px(n float64) int { return int(math.Round(n * s.k)) }

func rowText(y int) string { return fmt.Sprintf("row %d", y) }

func (s *evidenceSheet) draw(e analyze.Evidence, c color.RGBA) {
	if r, ok := regionOf(e); ok {
		s.outline(r, c)
	}
	for _, y := range e.Rows {
		s.row(y, e, c)
	}
}

// outline draws around a region, dark on its outer side so that it stands out from any content.
func (s *evidenceSheet) outline(r frame.Region, c color.RGBA) {
	box := image.Rect(
		s.area.Min.X+int(float64(r.X)*s.sx), s.area.Min.Y+int(float64(r.Y)*s.sy),
		s.area.Min.X+int(math.Ceil(float64(r.X+r.Width)*s.sx)), s.area.Min.Y+int(math.Ceil(float64(r.Y+r.Height)*s.sy)),
	)
	wide := max(2, s.px(3))
	border(s.img, box.Inset(-wide-max(1, s.px(1))), max(1, s.px(1)), rgb(0x000000), s.area.Inset(-wide-1))
	border(s.img, box.Inset(-wide), wide, c, s.area.Inset(-wide-1))
}

// border paints the frame of a rectangle, so many pixels wide inwards, as far as it lies within.
func border(dst *image.RGBA, r image.Rectangle, wide int, c color.RGBA, within image.Rectangle) {
	for _, side := range []image.Rectangle{
		image.Rect(r.Min.X, r.Min.Y, r.Max.X, r.Min.Y+wide), image.Rect(r.Min.X, r.Max.Y-wide, r.Max.X, r.Max.Y),
		image.Rect(r.Min.X, r.Min.Y, r.Min.X+wide, r.Max.Y), image.Rect(r.Max.X-wide, r.Min.Y, r.Max.X, r.Max.Y),
	} {
		fill(dst, side.Intersect(within), c)
	}
}

// row marks the line above row y: dashes over the content or the evidence's region, arrows and the
// number beside it.
func (s *evidenceSheet) row(y int, e analyze.Evidence, c color.RGBA) {
	at := s.area.Min.Y + int(math.Round(float64(y)*s.sy))
	from, to := s.area.Min.X, s.area.Max.X
	if r, ok := regionOf(e); ok {
		from, to = s.area.Min.X+int(float64(r.X)*s.sx), s.area.Min.X+int(math.Ceil(float64(r.X+r.Width)*s.sx))
	}
	dash := s.px(14)
	for x := from; x < to; x += dash + s.px(8) {
		line := image.Rect(x, at-1, min(x+dash, to), at+1)
		fill(s.img, line.Inset(-1), rgb(0x000000))
		fill(s.img, line, c)
	}
	arrow := s.px(9)
	triangle(s.img, image.Pt(s.area.Min.X-s.px(3), at), -arrow, c)
	triangle(s.img, image.Pt(s.area.Max.X+s.px(3), at), arrow, c)
	s.tag(at, rowText(y), c)
}

// tag writes into the left margin, unless another one stands there.
func (s *evidenceSheet) tag(at int, text string, c color.RGBA) {
	if slices.ContainsFunc(s.tags, func(other int) bool { return max(at-other, other-at) < s.fonts.label.height }) {
		return
	}
	s.tags = append(s.tags, at)
	s.fonts.label.drawRight(s.img, s.area.Min.X-s.px(18), at+s.fonts.label.ascent/2, text, c)
}

// triangle paints one with its tip at p. Its base is size pixels to the right, or to the left if
// negative.
func triangle(dst *image.RGBA, p image.Point, size int, c color.RGBA) {
	step := 1
	if size < 0 {
		step, size = -1, -size
	}
	for i := range size {
		x := p.X + step*i
		half := (i + 1) * 2 / 3
		fill(dst, image.Rect(x, p.Y-half, x+1, p.Y+half+1), c)
	}
}

// texts are what the evidence says, each once.
func texts(all []analyze.Evidence) []string {
	var lines []string
	for _, e := range all {
		line := e.Kind
		if e.Text != "" {
			line += ": " + e.Text
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func (s *evidenceSheet) caption(all []analyze.Evidence, o EvidenceOptions) {
	title := o.Caption
	if title == "" {
		title = fmt.Sprintf("Frame %d", all[0].Frame)
	}
	left := min(s.area.Min.X, s.px(20))
	room := s.img.Rect.Dx() - left - s.px(12)
	y := s.area.Max.Y + s.px(30)
	s.fonts.title.draw(s.img, left, y, s.fonts.title.fit(title, room), inkText())
	lines := texts(all)
	if len(lines) > maxLines {
		lines = append(lines[:maxLines-1:maxLines-1], fmt.Sprintf("and %d more", len(lines)-maxLines+1))
	}
	for _, line := range lines {
		y += s.px(22)
		s.fonts.label.draw(s.img, left, y, s.fonts.label.fit(line, room), inkMuted())
	}
}
