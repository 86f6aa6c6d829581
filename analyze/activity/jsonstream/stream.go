// Package jsonstream reads JSON documents that are larger than memory.
//
// A [Stream] descends into large objects and arrays. It takes small values as bytes. Functions such
// as [Fields] and [Text] read these. It accepts some invalid documents. It never
// keeps more than one value.
package jsonstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxValue bounds a value that is taken whole, in bytes.
const maxValue = 16 << 20

const (
	firstBuffer = 256 << 10
	maxNesting  = 64 // of Object and Array
)

// ErrLong reports a value of more than [maxValue] bytes. The stream is after it.
var ErrLong = fmt.Errorf("JSON value has more than %d MiB", maxValue>>20)

// Stream is a place in a document.
type Stream struct {
	from     io.Reader
	buffer   []byte
	at, end  int   // of the bytes that were not taken
	consumed int64 // bytes before the buffer
	nesting  int
	failed   error
}

// New returns a stream at the document's begin.
func New(from io.Reader) *Stream { return &Stream{from: from, buffer: make([]byte, firstBuffer)} }

// Offset returns the number of bytes that were taken.
func (s *Stream) Offset() int64 { return s.consumed + int64(s.at) }

// fill reads more bytes behind those from keep on, and returns how far they moved to the front.
func (s *Stream) fill(keep int) (moved int, err error) {
	if s.failed != nil {
		return 0, s.failed
	}
	if keep > 0 {
		copy(s.buffer, s.buffer[keep:s.end])
		s.at, s.end, s.consumed = s.at-keep, s.end-keep, s.consumed+int64(keep)
	}
	if s.end == len(s.buffer) {
		s.buffer = append(s.buffer, make([]byte, len(s.buffer))...)
	}
	for range 100 {
		n, err := s.from.Read(s.buffer[s.end:])
		s.end += n
		if err != nil {
			if s.failed = err; errors.Is(err, io.EOF) {
				s.failed = io.ErrUnexpectedEOF
			}
		}
		if n > 0 {
			return keep, nil
		}
		if err != nil {
			return keep, s.failed
		}
	}
	s.failed = io.ErrNoProgress
	return keep, s.failed
}

// Peek returns the first byte of the next value, or of the end of an object or array.
func (s *Stream) Peek() (byte, error) {
	for {
		for ; s.at < s.end; s.at++ {
			switch c := s.buffer[s.at]; c {
			case ' ', '\t', '\n', '\r':
			default:
				return c, nil
			}
		}
		if _, err := s.fill(s.at); err != nil {
			return 0, err
		}
	}
}

func (s *Stream) wrong(want string) error {
	return fmt.Errorf("JSON at byte %d: %q, want %s", s.Offset(), s.buffer[s.at], want)
}

// Object goes through the fields of the next value. The function takes each value.
func (s *Stream) Object(field func(key string) error) error {
	return s.list('{', '}', func() error {
		c, err := s.Peek()
		if err != nil {
			return err
		}
		if c != '"' {
			return s.wrong("a key")
		}
		raw, err := s.Raw()
		if err != nil {
			return err
		}
		key, _ := Text(raw)
		if c, err = s.Peek(); err != nil {
			return err
		} else if c != ':' {
			return s.wrong("a colon")
		}
		s.at++
		return field(key)
	})
}

// Array goes through the elements of the next value. The function takes each element.
func (s *Stream) Array(element func() error) error { return s.list('[', ']', element) }

func (s *Stream) list(opens, closes byte, each func() error) error {
	c, err := s.Peek()
	if err != nil {
		return err
	}
	if c != opens {
		return s.wrong(string(opens))
	}
	if s.nesting++; s.nesting > maxNesting {
		return fmt.Errorf("JSON at byte %d: over %d levels", s.Offset(), maxNesting)
	}
	s.at++
	for first := true; ; first = false {
		if c, err = s.Peek(); err != nil {
			return err
		}
		switch {
		case c == closes:
			s.at++
			s.nesting--
			return nil
		case c == ',' && !first:
			s.at++
			if c, err = s.Peek(); err != nil {
				return err
			} else if c == closes { // some writers end lists so
				continue
			}
		case !first:
			return s.wrong("a comma")
		}
		before := s.Offset()
		if err := each(); err != nil {
			return err
		}
		if s.Offset() == before {
			return s.wrong("a value that is read")
		}
	}
}

// Raw takes the next value. Its bytes are valid until the next call.
func (s *Stream) Raw() ([]byte, error) { return s.take(true) }

// Skip takes the next value of any size without keeping it.
func (s *Stream) Skip() error {
	_, err := s.take(false)
	return err
}

func (s *Stream) take(keep bool) ([]byte, error) {
	if _, err := s.Peek(); err != nil {
		return nil, err
	}
	start, long := s.at, false
	var state scan
	for i := start; ; {
		end, done := state.next(s.buffer[i:s.end])
		i += end
		if done {
			s.at = i
			switch {
			case i == start && !long && keep:
				return nil, s.wrong("a value")
			case long || keep && i-start > maxValue:
				return nil, ErrLong
			}
			return s.buffer[start:i], nil
		}
		if i-start > maxValue {
			long = keep
			keep = false
		}
		kept := i
		if keep {
			kept = start
		}
		s.at = kept
		moved, err := s.fill(kept)
		if errors.Is(err, io.ErrUnexpectedEOF) && state.plain {
			s.at = s.end // a number may end with the document
			return s.buffer[kept-moved : s.end], nil
		} else if err != nil {
			return nil, err
		}
		i -= moved
		if start -= moved; start < 0 {
			start = 0
		}
	}
}

// scan finds the end of a value in pieces.
type scan struct {
	depth  int
	text   bool // in a string
	escape bool
	begun  bool
	plain  bool // a number or a word
}

// special are the bytes that matter outside of strings.
var special = [256]bool{'"': true, '{': true, '}': true, '[': true, ']': true}

// next returns the number of bytes that belong to the value, and whether it ends there.
func (s *scan) next(b []byte) (int, bool) {
	i := 0
	if !s.begun && len(b) > 0 {
		s.begun = true
		s.plain = !special[b[0]]
	}
	if s.plain {
		for ; i < len(b); i++ {
			switch b[i] {
			case ',', ']', '}', ' ', '\n', '\r', '\t', ':':
				return i, true
			}
		}
		return i, false
	}
	for i < len(b) {
		if s.text {
			if s.escape {
				s.escape = false
				i++
				continue
			}
			n := bytes.IndexByte(b[i:], '"')
			m := n
			if m < 0 {
				m = len(b) - i
			}
			if e := bytes.IndexByte(b[i:i+m], '\\'); e >= 0 {
				i += e + 1
				s.escape = true
				continue
			}
			if n < 0 {
				return len(b), false
			}
			i += n + 1
			s.text = false
			if s.depth == 0 {
				return i, true
			}
			continue
		}
		for i < len(b) && !special[b[i]] {
			i++
		}
		if i == len(b) {
			break
		}
		switch b[i] {
		case '"':
			s.text = true
		case '{', '[':
			s.depth++
		default:
			if s.depth--; s.depth <= 0 {
				if s.depth < 0 { // the end of what surrounds it
					return i, true
				}
				return i + 1, true
			}
		}
		i++
	}
	return i, false
}
