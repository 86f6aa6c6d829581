//go:build linux && rigvm

package v4l2

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// peer is another program that takes frames from a device.
type peer struct {
	name, program string
	does          string
	args          func(fourcc string, frames int) []string
	count         func(stderr []byte) int // how many frames it says it has taken
}

var ffmpegFormats = map[string]string{"BGR4": "bgr0", "YUYV": "yuyv422"}

func allPeers() []peer {
	v4l2ctl := func(kind string) func(string, int) []string {
		return func(fourcc string, frames int) []string {
			return []string{
				"-d", hdmi, "--set-fmt-video=width=1920,height=1080,pixelformat=" + fourcc,
				fmt.Sprintf("--stream-%s=%d", kind, defaultBuffers), fmt.Sprintf("--stream-count=%d", frames),
			}
		}
	}
	marks := func(stderr []byte) int { return bytes.Count(stderr, []byte("<")) } // one for each frame
	return []peer{
		{"v4l2-ctl --stream-mmap", "v4l2-ctl", "gives it back unread", v4l2ctl("mmap"), marks},
		{"v4l2-ctl --stream-user", "v4l2-ctl", "gives it back unread, same memory", v4l2ctl("user"), marks},
		{"ffmpeg -f v4l2 -c copy", "ffmpeg", "passes it on, drops it", func(fourcc string, frames int) []string {
			return []string{
				"-hide_banner", "-nostdin", "-stats", "-f", "v4l2", "-input_format", ffmpegFormats[fourcc], "-video_size", "1920x1080",
				"-framerate", "60", "-i", hdmi, "-frames:v", strconv.Itoa(frames), "-c", "copy", "-f", "null", "-",
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
		all = append(all, &way{name: p.name, does: p.does, measure: func(n int) (time.Duration, error) { return p.perFrame(dir, fourcc, n) }})
	}
	return all
}

// perFrame measures a program with few frames and with more. The difference has neither its start nor its end.
func (p peer) perFrame(dir, fourcc string, frames int) (time.Duration, error) {
	few, err := p.took(dir, fourcc, costWarmUp)
	if err != nil {
		return 0, err
	}
	many, err := p.took(dir, fourcc, costWarmUp+frames)
	return (many - few) / time.Duration(frames), err
}

// took returns the processor time of one run, of all its threads.
func (p peer) took(dir, fourcc string, frames int) (time.Duration, error) {
	// The loader is told where the libraries are: what this machine has of its own is not looked at.
	args := append([]string{"--library-path", filepath.Join(dir, "lib"), filepath.Join(dir, "bin", p.program)}, p.args(fourcc, frames)...)
	cmd := exec.Command(filepath.Join(dir, "lib", "ld-linux-x86-64.so.2"), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, stderr.Bytes())
	}
	if n := p.count(stderr.Bytes()); n != frames {
		return 0, fmt.Errorf("%s took %d frames, want %d: %s", strings.Join(args, " "), n, frames, stderr.Bytes())
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// costTable lays out what was measured. The first way is what the others are held against.
func costTable(title string, ways []*way) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n\n", title)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  \tleast\tmiddle\tof a core at 60/s\tplain copies\tallocations\twhat it does with a frame")
	copies := least(ways[0].rounds)
	for _, way := range ways {
		l, m := least(way.rounds), middle(way.rounds)
		fmt.Fprintf(w, "  %s\t%v\t%v\t%.1f %%\t%.2f\t%d\t%s\n", way.name, l.Round(time.Microsecond), m.Round(time.Microsecond),
			100*60*l.Seconds(), float64(l)/float64(copies), way.allocs, way.does)
	}
	if err := w.Flush(); err != nil {
		return errors.Join(errors.New("lay out the table"), err).Error()
	}
	return b.String()
}

func least(all []time.Duration) time.Duration { return slices.Min(all) }

func middle(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
