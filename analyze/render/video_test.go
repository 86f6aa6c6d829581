package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// grey is how bright frame n is.
func grey(n int) byte { return byte(20 + n%20*11) }

func flat(l *frame.Layout, v byte) frame.Image {
	src := make([]byte, l.Format.Width*l.Format.Height*4)
	for i := range src {
		src[i] = v
	}
	pix := make([]byte, l.Size)
	frame.NewPacker(l).BGRX(pix, src)
	return l.View(pix)
}

// play writes the frames of these sequence numbers.
func play(t *testing.T, path string, l *frame.Layout, o VideoOptions, sequences ...uint64) {
	t.Helper()
	v := analyzetest.Must(NewVideo(path, l, o))(t)
	for i, s := range sequences {
		analyzetest.Check(t, v.Add(flat(l, grey(i)), Slot{Frame: i, Sequence: s}))
	}
	analyzetest.Check(t, v.Close())
	if err := v.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func readMap(t *testing.T, path string) (m Map) {
	t.Helper()
	b := analyzetest.Must(os.ReadFile(path + ".json"))(t)
	analyzetest.Check(t, json.Unmarshal(b, &m))
	return m
}

// centres returns the blue and red of the middle of each frame of a video, and its size.
func centres(t *testing.T, path string) (colours [][2]byte, size image.Point) {
	t.Helper()
	all := tool(t, "ffmpeg", "-i", path, "-f", "image2pipe", "-c:v", "ppm", "-")
	for len(all) > 0 {
		if _, err := fmt.Sscanf(all, "P6\n%d %d\n255\n", &size.X, &size.Y); err != nil {
			t.Fatalf("%.20q: %v", all, err)
		}
		pix := all[len(fmt.Sprintf("P6\n%d %d\n255\n", size.X, size.Y)):]
		at := 3 * (size.Y/2*size.X + size.X/2)
		colours = append(colours, [2]byte{pix[at+2], pix[at]})
		all = pix[3*size.X*size.Y:]
	}
	return colours, size
}

func TestVideoShowsEachFrameInItsSlot(t *testing.T) {
	for _, tc := range []struct {
		name string
		p    frame.PixelFormat
		w, h int
		o    VideoOptions
		size image.Point
	}{
		{"as it is", frame.BGR4, 320, 180, VideoOptions{}, image.Pt(320, 180)},
		{"odd", frame.RGB3, 321, 181, VideoOptions{RateNum: 60000, RateDen: 1001}, image.Pt(322, 182)},
		{"scaled, YUV", frame.NV12, 640, 360, VideoOptions{MaxHeight: 180, RateNum: 30, RateDen: 1},
			image.Pt(320, 180)},
		{"10 bits", frame.P010, 320, 180, VideoOptions{}, image.Pt(320, 180)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "v.mp4")
			play(t, path, layout(t, tc.p, tc.w, tc.h), tc.o, 10, 11, 12, 15, 16)
			m := readMap(t, path)
			var shown []int
			for _, s := range m.Slots {
				shown = append(shown, s.Frame)
			}
			if want := []int{0, 1, 2, -1, -1, 3, 4}; !slices.Equal(shown, want) {
				t.Fatalf("map shows %v, want %v", shown, want)
			}
			if m.Slots[3].Sequence != 13 || m.Slots[5].Sequence != 15 || len(m.Cuts) != 0 {
				t.Errorf("map %+v", m)
			}
			colours, size := centres(t, path)
			if size != tc.size || m.Width != size.X || m.Height != size.Y {
				t.Errorf("video of %v, map says %dx%d, want %v", size, m.Width, m.Height, tc.size)
			}
			if len(colours) != len(shown) {
				t.Fatalf("%d frames in the video, want %d", len(colours), len(shown))
			}
			for i, n := range shown {
				blue, red := int(colours[i][0]), int(colours[i][1])
				switch {
				case n < 0 && red-blue < 4:
					t.Errorf("slot %d: blue %d, red %d, want hatching", i, blue, red)
				case n >= 0 && (max(blue-int(grey(n)), int(grey(n))-blue) > 5):
					t.Errorf("slot %d: blue %d, want %d", i, blue, grey(n))
				}
			}
		})
	}
}

// tool runs one of FFmpeg's programs, and returns its output.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, append([]string{"-v", "error"}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") != "true" {
		t.Skip(name + " is not installed (apt-get install ffmpeg)")
	}
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, &said)
	}
	return string(out)
}

func TestVideoIsWhatBrowsersPlay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.mp4")
	play(t, path, layout(t, frame.BGR4, 320, 180), VideoOptions{RateNum: 60000, RateDen: 1001}, 1, 2, 3)
	out := tool(t, "ffprobe", "-count_frames", "-show_entries",
		"stream=codec_name,pix_fmt,color_range,color_space,color_transfer,color_primaries,avg_frame_rate,"+
			"nb_read_frames,duration_ts,time_base", "-of", "default=nw=1", path)
	for _, want := range []string{"codec_name=h264", "pix_fmt=yuv420p", "avg_frame_rate=60000/1001", "nb_read_frames=3",
		"color_range=tv", "color_space=smpte170m", "color_transfer=iec61966-2-1", "color_primaries=bt709",
		"time_base=1/60000", "duration_ts=3003"} {
		if !strings.Contains(out, want+"\n") {
			t.Errorf("ffprobe says %q, want %s", out, want)
		}
	}
}

