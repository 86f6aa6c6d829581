package raw

import (
	"fmt"
	"strings"
)

// frameLines are the lines before the frames of a stream, from the first frame on. The zero value
// has none.
type frameLines struct {
	runs []lineRun
	kept int // bytes that the text of all runs but the last takes
}

type lineRun struct {
	line  string
	count uint64
}

// add appends the line of the next frame.
func (l *frameLines) add(line []byte) error {
	if n := len(l.runs); n > 0 {
		last := &l.runs[n-1]
		if string(line) == last.line {
			last.count++
			return nil
		}
		if last.count > maxFrameLines {
			return tooManyLines()
		}
		l.kept += int(last.count) * (len(last.line) + 1)
	}
	if l.kept+len(line) > maxFrameLines {
		return tooManyLines()
	}
	l.runs = append(l.runs, lineRun{string(line), 1})
	return nil
}

func tooManyLines() error {
	return fmt.Errorf("the frames' parameters differ from frame to frame, and keeping them takes more than %d bytes",
		maxFrameLines)
}

// join returns the metadata for a stream; see the package's documentation.
func (l *frameLines) join(header string) string {
	if len(l.runs) == 0 || len(l.runs) == 1 && l.runs[0].line == frameMagic {
		return header
	}
	var b strings.Builder
	b.WriteString(header)
	for i, r := range l.runs {
		if i == len(l.runs)-1 {
			r.count = 1
		}
		for range r.count {
			b.WriteByte('\n')
			b.WriteString(r.line)
		}
	}
	return b.String()
}

// splitHeader is the way back from join. Every line is checked.
func splitHeader(kept string) (header string, lines []string, err error) {
	if len(kept) > maxLine+maxFrameLines {
		return "", nil, tooManyLines()
	}
	lines = strings.Split(kept, "\n")
	header, lines = lines[0], lines[1:]
	for i, line := range lines {
		if err := checkLine(line, frameMagic); err != nil {
			return "", nil, fmt.Errorf("line of frame %d: %w", i, err)
		}
	}
	if len(lines) == 0 {
		lines = []string{frameMagic}
	}
	return header, lines, nil
}
