package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"image/png"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/capture/frame"
)

// heatDifference is how often pixels changed in B and did not in A, and the other way round.
type heatDifference struct {
	picture, numbers string // paths; empty where there is none
	more, less       uint64 // changes by which B has more, and less, over all pixels
	refusal          string
}

// compareHeatJSON is that for --json.
type compareHeatJSON struct {
	Picture string `json:"picture"`
	Numbers string `json:"numbers"`
	More    uint64 `json:"more_changes"`
	Less    uint64 `json:"fewer_changes"`
	Refusal string `json:"refusal"`
}

func (h *heatDifference) json() *compareHeatJSON {
	if h == nil {
		return nil
	}
	return &compareHeatJSON{h.picture, h.numbers, h.more, h.less, h.refusal}
}

func (h *heatDifference) text() string {
	if h.refusal != "" {
		return "no difference of heat maps: " + h.refusal
	}
	return fmt.Sprintf("pixels of B change %s more and %s fewer; see %s and %s", plural(h.more, "time"), countText(h.less), h.picture, h.numbers)
}

// window returns the window of a run that the primary measure is of.
func (c *comparison) window(r *runResults) (*report.Window, bool) {
	for i, key := range r.keys {
		if key == c.primary.key.window {
			return &r.windows[i], true
		}
	}
	return nil, false
}

// heatOf reads the counts behind a window's heat map.
func heatOf(r *runResults, w *report.Window) (*analyze.Heat, error) {
	file := ""
	for _, p := range w.Pictures {
		if p.Kind == report.PictureHeatMap && p.Data != "" {
			file = p.Data
			break
		}
	}
	if file == "" {
		return nil, fmt.Errorf("run %s has no heat map; analyze it with heatmap and -o", r.name)
	}
	f, err := os.Open(filepath.Join(r.dir, filepath.FromSlash(file)))
	if err != nil {
		return nil, err
	}
	defer f.Close() // was only read
	h, err := readHeat(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if len(w.Region) == 4 {
		h.X, h.Y = w.Region[0], w.Region[1]
	}
	return h, nil
}

// writeHeat writes the difference of two windows' heat maps, as a picture and as numbers. What makes that impossible is a refusal.
func (c *comparison) writeHeat(dir evidenceFolder, a, b *runResults, wa, wb *report.Window) error {
	c.heat = &heatDifference{}
	before, errA := heatOf(a, wa)
	now, errB := heatOf(b, wb)
	if err := errors.Join(errA, errB); err != nil {
		c.heat.refusal = sentence(err)
		return nil
	}
	if before.Width != now.Width || before.Height != now.Height {
		c.heat.refusal = fmt.Sprintf("they are of %dx%d and %dx%d pixels", before.Width, before.Height, now.Width, now.Height)
		return nil
	}
	now.X, now.Y = before.X, before.Y
	picture, err := render.HeatDifference(before, now, render.HeatOptions{})
	if err != nil {
		c.heat.refusal = err.Error()
		return nil
	}
	for i, n := range now.Counts {
		m := before.Counts[i]
		c.heat.more += uint64(max(n, m) - m)
		c.heat.less += uint64(max(n, m) - n)
	}
	c.heat.picture, c.heat.numbers = dir.name(heatPictureFile), dir.name(heatNumbersFile)
	if err := writeWhole(dir.path(heatPictureFile), func(out *outFile) error { return png.Encode(out, picture) }); err != nil {
		return err
	}
	return writeWhole(dir.path(heatNumbersFile), func(out *outFile) error { return render.WriteDifferenceNPY(out, before, now) })
}

var errNPY = errors.New("not a heat map in NumPy's format: want a 2-D array of uint32 in rows")

// readHeat reads an array of uint32 in NumPy's format, version 1 or 2, as render.WriteNPY and numpy.save write it. What it
// allocates is bounded by what there is to read.
func readHeat(from io.Reader) (*analyze.Heat, error) {
	head := make([]byte, 8)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, fmt.Errorf("%w: %w", errNPY, err)
	}
	if string(head[:6]) != "\x93NUMPY" || head[6] != 1 && head[6] != 2 {
		return nil, errNPY
	}
	length := make([]byte, 2*int(head[6])) // 16 bits, or 32
	if _, err := io.ReadFull(from, length); err != nil {
		return nil, fmt.Errorf("%w: %w", errNPY, err)
	}
	n := int(binary.LittleEndian.Uint16(length))
	if head[6] == 2 && binary.LittleEndian.Uint16(length[2:]) != 0 {
		return nil, errNPY
	}
	dict := make([]byte, n)
	if _, err := io.ReadFull(from, dict); err != nil {
		return nil, fmt.Errorf("%w: %w", errNPY, err)
	}
	width, height, err := npyShape(string(dict))
	if err != nil {
		return nil, err
	}
	h := &analyze.Heat{Width: width, Height: height}
	row := make([]byte, 4*width)
	for range height {
		if _, err := io.ReadFull(from, row); err != nil {
			return nil, fmt.Errorf("read counts: %w", err)
		}
		for x := range width {
			h.Counts = append(h.Counts, binary.LittleEndian.Uint32(row[4*x:]))
		}
	}
	return h, nil
}

// npyShape reads the header: a Python dictionary of descr, fortran_order and shape.
func npyShape(dict string) (width, height int, err error) {
	kind := regexp.MustCompile(`'descr'\s*:\s*'<u4'`)
	rows := regexp.MustCompile(`'fortran_order'\s*:\s*False`)
	shape := regexp.MustCompile(`'shape'\s*:\s*\(\s*(\d{1,5})\s*,\s*(\d{1,5})\s*,?\s*\)`).FindStringSubmatch(dict)
	if !kind.MatchString(dict) || !rows.MatchString(dict) || shape == nil {
		return 0, 0, errNPY
	}
	height, errH := strconv.Atoi(shape[1])
	width, errW := strconv.Atoi(shape[2])
	if errH != nil || errW != nil || width < 1 || height < 1 || width > frame.MaxSide || height > frame.MaxSide {
		return 0, 0, fmt.Errorf("%w: shape (%s, %s)", errNPY, shape[1], shape[2])
	}
	return width, height, nil
}

// evidenceFolder is what -o asks for, in the making.
type evidenceFolder struct{ made, shown string }

// path is where to write a file.
func (f evidenceFolder) path(name string) string { return filepath.Join(f.made, name) }

// name is what the file will be called.
func (f evidenceFolder) name(name string) string { return filepath.Join(f.shown, name) }

// pictures writes what -o asks for, about the two runs that are shown.
func (c *comparison) pictures(e *env, dir evidenceFolder) error {
	if c.shownA < 0 || c.shownB < 0 {
		return nil
	}
	a, b := &c.a.runs[c.shownA], &c.b.runs[c.shownB]
	wa, okA := c.window(a)
	wb, okB := c.window(b)
	if !okA || !okB {
		return nil
	}
	if err := c.writeHeat(dir, a, b, wa, wb); err != nil {
		return err
	}
	if err := c.writeDivergence(e, dir, a, b, wa, wb); err != nil {
		return err
	}
	return c.writePair(e, dir, a, b, wa, wb)
}

// recordingOf is the path of a run's recording.
func recordingOf(r *runResults) (string, error) {
	name := r.recording.File
	if name == "" {
		name = "recording.eid"
	}
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", noRecordingError{fmt.Errorf("run %s has no %s", r.name, name)}
		}
		return "", err
	}
	return path, nil
}
