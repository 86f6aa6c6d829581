//go:build cgo

package render

import (
	"errors"
	"fmt"
	"image"
	"os"

	"gocv.io/x/gocv"

	"github.com/eideticker/eideticker/capture/frame"
)

const (
	codec = "avc1" // H.264 in MP4, 4:2:0: what every browser plays
	// maxHatched is how many slots one hole gets: ten seconds at 60 a second.
	maxHatched = 600
)

// ErrEncoder is wrapped where OpenCV has no H.264 encoder.
var ErrEncoder = errors.New("OpenCV cannot write H.264 here: it lacks its FFmpeg backend or libx264 (apt-get install libopencv-dev libavcodec59)")

// Video is an MP4 in the making.
type Video struct {
	path   string
	layout *frame.Layout
	conv   *frame.Converter
	writer *gocv.VideoWriter
	in     gocv.Mat // a frame at its own size
	out    gocv.Mat // the same at the video's size; unused if they are equal
	hatch  gocv.Mat
	pix    []byte // in's memory
	scaled bool
	m      Map
	err    error // the first that happened; sticky
	closed bool
}

// NewVideo begins a video of frames of one layout; path ends in .mp4. An existing file is overwritten.
func NewVideo(path string, l *frame.Layout, o VideoOptions) (*Video, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	// OpenCV does not say why it cannot open a file, so that is found out first.
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("make video: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("make video: %w", err)
	}
	in, out := o.sizes(l.Format)
	writer, err := gocv.VideoWriterFile(path, codec, float64(o.RateNum)/float64(o.RateDen), out.X, out.Y, true)
	if err != nil {
		return nil, fmt.Errorf("make video: %w", err)
	}
	if !writer.IsOpened() {
		_ = writer.Close()
		_ = os.Remove(path)
		return nil, fmt.Errorf("make video %s: %w", path, ErrEncoder)
	}
	v := &Video{
		path: path, layout: l, conv: frame.NewConverter(l), writer: writer, scaled: in != out,
		in:    gocv.NewMatWithSize(in.Y, in.X, gocv.MatTypeCV8UC3),
		out:   gocv.NewMatWithSize(out.Y, out.X, gocv.MatTypeCV8UC3),
		hatch: gocv.NewMatWithSize(out.Y, out.X, gocv.MatTypeCV8UC3),
		m: Map{
			Version: MapVersion, Width: out.X, Height: out.Y, RateNum: o.RateNum, RateDen: o.RateDen,
			Slots: []Slot{}, Cuts: []Cut{},
		},
	}
	if v.err = v.prepare(out); v.err != nil {
		return nil, errors.Join(v.err, v.Close())
	}
	return v, nil
}

// prepare clears the line that makes a size even, and draws the hatching.
func (v *Video) prepare(out image.Point) error {
	var err error
	if v.pix, err = v.in.DataPtrUint8(); err != nil {
		return fmt.Errorf("make video: %w", err)
	}
	clear(v.pix)
	pix, err := v.hatch.DataPtrUint8()
	if err != nil {
		return fmt.Errorf("make video: %w", err)
	}
	hatch(pix, out)
	return nil
}

// Add appends a frame. Where s.Sequence leaves out numbers after that of the frame before, hatched slots
// come first.
func (v *Video) Add(img frame.Image, s Slot) error {
	if v.closed {
		return fmt.Errorf("make video: %w", os.ErrClosed)
	}
	if v.err != nil {
		return v.err
	}
	if img.Layout.Format != v.layout.Format {
		return fmt.Errorf("make video of %v: frame %d is %v", v.layout.Format, s.Frame, img.Layout.Format)
	}
	v.fillHole(s.Sequence)
	f := v.layout.Format
	stride := 3 * v.in.Cols()
	for y := range f.Height {
		v.conv.BGRRow(v.pix[y*stride:y*stride+3*f.Width], img, y, 0, f.Width)
	}
	if !v.scaled {
		v.write(v.in, s)
		return v.err
	}
	gocv.Resize(v.in, &v.out, image.Pt(v.m.Width, v.m.Height), 0, 0, gocv.InterpolationArea)
	v.write(v.out, s)
	return v.err
}

// fillHole writes hatched slots for the frames missing before sequence number next.
func (v *Video) fillHole(next uint64) {
	if len(v.m.Slots) == 0 {
		return
	}
	last := v.m.Slots[len(v.m.Slots)-1].Sequence
	if next <= last+1 {
		return
	}
	missing := next - last - 1
	for i := range min(missing, maxHatched) {
		v.write(v.hatch, Slot{Frame: -1, Sequence: last + 1 + i})
	}
	if missing > maxHatched {
		v.m.Cuts = append(v.m.Cuts, Cut{Slot: len(v.m.Slots), Skipped: missing - maxHatched})
	}
}

func (v *Video) write(m gocv.Mat, s Slot) {
	if v.err != nil {
		return
	}
	if err := v.writer.Write(m); err != nil {
		v.err = fmt.Errorf("make video: %w", err)
		return
	}
	v.m.Slots = append(v.m.Slots, s)
}

// Slots returns how many slots the video has so far.
func (v *Video) Slots() int { return len(v.m.Slots) }

// Close finishes the video and writes its map beside it. A video without frames, or one that could
// not be written, is removed. Close is idempotent.
func (v *Video) Close() error {
	if v.closed {
		return v.err
	}
	v.closed = true
	if err := v.writer.Close(); err != nil && v.err == nil {
		v.err = fmt.Errorf("make video: %w", err)
	}
	for _, m := range []*gocv.Mat{&v.in, &v.out, &v.hatch} {
		_ = m.Close() // frees memory; cannot fail
	}
	v.pix = nil
	if v.err == nil {
		v.err = v.check()
	}
	if v.err == nil {
		v.err = v.m.write(v.path + ".json")
	}
	if v.err != nil {
		_ = os.Remove(v.path)
	}
	return v.err
}

// check counts the frames in the file, because OpenCV does not tell when a write fails.
func (v *Video) check() error {
	if len(v.m.Slots) == 0 {
		return fmt.Errorf("make video %s: no frames", v.path)
	}
	whole, err := v.whole()
	if err != nil {
		return fmt.Errorf("make video: %w", err)
	}
	if !whole {
		return fmt.Errorf("make video %s: the file was not written to its end, is the disk full?", v.path)
	}
	c, err := gocv.OpenVideoCaptureWithAPI(v.path, gocv.VideoCaptureFFmpeg)
	if err != nil {
		return fmt.Errorf("make video %s: the file cannot be read back, is the disk full? %w", v.path, err)
	}
	defer c.Close()
	if n := int(c.Get(gocv.VideoCaptureFrameCount)); n != len(v.m.Slots) {
		return fmt.Errorf("make video %s: %d of %d frames are in the file, is the disk full?", v.path, n, len(v.m.Slots))
	}
	return nil
}

// whole reports whether the file has all its parts.
func (v *Video) whole() (bool, error) {
	f, err := os.Open(v.path)
	if err != nil {
		return false, err
	}
	defer f.Close() // was only read
	st, err := f.Stat()
	if err != nil {
		return false, err
	}
	return hasIndex(f, st.Size()), nil
}
