package compare

import (
	"encoding/binary"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/capture/frame"
)

// heatDifference is how often pixels changed in B and did not in A, and the other way round.
type heatDifference struct {
	Picture string `json:"picture"`      // paths; empty where there is none
	Numbers string `json:"numbers"`      // NPY, int32, B − A
	More    uint64 `json:"more_changes"` // by which B has more, over all pixels
	Less    uint64 `json:"fewer_changes"`
	Refusal string `json:"refusal"` // why it is missing
}

func (h *heatDifference) text() string {
	if h.Refusal != "" {
		return "no difference of heat maps: " + h.Refusal
	}
	return fmt.Sprintf("pixels of B change %s more and %s fewer; see %s and %s", wording.Plural(h.More, "time"),
		wording.Count(h.Less), h.Picture, h.Numbers)
}

// heatOf reads the counts behind a window's heat map.
func heatOf(s side) (*analyze.Heat, error) {
	file := ""
	for _, p := range s.window.Pictures {
		if p.Kind == result.PictureHeatMap && p.Data != "" {
			file = p.Data
			break
		}
	}
	if file == "" {
		return nil, fmt.Errorf("run %s has no heat map; analyze it with heatmap and -o", s.run.Name)
	}
	f, err := os.Open(filepath.Join(s.run.Dir, filepath.FromSlash(file)))
	if err != nil {
		return nil, err
	}
	defer f.Close() // was only read
	h, err := readHeat(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if r := s.window.Region; len(r) == 4 {
		h.X, h.Y = r[0], r[1]
	}
	return h, nil
}

// drawHeat writes the difference of two windows' heat maps, as a picture and as numbers. What makes
// that impossible is a refusal.
func (d drawing) drawHeat(a, b side) error {
	heat := &heatDifference{}
	d.heat = heat
	before, errA := heatOf(a)
	now, errB := heatOf(b)
	if err := errors.Join(errA, errB); err != nil {
		heat.Refusal = wording.Sentence(err)
		return nil
	}
	if before.Width != now.Width || before.Height != now.Height {
		heat.Refusal = fmt.Sprintf("they are of %dx%d and %dx%d pixels", before.Width, before.Height, now.Width,
			now.Height)
		return nil
	}
	now.X, now.Y = before.X, before.Y
	picture, err := render.HeatDifference(before, now, render.HeatOptions{})
	if err != nil {
		heat.Refusal = err.Error()
		return nil
	}
	for i, n := range now.Counts {
		m := before.Counts[i]
		heat.More += uint64(max(n, m) - m)
		heat.Less += uint64(max(n, m) - n)
	}
	heat.Picture, heat.Numbers = d.name(heatPictureFile), d.name(heatNumbersFile)
	if err := d.file(heatPictureFile, func(w io.Writer) error { return png.Encode(w, picture) }); err != nil {
		return err
	}
	return d.file(heatNumbersFile, func(w io.Writer) error { return render.WriteDifferenceNPY(w, before, now) })
}

var errNPY = errors.New("not a heat map in NumPy's format: want a 2-D array of uint32 in rows")

// readHeat reads an array of uint32 in NumPy's format, version 1 or 2, as render.WriteNPY and
// numpy.save write it. What it allocates is bounded by what there is to read.
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
