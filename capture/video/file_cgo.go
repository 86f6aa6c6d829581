//go:build cgo

package video

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"gocv.io/x/gocv"
)

// Properties that gocv v0.31.0 has no names for (opencv2/videoio.hpp).
const (
	orientationMeta gocv.VideoCaptureProperties = 48
	orientationAuto gocv.VideoCaptureProperties = 49
)

// file is a video file. One frame is always decoded ahead, so that the last one is known for what it is.
type file struct {
	info      capture.Info
	video     *gocv.VideoCapture // nil after Close
	now, next gocv.Mat
	position  float64 // of now, in milliseconds
	ending    ending
	times     fileTimes
	frames    float64 // that there should be, says the container, or 0
	fps       float64
	stamps    *stamps
}

var _ capture.Source = (*file)(nil)

func openFile(path string) (capture.Source, error) {
	fail := func(format string, args ...any) (capture.Source, error) {
		return nil, fmt.Errorf("video:%s: "+format, append([]any{path}, args...)...)
	}
	f := &file{info: capture.Info{URI: "video:" + path, OwnClock: true}}
	var err error
	if f.ending, err = inspect(path); err != nil {
		return fail("%w", err)
	}
	// FFmpeg takes "name:" at the beginning for a protocol. An absolute path has none.
	absolute, err := filepath.Abs(path)
	if err != nil {
		return fail("%w", err)
	}
	hush()
	v, err := gocv.OpenVideoCaptureWithAPI(absolute, gocv.VideoCaptureFFmpeg)
	if err != nil {
		if v != nil {
			v.Close()
		}
		if f.ending.cut != "" {
			return fail("the file is cut short, and what is left can't be decoded: %s: %w", f.ending.cut, io.ErrUnexpectedEOF)
		}
		return fail("no video that can be decoded: FFmpeg does not know the format, or the file is empty or damaged")
	}
	f.times = readTimes(absolute)
	f.video, f.now, f.next = v, gocv.NewMat(), gocv.NewMat()
	if err := f.start(); err != nil {
		f.Close()
		return fail("%w", err)
	}
	return f, nil
}

