//go:build linux && rigvm && benchrig

package v4l2

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// peer is another program that takes frames from a device.
type peer struct {
	name, program string
	does          string
	args          func(fourcc string) []string // to run until it is ended
	count         func(stderr []byte) int      // how many frames it says it has taken
}

var ffmpegFormats = map[string]string{"BGR4": "bgr0", "YUYV": "yuyv422"}

func allPeers() []peer {
	v4l2ctl := func(kind string) func(string) []string {
		return func(fourcc string) []string {
			return []string{
				"-d", hdmi, "--set-fmt-video=width=1920,height=1080,pixelformat=" + fourcc,
				fmt.Sprintf("--stream-%s=%d", kind, defaultBuffers),
			}
		}
	}
	marks := func(stderr []byte) int { return bytes.Count(stderr, []byte("<")) } // one for each frame
	return []peer{
		{"v4l2-ctl --stream-mmap", "v4l2-ctl", "given back unread", v4l2ctl("mmap"), marks},
		{"v4l2-ctl --stream-user", "v4l2-ctl", "given back unread", v4l2ctl("user"), marks},
		{"ffmpeg -f v4l2 -c copy", "ffmpeg", "passed on, dropped", func(fourcc string) []string {
			return []string{
				"-hide_banner", "-nostdin", "-stats", "-stats_period", "0.1", "-f", "v4l2", "-input_format",
				ffmpegFormats[fourcc], "-video_size", "1920x1080",
				"-framerate", "60", "-i", hdmi, "-c", "copy", "-f", "null", "-",
			}
		}, ffmpegFrames},
	}
}

var ffmpegStats = regexp.MustCompile(`frame= *(\d+)`)

func ffmpegFrames(stderr []byte) int {
	all := ffmpegStats.FindAllSubmatch(stderr, -1)
	if len(all) == 0 {
		return 0
	}
	n, err := strconv.Atoi(string(all[len(all)-1][1]))
	if err != nil {
		return 0
	}
	return n
}

// peers are the ways of other programs, as far as they are in a folder, see TestBenchRig.
func peers(dir, fourcc string) []*way {
	var all []*way
	for _, p := range allPeers() {
		if dir == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "bin", p.program)); err != nil {
			continue
		}
		all = append(all, &way{name: p.name, does: p.does,
			measure: func(n int) (time.Duration, error) { return p.perFrame(dir, fourcc, n) }})
	}
	return all
}

// perFrame runs a program until it has taken enough frames. Neither its start nor its end is
// measured.
func (p peer) perFrame(dir, fourcc string, frames int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), costPatience(frames))
	defer cancel()
	// The loader gets the libraries' folder, so the machine's own libraries are not used.
	args := append([]string{"--library-path", filepath.Join(dir, "lib"), filepath.Join(dir, "bin", p.program)},
		p.args(fourcc)...)
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "lib", "ld-linux-x86-64.so.2"), args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	cost, err := p.follow(stderr, cmd.Process.Pid, frames)
	cancel()
	_ = cmd.Wait() // it was killed
	return cost, err
}

// follow reads a program's clock when it says that it has taken a frame: the first after the
// warm-up, and one after as many more.
func (p peer) follow(stderr io.Reader, pid, frames int) (time.Duration, error) {
	var said []byte
	var start time.Duration
	first := 0
	for buf := make([]byte, 4096); ; {
		n, err := stderr.Read(buf)
		if said = append(said, buf[:n]...); err != nil {
			return 0, fmt.Errorf("it ended after %d frames: %s", p.count(said), said)
		}
		taken := p.count(said)
		switch {
		case taken < costWarmUp:
		case first == 0:
			first = taken
			if start, err = processTime(pid); err != nil {
				return 0, err
			}
		case taken >= first+frames:
			end, err := processTime(pid)
			return (end - start) / time.Duration(taken-first), err
		}
	}
}