func TestKeyframesComeEverySecond(t *testing.T) {
	for _, tc := range []struct {
		num, den int64
		frames   int
		most     int // frames from one to the next
	}{{60, 1, 150, 60}, {30000, 1001, 70, 30}, {5, 1, 30, 12}} {
		path := filepath.Join(t.TempDir(), "v.mp4")
		play(t, path, layout(t, frame.BGR4, 64, 48), VideoOptions{RateNum: tc.num, RateDen: tc.den},
			upTo(0, uint64(tc.frames))...)
		flags := strings.Fields(tool(t, "ffprobe", "-show_entries", "frame=key_frame", "-of", "default=nw=1:nk=1",
			path))
		if len(flags) != tc.frames {
			t.Errorf("%d frames, want %d", len(flags), tc.frames)
		}
		last := 0
		for n, flag := range flags {
			if flag == "1" {
				last = n
			} else if n-last >= tc.most || n == 0 {
				t.Fatalf("%d/%d a second: frame %d is %d after a keyframe, want less than %d", tc.num, tc.den, n,
					n-last, tc.most)
			}
		}
	}
}

func TestLongHolesAreCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.mp4")
	play(t, path, layout(t, frame.BGR4, 16, 16), VideoOptions{}, 1, 1<<40)
	m := readMap(t, path)
	if len(m.Slots) != maxHatched+2 || len(m.Cuts) != 1 ||
		m.Cuts[0] != (Cut{Slot: maxHatched + 1, Skipped: 1<<40 - 2 - maxHatched}) {
		t.Errorf("%d slots, cuts %+v", len(m.Slots), m.Cuts)
	}
}

func TestVideoRefusals(t *testing.T) {
	l := layout(t, frame.BGR4, 64, 64)
	dir := t.TempDir()
	for _, tc := range []struct {
		name, path string
		o          VideoOptions
		want       string
	}{
		{"no folder", filepath.Join(dir, "none", "v.mp4"), VideoOptions{}, "no such file"},
		{"no rate", filepath.Join(dir, "v.mp4"), VideoOptions{RateNum: 60}, "rate of 60/0"},
		{"wild rate", filepath.Join(dir, "v.mp4"), VideoOptions{RateNum: 5000, RateDen: 1}, "rate of 5000/1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := NewVideo(tc.path, l, tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	t.Run("no frames", func(t *testing.T) {
		path := filepath.Join(dir, "empty.mp4")
		v := analyzetest.Must(NewVideo(path, l, VideoOptions{}))(t)
		if err := v.Close(); err == nil || !strings.Contains(err.Error(), "no frames") {
			t.Errorf("error %v", err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the empty video is still there: %v", err)
		}
		if err := v.Add(flat(l, 1), Slot{}); !errors.Is(err, os.ErrClosed) {
			t.Errorf("add after close: %v", err)
		}
	})
	t.Run("another format", func(t *testing.T) {
		v := analyzetest.Must(NewVideo(filepath.Join(dir, "f.mp4"), l, VideoOptions{}))(t)
		if err := v.Add(flat(layout(t, frame.BGR3, 64, 64), 1), Slot{}); err == nil ||
			!strings.Contains(err.Error(), "frame 0 is 64x64 BGR3") {
			t.Errorf("error %v", err)
		}
		_ = v.Close()
	})
}

// BenchmarkVideo adds frames that change completely, by a caret or not at all, with and without the
// known change.
func BenchmarkVideo(b *testing.B) {
	for _, size := range []image.Point{{1280, 720}, {1920, 1080}} {
		l := layout(b, frame.BGR4, size.X, size.Y)
		all := []frame.Image{flat(l, 40), flat(l, 200)}
		whole := &frame.Change{}
		for y := range l.Rows {
			whole.Spans = append(whole.Spans, frame.Span{Row: int32(y), End: int32(l.Rows[y].Seen)})
		}
		caret := &frame.Change{Spans: whole.Spans[400:416]}
		for _, tc := range []struct {
			name   string
			frames []frame.Image
			change *frame.Change
			known  bool
		}{
			{"whole/known=no", all, nil, false}, {"whole/known=yes", all, whole, true},
			{"caret/known=no", all[:1], nil, false}, {"caret/known=yes", all[:1], caret, true},
			{"none/known=no", all[:1], nil, false}, {"none/known=yes", all[:1], &frame.Change{}, true},
		} {
			b.Run("size="+size.String()+"/change="+tc.name, func(b *testing.B) {
				o := overlayOf("bench", 1000, 10, 900)
				v, err := NewVideo(filepath.Join(b.TempDir(), "v.mp4"), l, VideoOptions{Overlay: &o})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(l.Size))
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					img, s := tc.frames[n%len(tc.frames)], Slot{Frame: n, Sequence: uint64(n)}
					if tc.known {
						err = v.Step(&frame.Step{Number: n, Image: img, Change: tc.change,
							Meta: frame.Meta{Sequence: s.Sequence}})
					} else {
						err = v.Add(img, s)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				analyzetest.Check(b, v.Close())
			})
		}
	}
}
