package raw

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// HeaderMetadata names the metadata that holds a stream's own lines. NewY4MWriter takes it.
const HeaderMetadata = "y4m.header"

// frameLineEvent is the kind of the event, of source "y4m", that tells a frame's line which
// HeaderMetadata does not: {"frame": 7, "line": "FRAME Ib"}. Only pipes have them.
const frameLineEvent = "frame line"

// OpenY4M opens a Y4M file, or standard input for "-". Of a file all frame lines are read
// beforehand.
func OpenY4M(path string) (capture.Source, error) {
	in, err := openInput("y4m", path)
	if err != nil {
		return nil, err
	}
	s, err := newY4M(in)
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("%s: %w", in.uri, err)
	}
	return s, nil
}

func newY4M(in *input) (*source, error) {
	r := &y4mReader{r: bufio.NewReaderSize(in, maxLine)}
	line, err := r.line()
	if err == io.EOF {
		return nil, fmt.Errorf("offset 0: the input is empty: %w", io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, fmt.Errorf("stream header: %w", err)
	}
	header := string(line)
	h, err := parseHeader(header)
	if err != nil {
		return nil, fmt.Errorf("stream header: %w", err)
	}
	layout, err := frame.NewLayout(h.format)
	if err != nil {
		return nil, err
	}
	s := &source{
		info: capture.Info{URI: in.uri, Format: h.format, OwnClock: true, Period: h.period},
		in:   in, size: layout.Size, read: r.frame,
	}
	var lines frameLines
	if in.regular {
		s.info.Frames, err = scanFrames(in, r.at, in.size, int64(layout.Size), &lines)
	} else {
		err = r.peekLine(&lines)
	}
	if err != nil {
		return nil, err
	}
	if len(lines.runs) > 0 {
		r.usual = lines.runs[len(lines.runs)-1].line
	}
	r.known, r.period = s.info.Frames, h.period
	value, err := json.Marshal(lines.join(header))
	if err != nil {
		return nil, err
	}
	s.info.Metadata = []capture.Metadata{{Name: HeaderMetadata, Value: value}}
	return s, nil
}

// scanFrames reads the line of every frame between two offsets of a file.
func scanFrames(r io.ReaderAt, at, end, size int64, lines *frameLines) (frames uint64, err error) {
	buf := make([]byte, maxLine)
	for at < end {
		n, line := 0, -1
		for want := 64; line < 0; want = maxLine { // most lines are short
			n = int(min(int64(want), end-at))
			if m, err := r.ReadAt(buf[:n], at); m < n {
				return 0, fmt.Errorf("offset %d: read frame %d: %w", at, frames, err)
			}
			line = strings.IndexByte(string(buf[:n]), '\n')
			if line < 0 && n < want {
				return 0, fmt.Errorf("offset %d: the file ends inside the line of frame %d: %w", at, frames,
					io.ErrUnexpectedEOF)
			}
			if line < 0 && want == maxLine {
				return 0, fmt.Errorf("offset %d: the line of frame %d is longer than %d bytes", at, frames, maxLine)
			}
		}
		if err := checkLine(string(buf[:line]), frameMagic); err != nil {
			return 0, fmt.Errorf("line of frame %d, from offset %d: %w", frames, at, err)
		}
		if err := lines.add(buf[:line]); err != nil {
			return 0, fmt.Errorf("offset %d: %w", at, err)
		}
		at += int64(line) + 1
		if end-at < size {
			return 0, fmt.Errorf("offset %d: the file ends in frame %d, after %d of its %d bytes; %d whole frames: %w",
				end, frames, end-at, size, frames, io.ErrUnexpectedEOF)
		}
		at += size
		frames++
	}
	if frames == 0 {
		return 0, fmt.Errorf("offset %d: the file ends before the first frame: %w", at, io.ErrUnexpectedEOF)
	}
	return frames, nil
}

// y4mReader reads a stream from front to back.
type y4mReader struct {
	r      *bufio.Reader
	at     int64  // offset in the stream
	usual  string // the line that metadata promises
	period capture.Rational
	known  uint64 // frames whose lines metadata tells, whatever they are; 0 for pipes
}

// line returns the next line without its line feed, valid until the next read. It returns io.EOF if
// there is nothing at all.
func (r *y4mReader) line() ([]byte, error) {
	b, err := r.r.ReadSlice('\n')
	switch {
	case err == nil:
		r.at += int64(len(b))
		return b[:len(b)-1], nil
	case err == bufio.ErrBufferFull:
		return nil, fmt.Errorf("offset %d: the line is longer than %d bytes", r.at, maxLine)
	case err == io.EOF && len(b) == 0:
		return nil, io.EOF
	case err == io.EOF:
		return nil, fmt.Errorf("offset %d: the input ends inside a line: %w", r.at+int64(len(b)), io.ErrUnexpectedEOF)
	}
	return nil, fmt.Errorf("offset %d: %w", r.at, err)
}

// peekLine looks at the first frame's line without reading it. That it is broken or missing is
// found again, and told, when the frame is read.
func (r *y4mReader) peekLine(lines *frameLines) error {
	for n := len(frameMagic) + 1; n <= maxLine; n++ {
		b, err := r.r.Peek(n)
		if err != nil {
			return nil
		}
		if b[n-1] == '\n' {
			if checkLine(string(b[:n-1]), frameMagic) != nil {
				return nil
			}
			return lines.add(b[:n-1])
		}
	}
	return nil
}

func (r *y4mReader) frame(n uint64, dst []byte, events func(timeline.Event)) error {
	start := r.at
	line, err := r.line()
	if err == io.EOF {
		return err
	}
	if err != nil {
		return fmt.Errorf("line of frame %d: %w", n, err)
	}
	if string(line) != r.usual {
		if err := checkLine(string(line), frameMagic); err != nil {
			return fmt.Errorf("line of frame %d, from offset %d: %w", n, start, err)
		}
		if r.known == 0 {
			tellLine(n, timeline.Time(r.period.Duration(n)), string(line), events)
		}
	}
	if err := readFrame(r.r, n, dst); err == io.EOF {
		return fmt.Errorf("offset %d: the input ends in frame %d, after its header; %d whole frames were delivered: %w",
			r.at, n, n, io.ErrUnexpectedEOF)
	} else if err != nil {
		return fmt.Errorf("frame from offset %d: %w", start, err)
	}
	r.at += int64(len(dst))
	return nil
}

func tellLine(n uint64, at timeline.Time, line string, events func(timeline.Event)) {
	data, err := json.Marshal(struct {
		Frame uint64 `json:"frame"`
		Line  string `json:"line"`
	}{n, line})
	if err == nil && events != nil {
		events(timeline.Event{At: at, Source: "y4m", Kind: frameLineEvent, Data: data})
	}
}
