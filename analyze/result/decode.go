package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
)

const (
	maxBytes  = 128 << 20 // of a results.json: an hour at 60 frames a second has a tenth
	maxThings = 200_000   // objects and nulls, each of which may become a struct
	maxDepth  = 32        // of lists and objects within each other
)

// ErrVersion is wrapped where a file is of another version of the schema.
var ErrVersion = errors.New("another version of the results' schema")

// Read reads a results.json.
func Read(path string) (*Results, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	defer f.Close()
	r, err := Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Decode reads a results.json from anywhere. What it returns is valid.
func Decode(from io.Reader) (*Results, error) {
	b, err := io.ReadAll(io.LimitReader(from, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	if len(b) > maxBytes {
		return nil, fmt.Errorf("read results: over %d MiB, which no analysis writes", maxBytes>>20)
	}
	if err := bounded(b); err != nil {
		return nil, fmt.Errorf("read results: %w", cutOff(b, err))
	}
	if err := ours(b); err != nil {
		return nil, fmt.Errorf("read results: %w", cutOff(b, err))
	}
	var r Results
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	own(reflect.ValueOf(&r).Elem())
	r.fill()
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	return &r, nil
}

// ErrCut is what results are that end in the middle.
var ErrCut = errors.New("the file is cut off: analyze the recording again")

// cutOff returns ErrCut in place of what a parser says of a file that ends too early.
func cutOff(b []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &syntax) && syntax.Offset >= int64(len(b)) {
		return ErrCut
	}
	return err
}

// ours looks at schema and version alone, since the rest may mean something else.
func ours(b []byte) error {
	var head struct {
		Schema  string `json:"schema"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return err
	}
	switch {
	case head.Schema != Schema:
		return fmt.Errorf("schema is %.40q, want %q: is this a results.json?", head.Schema, Schema)
	case head.Version != Version:
		return fmt.Errorf("%w: the file has version %d, this program reads %d; "+
			"analyze the recording again with this program",
			ErrVersion, head.Version, Version)
	}
	return nil
}

// bounded counts what json.Unmarshal would make structs of: "null," takes five bytes in a list and
// a hundred times that in memory.
func bounded(b []byte) error {
	things, depth := 0, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n := stringEnd(b[i+1:])
			if n < 0 {
				return io.ErrUnexpectedEOF
			}
			i += 1 + n
		case '{', 'n':
			things++
		}
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if things > maxThings || depth > maxDepth {
			return fmt.Errorf("over %d objects or %d levels at offset %d, which no analysis writes", maxThings,
				maxDepth, i)
		}
	}
	return nil
}

// stringEnd returns where the quote is that ends a string, or -1.
func stringEnd(b []byte) int {
	for i := 0; ; i++ {
		n := bytes.IndexAny(b[i:], `"\`)
		if n < 0 {
			return -1
		}
		if i += n; b[i] == '"' {
			return i
		}
		i++ // the escaped byte
		if i+1 >= len(b) {
			return -1
		}
	}
}
