package render

import (
	"fmt"
	"image"
	"math"
	"slices"

	"golang.org/x/image/draw"

	"github.com/eideticker/eideticker/capture/frame"
)

// Cell is one picture of a filmstrip.
type Cell struct {
	Frame   int    // number
	Caption string // such as its time, "1.234 s"
	Mark    string // why it matters, such as "first change"; empty for none
	Tone    Tone   // of the mark
	Nothing bool   // the frame is before the first content: an empty picture stands for it
}

// FilmstripOptions say how a filmstrip is drawn.
type FilmstripOptions struct {
	Title     string
	MaxCells  int // 0 for 24
	Columns   int // 0 for what looks best
	CellWidth int // pixels of one picture; 0 for 240
}

// Filmstrip is a sheet of pictures in the making: give it the frames it wants, in any order, and
// take the picture. Only the small pictures are kept. It belongs to one goroutine.
type Filmstrip struct {
	o     FilmstripOptions
	cells []Cell
	small []*image.RGBA
	left  int // cells out of which these were chosen, less these
}

// NewFilmstrip chooses from cells, which are in order of frames: marked ones first, then evenly,
// the first and the last always.
func NewFilmstrip(cells []Cell, o FilmstripOptions) (*Filmstrip, error) {
	if o.MaxCells == 0 {
		o.MaxCells = 24
	}
	if o.CellWidth == 0 {
		o.CellWidth = 240
	}
	const most = 1000
	switch {
	case len(cells) == 0:
		return nil, fmt.Errorf("draw filmstrip: no frames to show")
	case o.MaxCells < 1 || o.MaxCells > most:
		return nil, fmt.Errorf("draw filmstrip: %d cells, want 1 to %d", o.MaxCells, most)
	case o.CellWidth < 64 || o.CellWidth > 1920:
		return nil, fmt.Errorf("draw filmstrip: cells %d pixels wide, want 64 to 1920", o.CellWidth)
	case o.Columns < 0 || o.Columns > most:
		return nil, fmt.Errorf("draw filmstrip: %d columns, want 1 to %d", o.Columns, most)
	}
	chosen := chooseCells(cells, o.MaxCells)
	if o.Columns == 0 {
		o.Columns = bestColumns(len(chosen))
	}
	o.Columns = min(o.Columns, len(chosen))
	return &Filmstrip{o: o, cells: chosen, small: make([]*image.RGBA, len(chosen)), left: len(cells) - len(chosen)}, nil
}

// bestColumns fills rows of up to six, with as few empty places as can be.
func bestColumns(n int) int {
	if n <= 6 {
		return n
	}
	best, holes := 6, (6-n%6)%6
	for c := 5; c >= 4; c-- {
		if h := (c - n%c) % c; h < holes {
			best, holes = c, h
		}
	}
	return best
}