// inspect looks at a file's structure.
func inspect(path string) (ending, error) {
	f, err := os.Open(path)
	if err != nil {
		return ending{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return ending{}, err
	}
	return cutShort(f, st.Size()), nil
}

// start decodes the first frame, and settles on its format.
func (f *file) start() error {
	v := f.video
	v.Set(orientationAuto, 0)
	width, height := v.Get(gocv.VideoCaptureFrameWidth), v.Get(gocv.VideoCaptureFrameHeight)
	if !(width >= 1 && height >= 1 && width <= frame.MaxSide && height <= frame.MaxSide) {
		return fmt.Errorf("frames of %gx%g can't be recorded", width, height)
	}
	var err error
	if f.info.Format, err = frame.NewFormat(frame.BGR3, int(width), int(height)); err != nil {
		return err
	}
	f.fps = v.Get(gocv.VideoCaptureFPS)
	f.frames = max(0, v.Get(gocv.VideoCaptureFrameCount))
	f.stamps = newStamps(f.times.times, f.fps)
	value, err := json.Marshal(map[string]any{
		"codec":    strings.ToValidUTF8(strings.TrimRight(v.CodecString(), "\x00"), "?"),
		"fps":      finite(f.fps),
		"frames":   finite(f.frames),
		"rotation": finite(v.Get(orientationMeta)),
	})
	if err != nil {
		return err
	}
	f.info.Metadata = []capture.Metadata{{Name: FileMetadata, Value: value}}
	if !v.Read(&f.now) {
		if f.ending.cut != "" {
			return fmt.Errorf("the file is cut short before its first frame: %s: %w", f.ending.cut, io.ErrUnexpectedEOF)
		}
		return errors.New("no frame of it can be decoded")
	}
	f.position = v.Get(gocv.VideoCapturePosMsec)
	return nil
}

func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

func (f *file) Info() capture.Info { return f.info }

// Close gives up the decoder.
func (f *file) Close() error {
	if f.video == nil {
		return nil
	}
	v := f.video
	f.video = nil
	return errors.Join(v.Close(), f.now.Close(), f.next.Close())
}

// Run delivers every frame there is.
func (f *file) Run(ctx context.Context, ring *capture.Ring, events func(timeline.Event)) error {
	if f.video == nil {
		return fmt.Errorf("%s: %w", f.info.URI, os.ErrClosed)
	}
	if err := f.info.Fits(ring); err != nil {
		return err
	}
	for n := uint64(0); ; n++ {
		at, err := f.stamps.next(f.position)
		if err != nil {
			return fmt.Errorf("%s: frame %d: %w", f.info.URI, n, err)
		}
		more := f.video.Read(&f.next)
		position := f.video.Get(gocv.VideoCapturePosMsec)
		if f.isHalf(at, more) {
			return f.end(n, at, events)
		}
		if err := f.deliver(ctx, ring, n, at); err != nil {
			return capture.UnlessEnded(ctx, err)
		}
		if !more {
			return f.end(n+1, at, events)
		}
		f.now, f.next, f.position = f.next, f.now, position
	}
}

// isHalf reports whether a frame may be the one that the end of a cut file goes through: the decoder makes up the
// rest of it, and it is the one that stands last in the file.
func (f *file) isHalf(at timeline.Time, more bool) bool {
	switch {
	case f.ending.cut == "":
		return false
	case len(f.times.times) > 0:
		return at >= f.times.last
	}
	return !more
}

func (f *file) deliver(ctx context.Context, ring *capture.Ring, n uint64, at timeline.Time) error {
	format := f.info.Format
	if f.now.Cols() != format.Width || f.now.Rows() != format.Height || f.now.Type() != gocv.MatTypeCV8UC3 {
		return fmt.Errorf("%s: frame %d is %dx%d (type %v) and those before are %dx%d; a recording of a file has one size: cut the file there", f.info.URI, n, f.now.Cols(), f.now.Rows(), f.now.Type(), format.Width, format.Height)
	}
	pix, err := f.now.DataPtrUint8()
	if err != nil {
		return fmt.Errorf("%s: frame %d: %w", f.info.URI, n, err)
	}
	slot, err := ring.Acquire(ctx)
	if err != nil {
		return err
	}
	slot.Commit(copy(slot.Bytes(), pix), frame.Meta{Sequence: n, Sampled: timeline.At(at)})
	return nil
}

// end says whether that was all, given how many frames were delivered and the time of the last.
func (f *file) end(n uint64, last timeline.Time, events func(timeline.Event)) error {
	tell := func(kind, what string, count uint64) {
		if count > 0 && events != nil {
			events(timeline.Event{At: last, Source: "video", Kind: kind, Data: json.RawMessage(fmt.Sprintf(`{"%s":%d}`, what, count))})
		}
	}
	tell("times made up", "frames", f.stamps.made)
	if packets := uint64(len(f.times.times)); f.ending.cut == "" && packets > n {
		tell("packets without a frame", "packets", packets-n)
	}
	of := ""
	if f.frames >= float64(n) && f.frames < 1<<40 {
		of = fmt.Sprintf(" of about %.0f", f.frames)
	}
	if f.ending.cut != "" {
		return fmt.Errorf("%s: the file is cut short: %s; %d frames%s were delivered: %w", f.info.URI, f.ending.cut, n, of, io.ErrUnexpectedEOF)
	}
	if f.ending.whole {
		return nil
	}
	// Nothing is known about the container. Its length may be that of the sound, or a guess.
	if missing := f.frames - float64(n); f.fps > 0 && missing > 0 {
		rest := time.Duration((f.frames/f.fps - time.Duration(last).Seconds()) * float64(time.Second))
		if rest > f.stamps.longest+500*time.Millisecond {
			return fmt.Errorf("%s: the file seems to be cut short: %d frames%s were delivered, and %v are missing at the end: %w", f.info.URI, n, of, rest.Round(time.Millisecond), io.ErrUnexpectedEOF)
		}
	}
	return nil
}
