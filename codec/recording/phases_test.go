package recording

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
)

// phase is content of one kind: BGR4 frames of any size, made of a seed.
type phase struct {
	name   string
	frames int
	// start returns a function that draws frame n.
	start func(s *stage) func(n int, dst *canvas)
	// codec1 is how many bytes codec 1 wrote at 1280x720, 6 pixels a frame, from seed 1.
	codec1 int64
}

// phases are kinds of content that page tests rarely have.
func phases() []phase {
	return []phase{
		{"vertical scroll", 120, func(s *stage) func(int, *canvas) {
			page := s.page(s.w, 3*s.h)
			return func(n int, dst *canvas) {
				dst.draw(page, 0, -int(float64(s.h)*(1-math.Cos(float64(n)/19))))
			}
		}, 2_093_056},
		{"sideways scroll", 100, func(s *stage) func(int, *canvas) {
			page := s.page(s.w+100*s.speed, s.h)
			return func(n int, dst *canvas) { dst.draw(page, -n*s.speed, 0) }
		}, 53_301_248},
		{"cross-fade", 80, func(s *stage) func(int, *canvas) {
			a, b := s.page(s.w, s.h), s.page(s.w, s.h)
			return func(n int, dst *canvas) {
				for i := range dst.pix {
					dst.pix[i] = byte((int(a.pix[i])*(79-n) + int(b.pix[i])*n) / 79)
				}
			}
		}, 37_101_568},
		{"dragged window", 100, func(s *stage) func(int, *canvas) {
			page, window := s.page(s.w, s.h), s.page(s.w*2/5, s.h*2/5)
			return func(n int, dst *canvas) {
				t := float64(n*s.speed) / 60
				x, y := float64(s.w)*(0.3+0.28*math.Sin(t)), float64(s.h)*(0.3+0.28*math.Cos(1.3*t))
				dst.draw(page, 0, 0)
				dst.shade(int(x)-8, int(y)-8, window.w+16, window.h+16)
				dst.draw(window, int(x), int(y))
			}
		}, 13_963_264},
		{"blinking caret", 100, func(s *stage) func(int, *canvas) {
			page := s.page(s.w, s.h)
			return func(n int, dst *canvas) {
				dst.draw(page, 0, 0)
				if n/10%2 == 1 {
					dst.fill(s.w/3, s.h/2, 2, 18, 0)
				}
			}
		}, 270_336},
		{"noisy video", 100, func(s *stage) func(int, *canvas) {
			page, video := s.page(s.w, s.h), s.photo(s.w*2/3+200, s.h*2/3+200)
			view := newCanvas(s.w*2/3, s.h*2/3)
			return func(n int, dst *canvas) {
				noise := rand.New(rand.NewPCG(uint64(n), 9))
				view.draw(video, -n, -n/2)
				for i := range view.pix {
					if i&3 != 3 {
						view.pix[i] += byte(noise.Uint32() & 3)
					}
				}
				dst.draw(page, 0, 0)
				dst.draw(view, s.w/6, s.h/6)
			}
		}, 164_003_840},
	}
}

// stage is the size, the seed and the speed in pixels a frame of a phase.
type stage struct {
	w, h, speed int
	rng         *rand.Rand
}

func newStage(w, h, speed int, seed uint64) *stage {
	return &stage{w, h, speed, rand.New(rand.NewPCG(seed, 3))}
}

// canvas is a picture of four bytes a pixel.
type canvas struct {
	w, h int
	pix  []byte
}

func newCanvas(w, h int) *canvas { return &canvas{w, h, make([]byte, 4*w*h)} }

// clip returns the part of a box that is inside.
func (c *canvas) clip(x, y, w, h int) (x0, y0, x1, y1 int) {
	return max(x, 0), max(y, 0), min(x+w, c.w), min(y+h, c.h)
}

// draw puts a picture so that its corner is at x, y.
func (c *canvas) draw(from *canvas, x, y int) {
	x0, y0, x1, y1 := c.clip(x, y, from.w, from.h)
	for r := y0; r < y1 && x0 < x1; r++ {
		copy(c.pix[4*(r*c.w+x0):4*(r*c.w+x1)], from.pix[4*((r-y)*from.w+x0-x):])
	}
}

func (c *canvas) fill(x, y, w, h int, colour uint32) {
	x0, y0, x1, y1 := c.clip(x, y, w, h)
	for r := y0; r < y1; r++ {
		for k := x0; k < x1; k++ {
			p := c.pix[4*(r*c.w+k):]
			p[0], p[1], p[2] = byte(colour), byte(colour>>8), byte(colour>>16)
		}
	}
}