// chooseCells keeps at most n cells: the first, the last and those with a mark. The rest is chosen
// evenly.
func chooseCells(cells []Cell, n int) []Cell {
	if len(cells) <= n {
		return slices.Clone(cells)
	}
	keep := make(map[int]bool, n)
	keep[0] = true
	if n > 1 {
		keep[len(cells)-1] = true
	}
	var marked, plain []int
	for i, c := range cells {
		switch {
		case keep[i]:
		case c.Mark != "":
			marked = append(marked, i)
		default:
			plain = append(plain, i)
		}
	}
	for _, group := range [][]int{marked, plain} {
		for _, at := range evenly(len(group), n-len(keep)) {
			keep[group[at]] = true
		}
	}
	chosen := make([]Cell, 0, n)
	for i, c := range cells {
		if keep[i] {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// evenly returns at most n of the numbers below total, spaced as evenly as possible.
func evenly(total, n int) []int {
	n = min(n, total)
	if n <= 0 {
		return nil
	}
	at := make([]int, n)
	for i := range at {
		at[i] = (2*i + 1) * total / (2 * n)
	}
	return at
}

// Frames returns the numbers of the frames it wants, ascending.
func (f *Filmstrip) Frames() []int {
	var n []int
	for _, c := range f.cells {
		if !c.Nothing && (len(n) == 0 || n[len(n)-1] != c.Frame) {
			n = append(n, c.Frame)
		}
	}
	return n
}

// Add takes the picture of a frame. Frames that are not wanted are ignored.
func (f *Filmstrip) Add(number int, m frame.Image) {
	var small *image.RGBA
	for i, c := range f.cells {
		if c.Frame != number || c.Nothing {
			continue
		}
		if small == nil {
			small = shrink(m, f.o.CellWidth, 2*f.o.CellWidth)
		}
		f.small[i] = small
	}
}

// shrink returns a frame that fits into width×height, scaled down where it has to be.
func shrink(m frame.Image, width, height int) *image.RGBA {
	whole := Picture(m)
	b := whole.Bounds()
	scale := math.Min(1, math.Min(float64(width)/float64(b.Dx()), float64(height)/float64(b.Dy())))
	out := image.NewRGBA(image.Rect(0, 0, max(1, int(float64(b.Dx())*scale+0.5)),
		max(1, int(float64(b.Dy())*scale+0.5))))
	if scale == 1 {
		draw.Draw(out, out.Rect, whole, image.Point{}, draw.Src)
		return out
	}
	draw.CatmullRom.Scale(out, out.Rect, whole, b, draw.Src, nil)
	return out
}

// Picture draws the sheet. Cells whose frame was not added are left empty.
func (f *Filmstrip) Picture() (*image.RGBA, error) {
	fonts, err := newFonts(1)
	if err != nil {
		return nil, fmt.Errorf("draw filmstrip: %w", err)
	}
	const gap, caption = 14, 30
	cell := f.cellSize()
	top := gap
	if f.o.Title != "" || f.left > 0 {
		top = 48
	}
	rows := (len(f.cells) + f.o.Columns - 1) / f.o.Columns
	width := gap + f.o.Columns*(cell.X+gap)
	img := image.NewRGBA(image.Rect(0, 0, width, top+rows*(cell.Y+caption+gap)))
	fill(img, img.Rect, inkBack())
	f.title(img, fonts)
	for i, c := range f.cells {
		at := image.Pt(gap+i%f.o.Columns*(cell.X+gap), top+i/f.o.Columns*(cell.Y+caption+gap))
		f.cell(img, fonts, c, f.small[i], image.Rectangle{Min: at, Max: at.Add(cell)}, caption)
	}
	return img, nil
}

// Row draws the pictures alone, in one row, each with a clear gap behind it. Cells whose frame was
// not added are empty.
func (f *Filmstrip) Row() (*image.RGBA, error) {
	const gap = 4
	cell := f.cellSize()
	img := image.NewRGBA(image.Rect(0, 0, len(f.small)*(cell.X+gap), cell.Y))
	nothing, err := Nothing(cell)
	if err != nil {
		return nil, err
	}
	for i, s := range f.small {
		if f.cells[i].Nothing {
			s = nothing
		}
		if s != nil {
			draw.Draw(img, s.Rect.Add(image.Pt(i*(cell.X+gap), 0)), s, image.Point{}, draw.Src)
		}
	}
	return img, nil
}

// cellSize is the size of the largest picture.
func (f *Filmstrip) cellSize() image.Point {
	size := image.Pt(f.o.CellWidth/2, 0)
	for _, s := range f.small {
		if s != nil {
			size.X, size.Y = max(size.X, s.Rect.Dx()), max(size.Y, s.Rect.Dy())
		}
	}
	if size.Y == 0 {
		size = image.Pt(f.o.CellWidth, f.o.CellWidth*9/16)
	}
	return size
}

func (f *Filmstrip) title(img *image.RGBA, fonts *fonts) {
	const left, base = 14, 31
	right := img.Rect.Dx() - left
	if f.left > 0 {
		text := fmt.Sprintf("%d of %d changes", len(f.cells), len(f.cells)+f.left)
		if fonts.label.width(text) < right-left {
			fonts.label.drawRight(img, right, base, text, inkMuted())
			right -= fonts.label.width(text) + left
		}
	}
	fonts.title.draw(img, left, base, fonts.title.fit(f.o.Title, right-left), inkText())
}

func (f *Filmstrip) cell(img *image.RGBA, fonts *fonts, c Cell, small *image.RGBA, r image.Rectangle, caption int) {
	edge := inkRule()
	if c.Mark != "" {
		edge = c.Tone.colour()
	}
	picture := r
	if small != nil {
		picture = small.Rect.Add(r.Min).Add(image.Pt((r.Dx()-small.Rect.Dx())/2, (r.Dy()-small.Rect.Dy())/2))
	}
	fill(img, picture.Inset(-1), edge)
	if c.Mark != "" {
		fill(img, picture.Inset(-2), edge)
	}
	fill(img, picture, inkPanel())
	if small != nil {
		draw.Draw(img, picture, small, image.Point{}, draw.Src)
	} else {
		text := "not shown"
		if c.Nothing {
			text = nothingYet
		}
		fonts.small.drawMiddle(img, (r.Min.X+r.Max.X)/2, (r.Min.Y+r.Max.Y)/2, text, inkMuted())
	}
	base := r.Max.Y + caption - 9
	end := fonts.title.draw(img, r.Min.X, base, fonts.title.fit(c.Caption, r.Dx()), inkText())
	rest := c.Mark
	ink := c.Tone.colour()
	if rest == "" && !c.Nothing {
		rest, ink = fmt.Sprintf("frame %d", c.Frame), inkMuted()
	}
	if room := r.Max.X - end - 10; room > 30 {
		fonts.small.drawRight(img, r.Max.X, base, fonts.small.fit(rest, room), ink)
	}
}
