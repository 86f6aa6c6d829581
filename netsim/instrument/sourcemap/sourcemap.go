// Package sourcemap finds places of generated programs in their sources. It also adapts a source
// map to insertions (ECMA-426). Maps are untrusted: their size and numbers are limited.
package sourcemap

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
)

// MaxBytes is the largest size of a map.
const MaxBytes = 64 << 20

const (
	maxNumber  = 1 << 30 // lines, columns and sources
	maxSources = 100_000
	maxName    = 300 // bytes
	maxRoot    = 10_000
)

// Place is a place in a text, from 1. Columns count UTF-16 code units.
type Place struct{ Line, Column int }

// Source is a place in a source. Its file is empty if the map has none. Name is that of an
// identifier which begins at the place, if the map has it. Without a name, Text is the rest of the
// line in the source, if the map has that.
type Source struct {
	File string
	Line int
	Name string
	Text string
}

// file is a source map, or an index of maps of parts.
type file struct {
	SourceRoot string    `json:"sourceRoot"`
	Sources    []*string `json:"sources"`
	Names      names     `json:"names"`
	Contents   contents  `json:"sourcesContent"`
	Mappings   string    `json:"mappings"`
	Sections   []struct {
		Offset struct{ Line, Column int }
		Map    file
	} `json:"sections"`
}

// names are those of identifiers. A list that is not one of texts has none.
type names []string

// UnmarshalJSON implements [json.Unmarshaler].
func (n *names) UnmarshalJSON(raw []byte) error {
	if all := []string(nil); json.Unmarshal(raw, &all) == nil {
		*n = all
	}
	return nil
}

// contents are the texts of sources. A list that is not one of texts and null has none.
type contents []string

// UnmarshalJSON implements [json.Unmarshaler].
func (c *contents) UnmarshalJSON(raw []byte) error { return (*names)(c).UnmarshalJSON(raw) }

// segment maps the code from a place on, up to the next segment of its line. Numbers count from 0.
type segment struct {
	line, column       int
	source, sourceLine int // source is -1 without one
	sourceColumn       int
	name               int // -1 without one
	rest               string
}

// withoutGuard removes the line that keeps browsers from running a map as a script.
func withoutGuard(data []byte) []byte {
	if bytes.HasPrefix(data, []byte(")]}'")) {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	return data
}

// Lookup returns the source of each place.
func Lookup(data []byte, places []Place) ([]Source, error) {
	if len(data) > MaxBytes {
		return nil, errors.New("read a source map: it is longer than 64 MiB")
	}
	var whole file
	if err := json.Unmarshal(withoutGuard(data), &whole); err != nil {
		return nil, fmt.Errorf("read a source map: %w", err)
	}
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(places[a].Line, places[b].Line), cmp.Compare(places[a].Column, places[b].Column))
	})
	found, last := make([]Source, len(places)), Source{}
	lastLine, lastColumn := -1, 0
	texts := texts{begins: map[*string][]int32{}}
	var content *string // of the last segment's source
	var from segment
	// until gives the last segment to all places before the next one.
	until := func(line, column int) {
		for len(order) > 0 {
			p := places[order[0]]
			if p.Line-1 > line || p.Line-1 == line && p.Column-1 >= column {
				return
			}
			if p.Line-1 == lastLine {
				found[order[0]] = Source{File: last.File, Line: last.Line}
				if p.Column-1 == lastColumn {
					if found[order[0]].Name = clean(last.Name); last.Name == "" && content != nil {
						found[order[0]].Text = texts.from(content, from.sourceLine, from.sourceColumn)
					}
				}
			}
			order = order[1:]
		}
	}
	one := func(f *file, line, column int) error {
		if len(f.Sources) > maxSources || len(f.SourceRoot) > maxRoot {
			return fmt.Errorf("it has more than %d sources, or a root of more than %d bytes", maxSources, maxRoot)
		}
		names := map[int]string{} // each segment needs one
		return walk(f.Mappings, func(s segment) error {
			if s.line == 0 {
				s.column += column
			}
			s.line += line
			if s.line < lastLine {
				return errors.New("its sections are out of order")
			}
			until(s.line, s.column)
			last, lastLine, lastColumn, content = Source{}, s.line, s.column, nil
			if s.source >= 0 && s.source < len(f.Sources) && f.Sources[s.source] != nil {
				name, known := names[s.source]
				if !known {
					name = short(*f.Sources[s.source], f.SourceRoot)
					names[s.source] = name
				}
				last = Source{File: name, Line: s.sourceLine + 1}
				if s.source < len(f.Contents) {
					content, from = &f.Contents[s.source], s
				}
				if s.name >= 0 && s.name < len(f.Names) {
					last.Name = f.Names[s.name]
				}
			}
			return nil
		})
	}
	err := one(&whole, 0, 0)
	for i := 0; i < len(whole.Sections) && err == nil; i++ {
		s := &whole.Sections[i]
		if min(s.Offset.Line, s.Offset.Column) < 0 || max(s.Offset.Line, s.Offset.Column) > maxNumber {
			err = errors.New("a section has no valid place")
			break
		}
		until(s.Offset.Line, s.Offset.Column)
		last, content = Source{}, nil
		err = one(&s.Map, s.Offset.Line, s.Offset.Column)
	}
	if err != nil {
		return nil, fmt.Errorf("read a source map: %w", err)
	}
	until(maxNumber*2, 0)
	return found, nil
}

