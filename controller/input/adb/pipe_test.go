package adb

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/input/adb/adbtest"
)

// TestPipe: a command gets all bytes in order. One that ends early says why.
func TestPipe(t *testing.T) {
	const size = 3*maxLeft + 17
	var got []byte
	f := adbtest.New(t, "A\tdevice\n",
		adbtest.Command{Name: "take", Run: func(s *adbtest.Session) byte {
			for len(got) < size {
				b, more := s.Hear()
				if got = append(got, b...); !more {
					return 1
				}
			}
			return s.Say("Success\n")
		}},
		adbtest.Command{Name: "full", Run: func(s *adbtest.Session) byte {
			s.Packet(packetStdout, []byte("Failure [INSUFFICIENT_STORAGE]\n"))
			s.Packet(packetStderr, []byte("no space\n"))
			return 1
		}},
		adbtest.Command{Name: "wait", Run: func(s *adbtest.Session) byte {
			for {
				if _, more := s.Hear(); !more {
					return 0
				}
			}
		}})
	d, err := server(f).Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("0123456789abcdef-"), size/17+1)[:size]
	if said, err := d.Pipe(t.Context(), "take", bytes.NewReader(content)); err != nil || said != "Success\n" ||
		!bytes.Equal(got, content) {
		t.Errorf("%q of %d bytes, %v", said, len(got), err)
	}
	if said, err := d.Pipe(t.Context(), "full", bytes.NewReader(content)); err == nil ||
		!strings.Contains(err.Error(), "no space") || !strings.HasPrefix(said, "Failure") {
		t.Errorf("a full device: %q, %v", said, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the run was cancelled")
	cancel(why)
	if _, err := d.Pipe(ctx, "wait", bytes.NewReader(content)); !errors.Is(err, why) {
		t.Errorf("a cancelled one: %v", err)
	}
}
