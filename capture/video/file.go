package video

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/capture/video/media"
)

// maxFrames bounds how many frame times are kept: nine days at 60 Hz.
const maxFrames = 1 << 26

// file is a video file that eideticker-media decodes.
type file struct {
	info   capture.Info
	media  *media.Process  // nil after Close
	next   media.FrameHead // its pixels, if it has any, are what media sends next
	ending ending
	times  fileTimes
	frames float64 // that there should be, says the container, or 0
	fps    float64
	stamps *stamps
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
	f.media, err = media.Start(media.Decode, media.DecodeJob{Path: absolute})
	if err == nil {
		if err = f.start(); err != nil {
			err = errors.Join(err, f.Close())
		}
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return fail("%w; or convert the file with ffmpeg to .y4m or to a folder of pictures", err)
	}
	if err != nil {
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

// start reads all that comes before the first frame, and settles on its format.
func (f *file) start() error {
	if _, _, err := f.media.Answer(media.Info); err != nil {
		return err
	}
	var d media.Decoding
	if err := f.media.ReadJSON(&d); err != nil {
		return err
	}
	if !d.Opened {
		if f.ending.cut != "" {
			return fmt.Errorf("the file is truncated, and the rest cannot be decoded: %s: %w", f.ending.cut,
				io.ErrUnexpectedEOF)
		}
		return errors.New("no decodable video: unknown format, or an empty or damaged file")
	}
	if !(d.Width >= 1 && d.Height >= 1 && d.Width <= frame.MaxSide && d.Height <= frame.MaxSide) {
		return fmt.Errorf("frames of %gx%g cannot be recorded", d.Width, d.Height)
	}
	var err error
	if f.info.Format, err = frame.NewFormat(frame.BGR3, int(d.Width), int(d.Height)); err != nil {
		return err
	}
	if err := f.readTimes(d); err != nil {
		return err
	}
	f.fps, f.frames = d.FPS, max(0, d.Frames)
	f.stamps = newStamps(f.times.times, f.fps)
	value, err := json.Marshal(map[string]any{"codec": d.Codec, "fps": d.FPS, "frames": f.frames,
		"rotation": d.Rotation})
	if err != nil {
		return err
	}
	f.info.Metadata = []capture.Metadata{{Name: fileMetadata, Value: value}}
	switch more, err := f.advance(); {
	case err != nil:
		return err
	case !more && f.ending.cut != "":
		return fmt.Errorf("the file is truncated before its first frame: %s: %w", f.ending.cut, io.ErrUnexpectedEOF)
	case !more:
		return errors.New("no frame can be decoded")
	}
	return nil
}

func (f *file) readTimes(d media.Decoding) error {
	if d.Ticks < 0 || d.Ticks > maxFrames || d.Ticks > 0 && (d.BaseNum < 1 || d.BaseDen < 1) {
		return fmt.Errorf("%d times in units of %d/%d s", d.Ticks, d.BaseNum, d.BaseDen)
	}
	var ticks []int64
	for int64(len(ticks)) < d.Ticks {
		_, length, err := f.media.Answer(media.Times)
		if err != nil {
			return err
		}
		if n := length / 8; n < 1 || n > min(media.MaxTicks, d.Ticks-int64(len(ticks))) {
			return fmt.Errorf("%d times of %d follow %d", n, d.Ticks, len(ticks))
		}
		part := make([]byte, length)
		if err := f.media.Read(part); err != nil {
			return err
		}
		for ; len(part) >= 8; part = part[8:] {
			ticks = append(ticks, int64(binary.LittleEndian.Uint64(part)))
		}
	}
	f.times = newFileTimes(ticks, d.BaseNum, d.BaseDen)
	return nil
}

// advance reads the head of the next frame, and reports whether there is one.
func (f *file) advance() (bool, error) {
	kind, _, err := f.media.Answer(media.Frame, media.End)
	if err != nil || kind == media.End {
		return false, err
	}
	return true, f.media.ReadHead(&f.next)
}

func (f *file) Info() capture.Info { return f.info }

// Close ends the decoder.
func (f *file) Close() error {
	if f.media == nil {
		return nil
	}
	m := f.media
	f.media = nil
	return m.Close()
}

// Run delivers every frame there is.
func (f *file) Run(ctx context.Context, ring *capture.Ring, events func(timeline.Event)) error {
	if f.media == nil {
		return fmt.Errorf("%s: %w", f.info.URI, os.ErrClosed)
	}
	if err := f.info.Fits(ring); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, f.media.Kill)() // a damaged file may keep it busy for long
	for n := uint64(0); ; n++ {
		at, err := f.stamps.next(f.next.Position)
		if err != nil {
			return fmt.Errorf("%s: frame %d: %w", f.info.URI, n, err)
		}
		more := f.next.More
		if f.isHalf(at, more) {
			return f.end(n, at, events)
		}
		if err := f.deliver(ctx, ring, n, at); ctx.Err() != nil {
			return nil
		} else if err != nil {
			return err
		}
		if !more {
			return f.end(n+1, at, events)
		}
		if more, err = f.advance(); err == nil && !more {
			err = errors.New("a frame is missing")
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("%s: frame %d: %w", f.info.URI, n+1, err)
		}
	}
}

// isHalf reports whether a frame may be the one that the end of a cut file goes through: the
// decoder makes up the rest of it, and it is the one that stands last in the file.
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
	if int64(f.next.Width) != int64(format.Width) || int64(f.next.Height) != int64(format.Height) ||
		f.media.Rest() != int64(format.Size()) {
		return fmt.Errorf("%s: frame %d is %dx%d (%d bytes), earlier ones are %dx%d; split the file there",
			f.info.URI, n, f.next.Width, f.next.Height, f.media.Rest(), format.Width, format.Height)
	}
	slot, err := ring.Acquire(ctx)
	if err != nil {
		return err
	}
	if err := f.media.Read(slot.Bytes()[:format.Size()]); err != nil {
		slot.Abandon()
		return fmt.Errorf("%s: frame %d: %w", f.info.URI, n, f.media.Failed(err))
	}
	slot.Commit(format.Size(), frame.Meta{Sequence: n, Sampled: timeline.At(at)})
	return nil
}

// end says whether that was all, given how many frames were delivered and the time of the last.
func (f *file) end(n uint64, last timeline.Time, events func(timeline.Event)) error {
	tell := func(kind, what string, count uint64) {
		if count > 0 && events != nil {
			events(timeline.Event{At: last, Source: "video", Kind: kind,
				Data: json.RawMessage(fmt.Sprintf(`{"%s":%d}`, what, count))})
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
		return fmt.Errorf("%s: the file is truncated: %s; %d frames%s were delivered: %w", f.info.URI, f.ending.cut, n,
			of, io.ErrUnexpectedEOF)
	}
	if f.ending.whole {
		return nil
	}
	// Nothing is known about the container. Its length may be that of the sound, or a guess.
	if missing := f.frames - float64(n); f.fps > 0 && missing > 0 {
		rest := time.Duration((f.frames/f.fps - time.Duration(last).Seconds()) * float64(time.Second))
		if rest > f.stamps.longest+500*time.Millisecond {
			return fmt.Errorf("%s: the file seems truncated: %d frames%s were delivered, and %v are missing: %w",
				f.info.URI, n, of, rest.Round(time.Millisecond), io.ErrUnexpectedEOF)
		}
	}
	return nil
}