// short returns the path of a source as people know it: webpack://app/./src/a.ts is src/a.ts.
func short(name, root string) string {
	if _, after, ok := strings.Cut(name, "://"); ok {
		_, name, _ = strings.Cut(after, "/")
	} else if root != "" && !strings.HasPrefix(name, "/") {
		return short(strings.TrimSuffix(root, "/")+"/"+name, "")
	}
	name, _, _ = strings.Cut(name, "?")
	return clean(strings.TrimPrefix(path.Clean("/"+name), "/"))
}

// clean removes control characters, and all but the end of a long text.
func clean(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, name)
	return strings.ToValidUTF8(name[max(0, len(name)-maxName):], "")
}

// Shift returns a map of a program that has insertions. Insertions returns those of a line, in
// order. Indexes of maps do not change.
func Shift(data []byte, insertions func(line int) []Insertion) ([]byte, error) {
	if len(data) > MaxBytes {
		return nil, errors.New("change a source map: it is longer than 64 MiB")
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(withoutGuard(data), &all); err != nil {
		return nil, fmt.Errorf("change a source map: %w", err)
	}
	var mappings string
	if err := json.Unmarshal(all["mappings"], &mappings); err != nil {
		return nil, fmt.Errorf("change a source map: its mappings: %w", err)
	}
	out := make([]byte, 0, len(mappings)+len(mappings)/8)
	line, before, more := 0, 0, 0
	var rest []Insertion
	err := walk(mappings, func(s segment) error {
		if s.line > line || len(out) == 0 {
			out = append(out, strings.Repeat(";", s.line-line)...)
			line, before, more, rest = s.line, 0, 0, insertions(s.line+1)
		} else {
			out = append(out, ',')
		}
		for len(rest) > 0 && rest[0].Column-1 <= s.column {
			more, rest = more+rest[0].Length, rest[1:]
		}
		out = append(appendNumber(out, s.column+more-before), s.rest...)
		before = s.column + more
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("change a source map: %w", err)
	}
	all["mappings"], err = json.Marshal(string(out))
	if err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

// Insertion is an insertion before a column of the original line.
type Insertion struct{ Column, Length int } // UTF-16 code units

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// walk reads the segments in order.
func walk(mappings string, yield func(segment) error) error {
	var column, source, sourceLine, sourceColumn, name int
	s := segment{}
	for at := 0; at < len(mappings); {
		switch mappings[at] {
		case ';':
			s.line, column = s.line+1, 0
			at++
			continue
		case ',':
			at++
			continue
		}
		end := at
		for end < len(mappings) && mappings[end] != ',' && mappings[end] != ';' {
			end++
		}
		var fields [5]int
		n, rest := 0, end
		for k := at; k < end; n++ {
			if n == len(fields) {
				return fmt.Errorf("a segment of line %d has more than 5 numbers", s.line+1)
			}
			number, size, err := number(mappings[k:end])
			if err != nil {
				return fmt.Errorf("line %d: %w", s.line+1, err)
			}
			fields[n], k = number, k+size
			if n == 0 {
				rest = k
			}
		}
		if n == 2 || n == 3 {
			return fmt.Errorf("a segment of line %d has %d numbers", s.line+1, n)
		}
		before := column
		column += fields[0]
		source, sourceLine, name = source+fields[1], sourceLine+fields[2], name+fields[4]
		sourceColumn += fields[3]
		if column < before || min(source, sourceLine) < 0 || max(column, source, sourceLine, s.line) > maxNumber {
			return fmt.Errorf("a segment of line %d is out of order", s.line+1)
		}
		s.column, s.rest, s.source, s.sourceLine, s.name = column, mappings[rest:end], -1, sourceLine, -1
		s.sourceColumn = sourceColumn
		if n > 1 {
			s.source = source
		}
		if n == len(fields) {
			s.name = name
		}
		if err := yield(s); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// number reads a number: digits of base 32, the lowest first. The lowest bit is the sign.
func number(text string) (value, size int, err error) {
	for shift := 0; size < len(text) && shift <= 30; shift += 5 {
		d := strings.IndexByte(digits, text[size])
		if size++; d < 0 {
			return 0, 0, fmt.Errorf("unexpected %q", text[size-1])
		}
		value |= d & 31 << shift
		if d < 32 {
			if value&1 != 0 {
				value = -value
			}
			if value /= 2; max(value, -value) > maxNumber {
				break
			}
			return value, size, nil
		}
	}
	return 0, 0, errors.New("a number is cut or too large")
}

func appendNumber(out []byte, value int) []byte {
	value *= 2
	if value < 0 {
		value = 1 - value
	}
	for value > 31 {
		out = append(out, digits[value&31|32])
		value >>= 5
	}
	return append(out, digits[value])
}
