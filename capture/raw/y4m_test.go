package raw

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/internal/capturetest"
)

// stream is a Y4M file of frames with the given lines.
func stream(header string, size int, lines ...string) []byte {
	b := []byte(header + "\n")
	for i, line := range lines {
		b = append(b, line+"\n"...)
		b = append(b, random(uint64(i), size)...)
	}
	return b
}

// rewrite writes what a source delivered as Y4M again.
func rewrite(t *testing.T, info capture.Info, g capturetest.Delivered) []byte {
	t.Helper()
	var header string
	for _, m := range info.Metadata {
		if m.Name == HeaderMetadata {
			if err := json.Unmarshal(m.Value, &header); err != nil {
				t.Fatal(err)
			}
		}
	}
	var out bytes.Buffer
	w, err := NewY4MWriter(&out, info.Format, info.Period.Num, info.Period.Den, header)
	if err != nil {
		t.Fatal(err)
	}
	l, err := frame.NewLayout(info.Format)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range g.Frames {
		if err := w.WriteFrame(l.View(f)); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// Reading and writing keeps every byte: header, frame lines, odd sizes and every colour space.
func TestY4MRoundTrip(t *testing.T) {
	lines := map[string][]string{
		"plain":   {"FRAME", "FRAME", "FRAME"},
		"same":    {"FRAME It", "FRAME It"},
		"varying": {"FRAME", "FRAME Ip Xa=b", "FRAME", "FRAME"},
		"last":    {"FRAME", "FRAME", "FRAME I"},
	}
	sizes := map[string]func(w, h int) int{
		"":          func(w, h int) int { return w*h + 2*((w+1)/2)*((h+1)/2) },
		" C420":     func(w, h int) int { return w*h + 2*((w+1)/2)*((h+1)/2) },
		" C420jpeg": func(w, h int) int { return w*h + 2*((w+1)/2)*((h+1)/2) },
		" C420mpeg2 XYSCSS=420MPEG2 XCOLORRANGE=LIMITED": func(w, h int) int { return w*h + 2*((w+1)/2)*((h+1)/2) },
		" C420paldv":                 func(w, h int) int { return w*h + 2*((w+1)/2)*((h+1)/2) },
		" C422":                      func(w, h int) int { return w*h + 2*((w+1)/2)*h },
		" C444  XCOLORRANGE=FULL X<": func(w, h int) int { return 3 * w * h },
		" Cmono":                     func(w, h int) int { return w * h },
	}
	for tags, size := range sizes {
		for _, wh := range [][2]int{{1, 1}, {3, 5}, {1366, 768}} {
			for name, ls := range lines {
				t.Run(fmt.Sprintf("%s/%dx%d/%s", tags, wh[0], wh[1], name), func(t *testing.T) {
					data := stream(fmt.Sprintf("YUV4MPEG2 W%d H%d F30000:1001 Ib A10:11%s", wh[0], wh[1], tags),
						size(wh[0], wh[1]), ls...)
					s, err := OpenY4M(write(t, data))
					if err != nil {
						t.Fatal(err)
					}
					info := s.Info()
					if info.Frames != uint64(len(ls)) || info.Period != (capture.Rational{Num: 1001, Den: 30000}) ||
						!info.OwnClock || info.Clocked {
						t.Errorf("info %+v", info)
					}
					if full := strings.Contains(tags, "FULL"); (info.Format.Range == frame.FullRange) != full {
						t.Errorf("range %v", info.Format.Range)
					}
					g := capturetest.Play(t, s)
					if g.Err != nil || len(g.Events) != 0 {
						t.Errorf("error %v, events %v", g.Err, g.Events)
					}
					for n, m := range g.Metas {
						if m.Sequence != uint64(n) || m.Sampled.Mid().Sub(0) != info.Period.Duration(uint64(n)) {
							t.Errorf("frame %d: %+v", n, m)
						}
					}
					if !bytes.Equal(rewrite(t, info, g), data) {
						t.Error("the stream changed on its way")
					}
				})
			}
		}
	}
}

func TestY4MPipe(t *testing.T) {
	const header = "YUV4MPEG2 W3 H5 F25:1 Cmono"
	for _, tc := range []struct {
		name   string
		lines  []string
		cut    int // bytes left out at the end
		frames int
		events []string
		want   []string
	}{
		{"plain", []string{"FRAME", "FRAME"}, 0, 2, nil, nil},
		{"same parameters", []string{"FRAME It", "FRAME It"}, 0, 2, nil, nil},
		{"a later one differs", []string{"FRAME", "FRAME Ib", "FRAME"}, 0, 3, []string{`{"frame":1,"line":"FRAME Ib"}`},
			nil},
		{"ends inside a frame", []string{"FRAME", "FRAME"}, 1, 1, nil,
			[]string{"in frame 1", "14 of its 15 bytes", "1 whole frames"}},
		{"ends after a line", []string{"FRAME", "FRAME"}, 15, 1, nil, []string{"in frame 1", "after its header"}},
		{"ends inside a line", []string{"FRAME", "FRAME"}, 17, 1, nil, []string{"inside a line", "frame 1"}},
		{"broken line", []string{"FRAME", "FRAMF"}, 0, 1, nil, []string{"line of frame 1", "offset 49", `"FRAMF"`}},
		{"no frame", nil, 0, 0, nil, []string{"before the first frame"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data := stream(header, 15, tc.lines...)
			data = data[:len(data)-tc.cut]
			asStdin(t, data, false)
			s, err := OpenY4M("-")
			if err != nil {
				t.Fatal(err)
			}
			g := capturetest.Play(t, s)
			if len(g.Frames) != tc.frames {
				t.Errorf("%d frames, want %d", len(g.Frames), tc.frames)
			}
			var events []string
			for _, e := range g.Events {
				events = append(events, string(e.Data))
				if err := e.Validate(); err != nil || e.Kind != frameLineEvent {
					t.Errorf("event %+v: %v", e, err)
				}
			}
			if fmt.Sprint(events) != fmt.Sprint(tc.events) {
				t.Errorf("events %v, want %v", events, tc.events)
			}
			if tc.want == nil {
				if g.Err != nil {
					t.Error(g.Err)
				}
				if tc.events == nil && !bytes.Equal(rewrite(t, s.Info(), g), data) {
					t.Error("the stream changed on its way")
				}
				return
			}
			wantError(t, g.Err, tc.want...)
			if strings.HasPrefix(tc.name, "ends") && !errors.Is(g.Err, io.ErrUnexpectedEOF) {
				t.Errorf("%v is not an io.ErrUnexpectedEOF", g.Err)
			}
		})
	}
}

func TestY4MRefuses(t *testing.T) {
	const good = "YUV4MPEG2 W2 H2 F1:1 Cmono\nFRAME\nabcd"
	for _, tc := range []struct {
		name, data string
		want       []string
	}{
		{"empty", "", []string{"offset 0", "empty"}},
		{"not Y4M", "RIFF....\n", []string{"offset 0", "YUV4MPEG2"}},
		{"magic runs on", "YUV4MPEG22 W1 H1 F1:1\n", []string{"offset 0"}},
		{"no line feed", "YUV4MPEG2 W2 H2", []string{"offset 15", "inside a line"}},
		{"endless line", "YUV4MPEG2 X" + strings.Repeat("a", 5000), []string{"longer than 4096 bytes"}},
		{"bad width", "YUV4MPEG2 W2x H2 F1:1\n", []string{"offset 10", `"W2x"`}},
		{"no height value", "YUV4MPEG2 W2 H F1:1\n", []string{"offset 13", `"H"`}},
		{"huge", "YUV4MPEG2 W99999 H2 F1:1\n", []string{"offset 10", "32768"}},
		{"huge frame", "YUV4MPEG2 W32768 H32768 F1:1\n", []string{"more than"}},
		{"width missing", "YUV4MPEG2 H2 F1:1\n", []string{"offset 17", "without W"}},
		{"rate missing", "YUV4MPEG2 W2 H2\n", []string{"without F"}},
		{"rate unknown", "YUV4MPEG2 W2 H2 F0:0\n", []string{"offset 16", `"F0:0"`}},
		{"rate of decimals", "YUV4MPEG2 W2 H2 F59.94:1\n", []string{"offset 16"}},
		{"twice", "YUV4MPEG2 W2 H2 F1:1 W2\n", []string{"offset 21", "twice"}},
		{"unknown tag", "YUV4MPEG2 W2 H2 F1:1 Q2\n", []string{"offset 21", "unknown parameter", `"Q2"`}},
		{"10 bits", "YUV4MPEG2 W2 H2 F1:1 C420p10\n", []string{"offset 21", "8 bits", `"C420p10"`}},
		{"16 bits of grey", "YUV4MPEG2 W2 H2 F1:1 Cmono16\n", []string{"8 bits"}},
		{"alpha", "YUV4MPEG2 W2 H2 F1:1 C444alpha\n", []string{"alpha"}},
		{"4:1:1", "YUV4MPEG2 W2 H2 F1:1 C411\n", []string{"unknown colour space", "420mpeg2"}},
		{"byte that is no text", "YUV4MPEG2 W2 H2 F1:1 X\xff\n", []string{"offset 22", "0xff"}},
		{"no frame", "YUV4MPEG2 W2 H2 F1:1\n", []string{"before the first frame"}},
		{"ends inside a frame", good[:len(good)-1], []string{"offset 36", "in frame 0", "3 of its 4 bytes"}},
		{"ends inside the second's line", good + "FRA", []string{"offset 37", "line of frame 1"}},
		{"no frame line", good + "abcdef\n", []string{"offset 37", "frame 1", "FRAME"}},
		{"endless frame line", good + "FRAME " + strings.Repeat("x", 5000), []string{"offset 37", "longer than 4096"}},
		{"byte in a frame line", good + "FRAME \x00\nabcd", []string{"0x00"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := OpenY4M(write(t, []byte(tc.data)))
			if s != nil {
				t.Error("got a source")
			}
			wantError(t, err, append(tc.want, "y4m:")...)
		})
	}
	if _, err := OpenY4M(t.TempDir() + "/none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestFrameLinesAreBounded(t *testing.T) {
	b := []byte("YUV4MPEG2 W1 H1 F1:1 Cmono\n")
	for i := range 600 {
		b = append(b, fmt.Sprintf("FRAME X%0*d\nx", 2000, i)...)
	}
	_, err := OpenY4M(write(t, b))
	wantError(t, err, "differ from frame to frame")
}

func TestWriterRearranges(t *testing.T) {
	for _, tc := range []struct {
		pixel  frame.PixelFormat
		stride int
		frame  string // bytes of a 4x2 frame
		want   string
		tag    string
	}{
		{frame.YUYV, 9, "0a1A2b3B.4c5C6d7D.", "01234567abcdABCD", "422"},
		{frame.UYVY, 9, "a0A1b2B3.c4C5d6D7.", "01234567abcdABCD", "422"},
		{frame.YVYU, 9, "0A1a2B3b.4C5c6D7d.", "01234567abcdABCD", "422"},
		{frame.VYUY, 9, "A0a1B2b3.C4c5D6d7.", "01234567abcdABCD", "422"},
		{frame.NV16, 5, "0123.4567.aAbB.cCdD.", "01234567abcdABCD", "422"},
		{frame.NV24, 5, "0123.4567.aAbBcCdD..eEfFgGhH..", "01234567abcdefghABCDEFGH", "444"},
		{frame.NV12, 5, "0123.4567.aAbB.", "01234567abAB", "420jpeg"},
		{frame.YU12, 6, "0123..4567..ab.AB.", "01234567abAB", "420jpeg"},
		{frame.P422, 4, "01234567abcdABCD", "01234567abcdABCD", "422"},
		{frame.P444, 4, "01234567abcdefghABCDEFGH", "01234567abcdefghABCDEFGH", "444"},
		{frame.GREY, 5, "0123.4567.", "01234567", "mono"},
	} {
		t.Run(tc.pixel.String(), func(t *testing.T) {
			f, _ := frame.NewFormat(tc.pixel, 4, 2)
			f.Stride = tc.stride
			l, err := frame.NewLayout(f)
			if err != nil || l.Size != len(tc.frame) {
				t.Fatal(l.Size, err)
			}
			var out bytes.Buffer
			w, err := NewY4MWriter(&out, f, 1001, 60000, "")
			if err != nil {
				t.Fatal(err)
			}
			if err := w.WriteFrame(l.View([]byte(tc.frame))); err != nil {
				t.Fatal(err)
			}
			want := "YUV4MPEG2 W4 H2 F60000:1001 Ip A1:1 C" + tc.tag + " XCOLORRANGE=LIMITED\nFRAME\n" + tc.want
			if out.String() != want {
				t.Errorf("got %q, want %q", out.String(), want)
			}
			m := l.View([]byte(tc.frame))
			w.w = io.Discard
			if n := testing.AllocsPerRun(10, func() { w.WriteFrame(m) }); n != 0 {
				t.Errorf("%g allocations per frame", n)
			}
		})
	}
}

func TestWriterRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		pixel  frame.PixelFormat
		period int64
		header string
		want   string
	}{
		{"RGB", frame.BGR4, 1, "", "needs YUV or grey"},
		{"10 bits", frame.P010, 1, "",
			"P010 (4:2:0, Y plane and UV plane, 10 bits in 16), and Y4M has 8 bits"},
		{"10 bits packed", frame.Y210, 1, "", "Y4M has 8 bits; export to .raw"},
		{"no rate", frame.GREY, 0, "", "the frame rate is unknown or varies"},
		{"header of another size", frame.GREY, 1, "YUV4MPEG2 W4 H4 F1:1 Cmono", "the header says 4x4 GREY"},
		{"header of another format", frame.P444, 1, "YUV4MPEG2 W2 H2 F1:1 Cmono", "2x2 GREY"},
		{"broken header", frame.GREY, 1, "YUV4MPEG2 W2", "without H"},
		{"broken frame line", frame.GREY, 1, "YUV4MPEG2 W2 H2 F1:1 Cmono\nFRAME\n", "line of frame 1"},
	} {
		f, _ := frame.NewFormat(tc.pixel, 2, 2)
		_, err := NewY4MWriter(io.Discard, f, tc.period, 60, tc.header)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	f, _ := frame.NewFormat(frame.GREY, 2, 2)
	w, err := NewY4MWriter(io.Discard, f, 1, 60, "")
	if err != nil {
		t.Fatal(err)
	}
	f.Width = 1
	l, _ := frame.NewLayout(f)
	wantError(t, w.WriteFrame(l.View(make([]byte, l.Size))), "frame 0", "1x2")
}
