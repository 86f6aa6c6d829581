package recorder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/raw"
	"github.com/eideticker/eideticker/codec/recording"
)

// Metadata of a recording that was edited, in pixels of its own frames.
const (
	// {"colour": "#808080", "regions": ["WxH+X+Y", …]}: regions painted over in every frame
	redactMetadata = "redact"
	// {"region": "WxH+X+Y"}: its frames' place in those of the recording that it was cut from
	cropMetadata = "crop"
)

// redactGrey is red, green and blue of redacted areas: mid grey, which fits every format and range.
const redactGrey = 0x80

// Edit is what a copy does to its frames: it paints regions over, then cuts one out. The zero value
// does nothing.
type Edit struct {
	Redact []frame.Region // painted over; NewEdit widens them to whole blocks of pixels that share their chroma
	Cut    *frame.Region  // all that is left; NewEdit shrinks it to whole blocks; nil for all
}

// NewEdit fits an edit to the segments of its frames. Regions are in pixels of those frames and
// must be inside every one. Otherwise the error wraps frame.ErrRegion.
func NewEdit(segments []frame.Segment, redact []frame.Region, cut *frame.Region) (Edit, error) {
	var e Edit
	if len(segments) == 0 {
		return e, nil
	}
	for _, r := range redact {
		wide, err := widen(segments, r)
		if err != nil {
			return Edit{}, err
		}
		e.Redact = append(e.Redact, wide)
	}
	if cut == nil {
		return e, nil
	}
	for _, s := range segments {
		c, err := s.Layout.NewCrop(*cut)
		if err != nil {
			return Edit{}, fmt.Errorf("frames %d:%d: %w", s.First, s.First+s.Frames, err)
		}
		if e.Cut != nil && c.Region != *e.Cut {
			return Edit{}, fmt.Errorf(
				"%w %v: its whole blocks of chroma are %v, and %v from frame %d on; use even numbers, or other frames",
				frame.ErrRegion, *cut, *e.Cut, c.Region, s.First)
		}
		e.Cut = &c.Region
	}
	return e, nil
}

// widen grows a region until no pixel in it shares its chroma with one outside, in any of the
// segments. Where the largest picture ends, the region ends.
func widen(segments []frame.Segment, r frame.Region) (frame.Region, error) {
	block, width, height := [2]int{1, 1}, 0, 0
	for _, s := range segments {
		f := s.Layout.Format
		if !r.In(f.Width, f.Height) {
			return r, fmt.Errorf("%w %v: frames %d:%d are %dx%d: choose a region within all of the frames",
				frame.ErrRegion, r, s.First, s.First+s.Frames, f.Width, f.Height)
		}
		x, y := chromaBlock(f.Pixel)
		block = [2]int{max(block[0], x), max(block[1], y)}
		width, height = max(width, f.Width), max(height, f.Height)
	}
	x, y := r.X/block[0]*block[0], r.Y/block[1]*block[1]
	right := min(width, (r.X+r.Width+block[0]-1)/block[0]*block[0])
	bottom := min(height, (r.Y+r.Height+block[1]-1)/block[1]*block[1])
	return frame.Region{X: x, Y: y, Width: right - x, Height: bottom - y}, nil
}

// chromaBlock returns how many pixels beside and below each other share a chroma sample.
func chromaBlock(p frame.PixelFormat) (x, y int) {
	switch p.Subsampling() {
	case "4:2:0":
		return 2, 2
	case "4:2:2":
		return 2, 1
	}
	return 1, 1
}

// inside returns the part of a region that is inside a picture of the given size. It may be empty.
func inside(r frame.Region, width, height int) frame.Region {
	x, y := max(r.X, 0), max(r.Y, 0)
	return frame.Region{X: x, Y: y, Width: max(min(r.X+r.Width, width)-x, 0),
		Height: max(min(r.Y+r.Height, height)-y, 0)}
}

// Editor carries out an edit on frames of one layout. It belongs to one goroutine.
type Editor struct {
	Layout *frame.Layout // layout of the edited frames

	pix     []byte      // a frame of its own, where something is painted over
	view    frame.Image // of pix
	patches []patch
	cut     *frame.Crop
}

// patch is a region and its new content.
type patch struct {
	crop *frame.Crop
	grey frame.Image
}

