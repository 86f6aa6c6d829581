package raw

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/internal/capturetest"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

func query(t *testing.T, s string) url.Values {
	t.Helper()
	q, err := url.ParseQuery(s)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// The ring receives the file's bytes, for every format, odd size and stride.
func TestRawEveryFormat(t *testing.T) {
	for _, p := range frame.PixelFormats() {
		for _, size := range [][2]int{{1, 1}, {3, 5}, {1366, 768}, {16, 6}} {
			for _, padding := range []int{0, 5} {
				f, err := frame.NewFormat(p, size[0], size[1])
				if err != nil {
					continue // the frame package says which have no odd sizes
				}
				f.Stride += padding
				t.Run(f.String(), func(t *testing.T) {
					data := random(1, 3*f.Size())
					s, err := OpenRaw(write(t, data),
						query(t, fmt.Sprintf("size=%dx%d&format=%v&stride=%d", f.Width, f.Height, p, f.Stride)))
					if err != nil {
						t.Fatal(err)
					}
					if i := s.Info(); i.Format != f || i.Frames != 3 || i.Clocked || !i.OwnClock {
						t.Errorf("info %+v", i)
					}
					g := capturetest.Play(t, s)
					if g.Err != nil || !bytes.Equal(g.Bytes(), data) {
						t.Errorf("%d frames, error %v", len(g.Frames), g.Err)
					}
				})
			}
		}
	}
}

func TestRawTimes(t *testing.T) {
	for _, tc := range []struct {
		fps  string
		num  int64
		den  int64
		want []time.Duration
	}{
		{"", 1, 60, []time.Duration{0, 16666666, 33333333, 50000000}},
		{"&fps=59.94", 1001, 60000, []time.Duration{0, 16683333, 33366666, 50050000}},
		{"&fps=60000/1001", 1001, 60000, []time.Duration{0, 16683333, 33366666, 50050000}},
		{"&fps=25", 1, 25, []time.Duration{0, 40000000, 80000000, 120000000}},
	} {
		s, err := OpenRaw(write(t, make([]byte, 4)), query(t, "size=1x1&format=GREY"+tc.fps))
		if err != nil {
			t.Fatal(err)
		}
		if p := s.Info().Period; p.Num != tc.num || p.Den != tc.den {
			t.Errorf("%q: period %v", tc.fps, p)
		}
		g := capturetest.Play(t, s)
		for n, m := range g.Metas {
			if m.Sequence != uint64(n) || m.Sampled != timeline.At(timeline.Time(tc.want[n])) || m.Flags != 0 ||
				m.Missed != frame.NoCause {
				t.Errorf("%q: frame %d is %+v, want %v", tc.fps, n, m, tc.want[n])
			}
		}
		if len(g.Metas) != len(tc.want) {
			t.Errorf("%q: %d frames", tc.fps, len(g.Metas))
		}
	}
}

func TestRawRefuses(t *testing.T) {
	for _, tc := range []struct {
		name  string
		bytes int
		query string
		want  []string
	}{
		{"no parameters", 4, "", []string{"?size=1920x1080&format=BGR4"}},
		{"no size", 4, "format=BGR4", []string{"size="}},
		{"unknown parameter", 4, "size=1x1&format=BGR4&rate=9", []string{`"rate"`, "size format fps stride"}},
		{"twice", 4, "size=1x1&size=1x1&format=BGR4", []string{`"size"`, "2 times"}},
		{"bad size", 4, "size=1&format=BGR4", []string{`bad size "1"`}},
		{"bad format", 4, "size=1x1&format=BGR5", []string{`"BGR5"`, "YUYV"}},
		{"odd width", 4, "size=1x1&format=YUYV", []string{"no odd widths"}},
		{"bad fps", 4, "size=1x1&format=BGR4&fps=0", []string{`frame rate "0"`}},
		{"bad stride", 4, "size=1x1&format=BGR4&stride=x", []string{`stride "x"`}},
		{"short stride", 4, "size=2x1&format=BGR4&stride=4", []string{"shorter than a row of 8"}},
		{"left over", 11, "size=1x1&format=BGR4", []string{"11 bytes", "4 bytes", "2 frames", "3 bytes left over"}},
		{"less than a frame", 3, "size=1x1&format=BGR4", []string{"0 frames", "3 bytes left over"}},
		{"empty", 0, "size=1x1&format=BGR4", []string{"empty"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := OpenRaw(write(t, make([]byte, tc.bytes)), query(t, tc.query))
			if s != nil {
				t.Error("got a source")
			}
			wantError(t, err, append(tc.want, "raw")...)
		})
	}
	q := query(t, "size=1x1&format=BGR4")
	if _, err := OpenRaw(t.TempDir()+"/none", q); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	_, err := OpenRaw(t.TempDir(), q)
	wantError(t, err, "folder")
	_, err = OpenRaw("", q)
	wantError(t, err, "standard input")
}

func TestRawPipe(t *testing.T) {
	const params = "size=3x5&format=BGR3&fps=50" // 45 bytes
	for _, tc := range []struct {
		name   string
		bytes  int
		frames int
		want   []string // of the error
	}{
		{"whole", 45 * 7, 7, nil},
		{"ends inside a frame", 45*7 + 44, 7, []string{"in frame 7", "after 44 of its 45 bytes", "7 whole frames"}},
		{"ends inside the first", 1, 0, []string{"in frame 0"}},
		{"empty", 0, 0, []string{"before the first frame"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data := random(2, tc.bytes)
			asStdin(t, data, false)
			s, err := OpenRaw("-", query(t, params))
			if err != nil {
				t.Fatal(err)
			}
			if i := s.Info(); i.Frames != 0 || i.URI != "raw:-?"+params {
				t.Errorf("info %+v", i)
			}
			g := capturetest.Play(t, s)
			if !bytes.Equal(g.Bytes(), data[:tc.frames*45]) {
				t.Errorf("%d frames, want %d", len(g.Frames), tc.frames)
			}
			if tc.want == nil {
				if g.Err != nil {
					t.Error(g.Err)
				}
				return
			}
			wantError(t, g.Err, tc.want...)
			if !errors.Is(g.Err, io.ErrUnexpectedEOF) {
				t.Errorf("%v is not an io.ErrUnexpectedEOF", g.Err)
			}
		})
	}
}

// A regular file on standard input is measured like any other, from where reading begins.
func TestRawRegularStdin(t *testing.T) {
	data := random(3, 40)
	f, err := os.Open(write(t, data))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Seek(8, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	before := os.Stdin
	os.Stdin = f
	defer func() { os.Stdin = before }()
	s, err := OpenRaw("-", query(t, "size=2x2&format=BGR4"))
	if err != nil {
		t.Fatal(err)
	}
	if g := capturetest.Play(t, s); s.Info().Frames != 2 || g.Err != nil || !bytes.Equal(g.Bytes(), data[8:]) {
		t.Errorf("%d frames of %d, %v", len(g.Frames), s.Info().Frames, g.Err)
	}
}

func newRing(t *testing.T, size int) *capture.Ring {
	t.Helper()
	ring, err := ringbuf.New[frame.Meta](make([]byte, ringbuf.BytesFor(4, size)+ringbuf.Alignment), size)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func TestCancel(t *testing.T) {
	for _, tc := range []struct {
		name   string
		data   int  // bytes in the pipe, which stays open
		reader bool // of the ring: frames are not given back
	}{
		{"waiting for input", 0, false},
		{"inside a frame", 4 + 3, false},
		{"waiting for the ring", 400, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asStdin(t, make([]byte, tc.data), true)
			s, err := OpenRaw("-", query(t, "size=1x1&format=BGR4"))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			ring := newRing(t, 4)
			if tc.reader {
				ring.NewReader(ringbuf.Lossless)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ran := make(chan error, 1)
			go func() { ran <- s.Run(ctx, ring, nil) }()
			cancel()
			if err := <-ran; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRawFileCutMeanwhile(t *testing.T) {
	path := write(t, make([]byte, 40))
	s, err := OpenRaw(path, query(t, "size=1x1&format=BGR4"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 16); err != nil {
		t.Fatal(err)
	}
	g := capturetest.Play(t, s)
	wantError(t, g.Err, "truncated while it was read", "4 of 10 frames")
	if len(g.Frames) != 4 {
		t.Errorf("%d frames", len(g.Frames))
	}
}

func TestRingTooSmall(t *testing.T) {
	s, err := OpenRaw(write(t, make([]byte, 1<<14)), query(t, "size=64x64&format=BGR4"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wantError(t, s.Run(t.Context(), newRing(t, 1), nil), "16384 bytes does not fit")
}

func TestRawNoAllocationPerFrame(t *testing.T) {
	const frames = 5000
	s, err := OpenRaw(write(t, make([]byte, 4*frames)), query(t, "size=1x1&format=BGR4"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ring := newRing(t, 4)
	n := testing.AllocsPerRun(1, func() {
		src := s.(*source)
		src.in.f.Seek(0, io.SeekStart)
		if err := s.Run(t.Context(), ring, nil); err != nil {
			t.Error(err)
		}
	})
	if n > 50 {
		t.Errorf("%g allocations for %d frames", n, frames)
	}
}
