package video

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

// ffmpeg runs one of FFmpeg's programs and returns what it prints.
func ffmpeg(t *testing.T, program string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("needs FFmpeg: ", err)
	}
	cmd := exec.Command(program, append([]string{"-loglevel", "error"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, &stderr)
	}
	return string(out)
}

// films have frames missing here and there, as screen recordings have.
var films = []struct {
	name string
	args []string
}{
	{"fast.mp4", x264("-movflags", "+faststart")},
	{"a.mp4", x264()},
	{"a.mov", x264()},
	{"a.mkv", x264()},
	{"a.ts", x264()},
	{"a.webm", []string{"-c:v", "libvpx"}},
	{"a.avi", []string{"-c:v", "mpeg4", "-vsync", "cfr"}},
}

// filmed is the folder of the films. TestMain makes and removes it.
var filmed string

// variable returns the path of a copy of a film.
func variable(t *testing.T, name string) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(filmed, name)); err != nil {
		args := []string{"-f", "lavfi", "-i", "testsrc2=size=162x120:rate=30:duration=2"}
		for _, film := range films { // one process makes all, since its start is the longest part
			args = append(args, "-vf", "select='not(eq(mod(n,7),3))*not(between(n,20,30))'", "-vsync", "vfr")
			args = append(append(args, film.args...), filepath.Join(filmed, film.name))
		}
		ffmpeg(t, "ffmpeg", args...)
	}
	data, err := os.ReadFile(filepath.Join(filmed, name))
	path := filepath.Join(t.TempDir(), name)
	if err = errors.Join(err, os.WriteFile(path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func x264(args ...string) []string {
	return append([]string{"-c:v", "libx264", "-bf", "2", "-pix_fmt", "yuv420p"}, args...)
}

// Times are those that ffprobe tells, counted from the first.
func TestPresentationTimes(t *testing.T) {
	for _, name := range []string{"a.mp4", "fast.mp4", "a.mov", "a.mkv", "a.ts", "a.webm"} {
		t.Run(name, func(t *testing.T) {
			path := variable(t, name)
			out := ffmpeg(t, "ffprobe", "-select_streams", "v", "-show_entries", "frame=best_effort_timestamp",
				"-show_entries", "stream=time_base", "-of", "json", path)
			var probe struct {
				Frames []struct {
					TS int64 `json:"best_effort_timestamp"`
				}
				Streams []struct {
					TimeBase string `json:"time_base"`
				}
			}
			if err := json.Unmarshal([]byte(out), &probe); err != nil {
				t.Fatal(err)
			}
			num, den, _ := strings.Cut(probe.Streams[0].TimeBase, "/")
			n, _ := strconv.ParseFloat(num, 64)
			d, _ := strconv.ParseFloat(den, 64)
			s, err := Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if i := s.Info(); i.Clocked || !i.OwnClock || i.Period.Den != 0 || i.Format.String() != "162x120 BGR3" {
				t.Errorf("info %+v", i)
			}
			g := play(t, s)
			if g.Err != nil || len(g.Frames) != len(probe.Frames) || len(g.Events) != 0 {
				t.Fatalf("%d frames, want %d; error %v, events %v", len(g.Frames), len(probe.Frames), g.Err, g.Events)
			}
			for i, m := range g.Metas {
				want := timeline.Time(math.Round(float64(probe.Frames[i].TS-probe.Frames[0].TS) * n / d * 1e9))
				if got := m.Sampled.Earliest; got < want-1 || got > want+1 {
					t.Errorf("frame %d at %d ns, want %d", i, got, want)
				}
			}
		})
	}
}

// Of a lossless RGB file every pixel is the one that was put in.
func TestPixelsAreExact(t *testing.T) {
	const width, height, frames = 35, 21, 5
	dir := t.TempDir()
	var want [][]byte
	for n := range frames {
		m, bgr := noise(byte(n), width, height)
		save(t, filepath.Join(dir, fmt.Sprintf("%d.png", n)), m)
		want = append(want, bgr)
	}
	path := filepath.Join(dir, "a.mkv")
	ffmpeg(t, "ffmpeg", "-framerate", "25", "-i", filepath.Join(dir, "%d.png"), "-c:v", "ffv1", "-pix_fmt", "bgr0",
		path)
	s, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	var meta struct {
		Codec string
		FPS   float64
	}
	if m := s.Info().Metadata; len(m) != 1 || m[0].Name != fileMetadata || json.Unmarshal(m[0].Value, &meta) != nil ||
		meta.Codec != "FFV1" || meta.FPS != 25 {
		t.Errorf("metadata %v: %+v", m, meta)
	}
	g := play(t, s)
	if g.Err != nil || len(g.Frames) != frames {
		t.Fatalf("%d frames, error %v", len(g.Frames), g.Err)
	}
	for n := range want {
		if !bytes.Equal(g.Frames[n], want[n]) {
			t.Errorf("frame %d changed", n)
		}
		if at := g.Metas[n].Sampled.Mid(); at != timeline.Time(n*40)*timeline.Time(time.Millisecond) {
			t.Errorf("frame %d at %d", n, at)
		}
	}
}

// A file that is cut anywhere gives its whole frames, unchanged, and an error; or can't be opened.
// Each cut starts a program twice. With EIDETICKER_SOAK there are three times as many.
func TestCutFiles(t *testing.T) {
	for _, name := range []string{"fast.mp4", "a.mkv", "a.webm", "a.avi", "a.ts"} {
		t.Run(name, func(t *testing.T) {
			path := variable(t, name)
			s, err := Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			whole := play(t, s)
			if whole.Err != nil {
				t.Fatal(whole.Err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			some := 0
			cuts := 4
			switch {
			case testing.Short():
				cuts = 3
			case os.Getenv("EIDETICKER_SOAK") != "":
				cuts = 12
			}
			for i := range cuts {
				cut := len(data) * (i + 1) / (cuts + 1)
				if filepath.Ext(path) == ".ts" && cut%188 == 0 {
					cut++ // see the package's documentation
				}
				if err := os.WriteFile(path, data[:cut], 0o600); err != nil {
					t.Fatal(err)
				}
				s, err := Open(path, nil)
				if err == nil {
					g := play(t, s)
					err = g.Err
					some = max(some, len(g.Frames))
					for n := range g.Frames {
						if n >= len(whole.Frames) || !bytes.Equal(g.Frames[n], whole.Frames[n]) {
							t.Errorf("cut at %d of %d: frame %d of %d is not whole", cut, len(data), n, len(g.Frames))
						}
					}
					if want := fmt.Sprintf("%d frames", len(g.Frames)); !strings.Contains(fmt.Sprint(err), want) {
						t.Errorf("cut at %d: error %v, want %q", cut, err, want)
					}
				}
				if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "truncated") {
					t.Errorf("cut at %d of %d: error %v", cut, len(data), err)
				}
			}
			if some < len(whole.Frames)/2 {
				t.Errorf("never more than %d frames of %d", some, len(whole.Frames))
			}
		})
	}
}

func TestFileRefuses(t *testing.T) {
	path := variable(t, "a.mp4")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		data []byte
		want []string
	}{
		{"empty", nil, []string{"no decodable video"}},
		{"text", []byte("#EXTM3U\nfile:///etc/passwd\n"), []string{"no decodable video"}},
		{"without its index", data[:len(data)/2], []string{"truncated", `"mdat"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "in")
			if err := os.WriteFile(path, tc.data, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path, nil)
			for _, want := range append(tc.want, "video:"+path) {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("error %v, want %q", err, want)
				}
			}
		})
	}
	if _, err := Open(path, url.Values{"fps": {"60"}}); err == nil || !strings.Contains(err.Error(), "its own times") {
		t.Error(err)
	}
}

// Streams without times get them from the rate, and an event says so.
func TestTimesMadeUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h264")
	ffmpeg(t, "ffmpeg", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=1", "-c:v", "libx264", path)
	s, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := play(t, s)
	if g.Err != nil || len(g.Frames) != 25 || len(g.Events) != 1 || string(g.Events[0].Data) != `{"frames":24}` {
		t.Errorf("%d frames, error %v, events %+v", len(g.Frames), g.Err, g.Events)
	}
	for n, m := range g.Metas {
		if m.Sampled.Mid() != timeline.Time(n*40e6) {
			t.Errorf("frame %d at %v", n, m.Sampled)
		}
	}
}

// A rotation is reported and not applied.
func TestRotation(t *testing.T) {
	plain := variable(t, "a.mp4")
	path := filepath.Join(t.TempDir(), "b.mp4")
	ffmpeg(t, "ffmpeg", "-i", plain, "-c", "copy", "-metadata:s:v", "rotate=90", path)
	s, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if i := s.Info(); i.Format.Width != 162 || !strings.Contains(string(i.Metadata[0].Value), `"rotation":90`) {
		t.Errorf("%v, %s", i.Format, i.Metadata[0].Value)
	}
}

func TestCancelAndClosed(t *testing.T) {
	s, err := Open(variable(t, "a.mp4"), nil)
	if err != nil {
		t.Fatal(err)
	}
	size := s.Info().Format.Size()
	ring, err := ringbuf.New[frame.Meta](make([]byte, ringbuf.BytesFor(3, size)+ringbuf.Alignment), size)
	if err != nil {
		t.Fatal(err)
	}
	ring.NewReader(ringbuf.Lossless) // reads nothing
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx, ring, nil) }()
	for deadline := time.After(time.Minute); ring.Fill() < 1; {
		select {
		case err := <-ran:
			t.Fatalf("the source has ended: %v", err)
		case <-deadline:
			t.Fatal("the ring is not full within a minute")
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	s.Close()
	if err := s.Run(t.Context(), ring, nil); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

// FFmpeg would write about broken files to the process's standard error.
func TestSilence(t *testing.T) {
	if path := os.Getenv("VIDEO_TEST_FILE"); path != "" {
		if s, err := Open(path, nil); err == nil {
			play(t, s)
		}
		return
	}
	path := variable(t, "fast.mp4")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{len(data) / 4, len(data) * 2 / 3} {
		for i := n - 300; i < n-200; i++ { // and damaged
			data[i] ^= 0x55
		}
		if err := os.WriteFile(path, data[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run", "^TestSilence$")
		cmd.Env = append(os.Environ(), "VIDEO_TEST_FILE="+path)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if out, err := cmd.Output(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		if stderr.Len() > 0 {
			t.Errorf("written to standard error:\n%s", &stderr)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.mp4")
	cmd := exec.Command("ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i",
		"testsrc2=size=1920x1080:rate=60:duration=1", "-c:v", "libx264", "-preset", "ultrafast", path)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	b.ReportAllocs()
	frames := 0
	for b.Loop() {
		s, err := Open(path, nil)
		if err != nil {
			b.Fatal(err)
		}
		size := s.Info().Format.Size()
		ring, err := ringbuf.New[frame.Meta](make([]byte, ringbuf.BytesFor(3, size)+ringbuf.Alignment), size)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Run(b.Context(), ring, nil); err != nil {
			b.Fatal(err)
		}
		frames += int(ring.Stats().Committed)
		s.Close()
	}
	b.ReportMetric(float64(frames)/b.Elapsed().Seconds(), "frames/s")
}
