package video

import (
	"cmp"
	"context"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// pictures is a folder of pictures.
type pictures struct {
	info  capture.Info
	dir   string
	names []string
	times []timeline.Time
}

var _ capture.Source = (*pictures)(nil)

func openPictures(dir, fps string) (capture.Source, error) {
	p := &pictures{dir: dir, info: capture.Info{URI: "video:" + dir, OwnClock: true}}
	if err := p.list(); err != nil {
		return nil, fmt.Errorf("video:%s: %w", dir, err)
	}
	if err := p.stamp(fps); err != nil {
		return nil, fmt.Errorf("video:%s: %w", dir, err)
	}
	if err := p.measure(); err != nil {
		return nil, fmt.Errorf("video:%s: %w", dir, err)
	}
	p.info.Frames = uint64(len(p.names))
	return p, nil
}

// list finds the pictures and sorts them. Files without a picture's extension are skipped.
func (p *pictures) list() error {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, ok := decoderOf(e.Name()); ok && !e.IsDir() && e.Name()[0] != '.' {
			p.names = append(p.names, e.Name())
		}
	}
	if len(p.names) == 0 {
		return fmt.Errorf("no pictures in the folder (%s)", strings.Join(endings(), " "))
	}
	slices.SortFunc(p.names, natural)
	return nil
}

// natural orders names as people do: runs of digits by their value.
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		dx, dy := digits(x), digits(y)
		if dx > 0 && dy > 0 {
			nx, ny := strings.TrimLeft(x[:dx], "0"), strings.TrimLeft(y[:dy], "0")
			if c := cmp.Or(cmp.Compare(len(nx), len(ny)), strings.Compare(nx, ny)); c != 0 {
				return c
			}
			x, y = x[dx:], y[dy:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

// stamp gives each picture its time.
func (p *pictures) stamp(fps string) error {
	timed := 0
	for _, name := range p.names {
		if at, ok := milliseconds(name); ok {
			timed++
			p.times = append(p.times, at)
		}
	}
	if timed == 0 {
		period := capture.Rational{Num: 1, Den: 60}
		if fps != "" {
			var err error
			if period.Num, period.Den, err = frame.ParseRate(fps); err != nil {
				return &frame.ParamsError{Err: err}
			}
			p.info.URI += "?fps=" + fps
		}
		p.info.Period = period
		for n := range p.names {
			p.times = append(p.times, timeline.Time(period.Duration(uint64(n))))
		}
		return nil
	}
	if fps != "" {
		return &frame.ParamsError{Err: fmt.Errorf("the names of the pictures have times (%s): omit fps",
			p.names[0])}
	}
	for n, name := range p.names {
		if _, ok := milliseconds(name); !ok {
			return fmt.Errorf("%s has no time in its name, but others have; name all like ms_000920.png, or none", name)
		}
		if n > 0 && p.times[n] <= p.times[n-1] {
			return fmt.Errorf("%s and %s have the same time in their names", p.names[n-1], name)
		}
	}
	return nil
}

// milliseconds reads the time out of a name like ms_000920.png.
func milliseconds(name string) (timeline.Time, bool) {
	s, ok := strings.CutPrefix(strings.TrimSuffix(name, filepath.Ext(name)), "ms_")
	n, err := strconv.ParseUint(s, 10, 40)
	return timeline.Time(time.Duration(n) * time.Millisecond), ok && err == nil
}

// measure holds the size of each picture against the first one's.
func (p *pictures) measure() error {
	for n, name := range p.names {
		c, err := p.config(name)
		if err != nil {
			return err
		}
		f, err := frame.NewFormat(frame.BGR3, c.Width, c.Height)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if n == 0 {
			p.info.Format = f
		} else if f != p.info.Format {
			return fmt.Errorf("%s is %dx%d, and %s before it is %dx%d: all pictures must have one size", name, c.Width,
				c.Height, p.names[0], p.info.Format.Width, p.info.Format.Height)
		}
	}
	return nil
}

func (p *pictures) config(name string) (image.Config, error) {
	f, err := os.Open(filepath.Join(p.dir, name))
	if err != nil {
		return image.Config{}, err
	}
	defer f.Close()
	d, _ := decoderOf(name)
	c, err := d.config(f)
	if err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

func (p *pictures) Info() capture.Info { return p.info }

// Close has nothing to give up: files are open while they are read.
func (p *pictures) Close() error { return nil }

// Run delivers all pictures.
func (p *pictures) Run(ctx context.Context, ring *capture.Ring, _ func(timeline.Event)) error {
	if err := p.info.Fits(ring); err != nil {
		return err
	}
	size := p.info.Format.Size()
	for n, name := range p.names {
		slot, err := ring.Acquire(ctx)
		if err != nil {
			return capture.UnlessEnded(ctx, err)
		}
		if err := p.read(slot.Bytes()[:size], name); err != nil {
			slot.Abandon()
			return fmt.Errorf("%s: %w; the %d pictures before it were delivered", p.info.URI, err, n)
		}
		slot.Commit(size, frame.Meta{Sequence: uint64(n), Sampled: timeline.At(p.times[n])})
	}
	return nil
}

func (p *pictures) read(dst []byte, name string) error {
	c, err := p.config(name) // again: a decoder makes as large a picture as the file now asks for
	if err != nil {
		return err
	}
	f := p.info.Format
	if c.Width != f.Width || c.Height != f.Height {
		return fmt.Errorf("%s changed while it was read: it is %dx%d now", name, c.Width, c.Height)
	}
	file, err := os.Open(filepath.Join(p.dir, name))
	if err != nil {
		return err
	}
	defer file.Close()
	d, _ := decoderOf(name)
	m, err := d.decode(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if m.Bounds().Dx() != f.Width || m.Bounds().Dy() != f.Height {
		return fmt.Errorf("%s: its size differs from its header", name)
	}
	toBGR(dst, m)
	return nil
}