// For prepares the edit for frames of a layout that NewEdit was given.
func (e Edit) For(l *frame.Layout) (*Editor, error) {
	d := &Editor{Layout: l}
	for _, r := range e.Redact {
		p, err := newPatch(l, inside(r, l.Format.Width, l.Format.Height))
		if err != nil {
			return nil, err
		}
		d.patches = append(d.patches, p)
	}
	if len(d.patches) > 0 {
		d.pix = make([]byte, l.Size)
		d.view = l.View(d.pix)
	}
	if e.Cut != nil {
		var err error
		if d.cut, err = l.NewCrop(*e.Cut); err != nil {
			return nil, err
		}
		d.Layout = d.cut.Layout
	}
	return d, nil
}

func newPatch(l *frame.Layout, r frame.Region) (patch, error) {
	crop, err := l.NewCrop(r)
	if err != nil {
		return patch{}, err
	}
	f := crop.Layout.Format
	grey := make([]byte, crop.Layout.Size)
	frame.NewPacker(crop.Layout).BGRX(grey, bytes.Repeat([]byte{redactGrey}, f.Width*f.Height*4))
	return patch{crop, crop.Layout.View(grey)}, nil
}

// Image returns the edited picture, valid until the next call. What it is given is not changed.
//
// Where anything is painted over, padding becomes 0 too: a card may leave there what it had in its
// memory.
func (d *Editor) Image(m frame.Image) frame.Image {
	if len(d.patches) > 0 {
		m.CopyTo(d.pix)
		m = d.view
		for i := range m.Rows {
			clear(m.Rows[i][m.Layout.Rows[i].Seen:])
		}
		for _, p := range d.patches {
			for y, row := range p.crop.Image(m).Rows {
				copy(row, p.grey.Rows[y])
			}
		}
	}
	if d.cut != nil {
		return d.cut.Image(m)
	}
	return m
}

// metadata returns what the copy of a recording with the given metadata says of itself.
func (e Edit) metadata(old []recording.Metadata, trimmed bool) ([]recording.Metadata, error) {
	var redacted redactJSON
	var cropped cropJSON
	var kept []recording.Metadata
	for _, m := range old {
		switch {
		// Another program's value of these names says nothing to us, and is replaced or kept like
		// any other.
		case m.Name == redactMetadata && len(e.Redact) > 0, m.Name == redactMetadata && e.Cut != nil:
			_ = json.Unmarshal(m.Value, &redacted)
		case m.Name == cropMetadata && e.Cut != nil:
			_ = json.Unmarshal(m.Value, &cropped)
		case m.Name == raw.HeaderMetadata && !e.keepsHeader(m.Value, trimmed):
		default:
			kept = append(kept, m)
		}
	}
	regions := append(parseRegions(redacted.Regions), e.Redact...)
	if e.Cut != nil {
		at := *e.Cut
		for _, before := range parseRegions([]string{cropped.Region}) {
			at.X, at.Y = at.X+before.X, at.Y+before.Y
		}
		var err error
		if kept, err = appendJSON(kept, cropMetadata, cropJSON{at.String()}); err != nil {
			return nil, err
		}
		regions = moved(regions, *e.Cut)
	}
	if len(regions) == 0 {
		return kept, nil
	}
	said := redactJSON{Colour: fmt.Sprintf("#%02[1]x%02[1]x%02[1]x", redactGrey)}
	for _, r := range regions {
		said.Regions = append(said.Regions, r.String())
	}
	return appendJSON(kept, redactMetadata, said)
}

type redactJSON struct {
	Colour  string   `json:"colour"`
	Regions []string `json:"regions"`
}

type cropJSON struct {
	Region string `json:"region"`
}

// keepsHeader reports whether the lines of a Y4M stream still fit: the first tells the size, the
// others belong to frames counted from the first.
func (e Edit) keepsHeader(value json.RawMessage, trimmed bool) bool {
	var header string
	return e.Cut == nil && (!trimmed || json.Unmarshal(value, &header) == nil && !strings.Contains(header, "\n"))
}

func appendJSON(to []recording.Metadata, name string, v any) ([]recording.Metadata, error) {
	value, err := json.Marshal(v)
	return append(to, recording.Metadata{Name: name, Value: value}), err
}

// parseRegions reads those that can be read.
func parseRegions(texts []string) []frame.Region {
	var all []frame.Region
	for _, s := range texts {
		if r, err := frame.ParseRegion(s); err == nil {
			all = append(all, r)
		}
	}
	return all
}

// moved returns the parts of regions inside the cut, in the cut's pixels.
func moved(regions []frame.Region, cut frame.Region) []frame.Region {
	var all []frame.Region
	for _, r := range regions {
		r.X, r.Y = r.X-cut.X, r.Y-cut.Y
		if r = inside(r, cut.Width, cut.Height); r.Width > 0 && r.Height > 0 {
			all = append(all, r)
		}
	}
	return all
}