// shade makes a box darker.
func (c *canvas) shade(x, y, w, h int) {
	x0, y0, x1, y1 := c.clip(x, y, w, h)
	for r := y0; r < y1; r++ {
		for i := 4 * (r*c.w + x0); i < 4*(r*c.w+x1); i++ {
			c.pix[i] -= c.pix[i] / 4
		}
	}
}

// photo returns smooth shapes with a little texture.
func (s *stage) photo(w, h int) *canvas {
	c := newCanvas(w, h)
	var f [9]float64
	for i := range f {
		f[i] = 0.004 + 0.05*s.rng.Float64()
	}
	for i := 0; i < len(c.pix); i += 4 {
		x, y := float64(i/4%w), float64(i/4/w)
		for k := range 3 {
			v := 120 + 60*math.Sin(f[k]*x+f[k+3]*y) + 40*math.Sin(f[k+6]*(x-y))
			c.pix[i+k] = byte(v) + byte(s.rng.IntN(3))
		}
	}
	return c
}

// page returns text of smooth glyphs, coloured boxes, and photos.
func (s *stage) page(w, h int) *canvas {
	c := newCanvas(w, h)
	c.fill(0, 0, w, h, 0xffffff)
	glyphs := make([]*canvas, 40)
	for i := range glyphs {
		g := newCanvas(7, 12)
		for k := 0; k < len(g.pix); k += 4 {
			v := byte(255)
			if s.rng.IntN(3) == 0 {
				v = byte(s.rng.IntN(6) * 40)
			}
			g.pix[k], g.pix[k+1], g.pix[k+2] = v, v, v
		}
		glyphs[i] = g
	}
	for y := 10; y < h; {
		switch s.rng.IntN(12) {
		case 0:
			p := s.photo(100+s.rng.IntN(w/3), 60+s.rng.IntN(100))
			c.draw(p, 20+s.rng.IntN(w/2), y)
			y += p.h + 12
		case 1:
			c.fill(20, y, w-40, 40, s.rng.Uint32()&0xffffff)
			y += 52
		default:
			for x := 20 + s.rng.IntN(30); x < w-20-s.rng.IntN(w/3); x += 8 {
				if s.rng.IntN(6) > 0 {
					c.draw(glyphs[s.rng.IntN(len(glyphs))], x, y)
				}
			}
			y += 18
		}
	}
	return c
}

// TestPhasesComeBack records variants of all phases. Each frame must return unchanged.
func TestPhasesComeBack(t *testing.T) {
	for i, p := range phases() {
		for _, size := range [][3]int{{200, 120, 6}, {333, 77, 13}} {
			t.Run(fmt.Sprintf("%s %dx%d", p.name, size[0], size[1]), func(t *testing.T) {
				f, all := p.film(t, newStage(size[0], size[1], size[2], uint64(i)), 70)
				d := &memDisk{}
				record(t, d, f, all)
				r, err := newReader(d, int64(len(d.b)))
				if err != nil {
					t.Fatal(err)
				}
				checkFrames(t, r, all)
			})
		}
	}
}

// TestMovesAreCheap bounds what content that moves costs, compared with all its bytes.
func TestMovesAreCheap(t *testing.T) {
	for i, share := range map[int]int64{1: 50, 3: 30} {
		p := phases()[i]
		for _, speed := range []int{1, 17} {
			f, all := p.film(t, newStage(640, 360, speed, 4), 60)
			d := &memDisk{}
			record(t, d, f, all)
			if got, limit := int64(len(d.b)), int64(len(all)*len(all[0]))/share; got > limit {
				t.Errorf("%s, %d pixels a frame: %d bytes, want at most %d", p.name, speed, got, limit)
			}
		}
	}
}

// film draws the first frames of a phase.
func (p *phase) film(t testing.TB, s *stage, frames int) (frame.Format, [][]byte) {
	draw := p.start(s)
	c := newCanvas(s.w, s.h)
	all := make([][]byte, min(frames, p.frames))
	for n := range all {
		draw(n, c)
		all[n] = bytes.Clone(c.pix)
	}
	return format(t, frame.BGR4, s.w, s.h, 0), all
}

