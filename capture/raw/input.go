package raw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// input is an open file or pipe whose reads end with a context.
type input struct {
	f       *os.File
	uri     string // for errors
	owned   bool   // Close closes it
	regular bool
	start   int64 // where in the file reading began; 0 for pipes
	size    int64 // bytes from start to the end; 0 for pipes
	ctx     context.Context
}

// openInput opens a file, or standard input for "-". Standard input may be a regular file, too.
func openInput(scheme, path string) (*input, error) {
	in := &input{f: os.Stdin, uri: scheme + ":" + path, ctx: context.Background()}
	if path == "" {
		return nil, fmt.Errorf("%s: no file given; use - for standard input", in.uri)
	}
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.uri, err)
		}
		in.f, in.owned = f, true
	}
	st, err := in.f.Stat()
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("%s: %w", in.uri, err)
	}
	switch {
	case st.IsDir():
		in.Close()
		return nil, fmt.Errorf("%s: is a folder; give one file", in.uri)
	case st.Mode().IsRegular():
		if in.start, err = in.f.Seek(0, io.SeekCurrent); err != nil {
			in.Close()
			return nil, fmt.Errorf("%s: %w", in.uri, err)
		}
		in.regular = true
		in.size = max(0, st.Size()-in.start)
	}
	return in, nil
}

// Read reads the available bytes. On a pipe it waits at most until the context ends and then
// returns the context's error.
func (in *input) Read(p []byte) (int, error) {
	if err := in.ctx.Err(); err != nil {
		return 0, err
	}
	if !in.regular {
		if err := waitReadable(in.ctx, in.f); err != nil {
			return 0, err
		}
	}
	return in.f.Read(p)
}

// ReadAt reads from a regular file; offsets count from where reading began.
func (in *input) ReadAt(p []byte, off int64) (int, error) { return in.f.ReadAt(p, in.start+off) }

func (in *input) Close() error {
	if !in.owned {
		return nil
	}
	if err := in.f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("%s: %w", in.uri, err)
	}
	return nil
}