// BenchmarkPhases compares the writer with x264 on all phases, both with two processors, and prints
// a table. EIDETICKER_PHASES sets size, speed and seed (default: 1280x720,6,1).
func BenchmarkPhases(b *testing.B) {
	w, h, speed, seed := 1280, 720, 6, uint64(1)
	if v := os.Getenv("EIDETICKER_PHASES"); v != "" {
		if _, err := fmt.Sscanf(v, "%dx%d,%d,%d", &w, &h, &speed, &seed); err != nil {
			b.Fatal(err)
		}
	}
	var out strings.Builder
	tab := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "phase\tbytes\tof codec 1\tof x264\tms a frame\tspeed, x264 = 1\t"+
		"packed\tof veryfast\tms a frame\tread, p99 ms\t")
	for b.Loop() {
		for _, p := range phases() {
			f, all := p.film(b, newStage(w, h, speed, seed), p.frames)
			ours, took := writeFilm(b, f, all)
			theirs, peer := encodeX264(b, f, all, "ultrafast")
			packed, effort, seek := packFilm(b, f, all)
			slow, _ := encodeX264(b, f, all, "veryfast")
			old := "-"
			if p.codec1 > 0 && w == 1280 && h == 720 && speed == 6 && seed == 1 {
				old = fmt.Sprintf("%.2f", float64(ours)/float64(p.codec1))
			}
			fmt.Fprintf(tab, "%s\t%d\t%s\t%.2f\t%.1f\t%.1f\t%d\t%.2f\t%.1f\t%.1f\t\n", p.name, ours, old,
				float64(ours)/float64(theirs),
				took.Seconds()*1000/float64(len(all)), float64(peer)/float64(took), packed,
				float64(packed)/float64(slow), effort.Seconds()*1000/float64(len(all)), seek.Seconds()*1000)
		}
	}
	tab.Flush()
	fmt.Println(out.String())
}

// writeFilm returns the bytes of a recording and the least of three times.
func writeFilm(b *testing.B, f frame.Format, all [][]byte) (int64, time.Duration) {
	var least time.Duration
	var size int64
	for i := range 3 {
		started := time.Now()
		w := newWriter(discard{}, testOptions())
		if err := w.Segment(f, 1, 60); err != nil {
			b.Fatal(err)
		}
		for n, pix := range all {
			if n%MaxAhead == 0 {
				w.Ahead(all[n:min(n+MaxAhead, len(all))])
			}
			if err := w.WriteFrame(pix, metaOf(n), nil); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		if took := time.Since(started); i == 0 || took < least {
			least = took
		}
		size = w.Stats().BytesOut
	}
	return size, least
}

// BenchmarkPack packs each phase at 1280x720.
func BenchmarkPack(b *testing.B) {
	for _, p := range phases() {
		b.Run(strings.ReplaceAll(p.name, " ", "-"), func(b *testing.B) {
			f, all := p.film(b, newStage(1280, 720, 6, 1), p.frames)
			for b.Loop() {
				size, took, seek := packFilm(b, f, all)
				b.ReportMetric(float64(size), "B")
				b.ReportMetric(took.Seconds()*1000/float64(len(all)), "ms/frame")
				b.ReportMetric(seek.Seconds()*1000, "p99-ms")
			}
		})
	}
}

// packFilm returns the bytes of a packed recording and the time of packing. seek is the time in
// which 99 of 100 frames are read in random order.
func packFilm(b *testing.B, f frame.Format, all [][]byte) (size int64, took, seek time.Duration) {
	d := &memDisk{}
	record(b, d, f, all)
	started := time.Now()
	d = packed(b, d)
	took = time.Since(started)
	r, err := newReader(d, int64(len(d.b)))
	if err != nil {
		b.Fatal(err)
	}
	times := make([]time.Duration, 200)
	pix, rng := make([]byte, len(all[0])), rand.New(rand.NewPCG(1, 2))
	for i := range times {
		started := time.Now()
		if err := r.ReadFrame(rng.IntN(len(all)), pix); err != nil {
			b.Fatal(err)
		}
		times[i] = time.Since(started)
	}
	slices.Sort(times)
	return int64(len(d.b)), took, times[len(times)*99/100]
}

// encodeX264 returns the bytes of a lossless video and the time, without the time of reading.
func encodeX264(b *testing.B, f frame.Format, all [][]byte, preset string) (int64, time.Duration) {
	dir := b.TempDir()
	out := filepath.Join(dir, "x264.nut")
	run := func(args ...string) time.Duration {
		var least time.Duration
		for i := range 2 {
			raw := make([]io.Reader, len(all))
			for n, pix := range all {
				raw[n] = bytes.NewReader(pix)
			}
			cmd := exec.Command("ffmpeg", append([]string{"-nostdin", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt",
				"bgr0", "-s", fmt.Sprintf("%dx%d", f.Width, f.Height), "-r", "60", "-i", "-"}, args...)...)
			cmd.Stdin = io.MultiReader(raw...)
			started := time.Now()
			if said, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("ffmpeg: %v: %s", err, said)
			}
			if took := time.Since(started); i == 0 || took < least {
				least = took
			}
		}
		return least
	}
	took := run("-c:v", "libx264rgb", "-preset", preset, "-qp", "0", "-threads", "2", out)
	st, err := os.Stat(out)
	if err != nil {
		b.Fatal(err)
	}
	return st.Size(), took - run("-c", "copy", "-f", "null", "-")
}
