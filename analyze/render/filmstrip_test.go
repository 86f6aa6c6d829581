package render

import (
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

func cellsOf(n int, marked ...int) []Cell {
	cells := make([]Cell, n)
	for i := range cells {
		cells[i].Frame = 10 * i
	}
	for _, i := range marked {
		cells[i].Mark = "mark"
	}
	return cells
}

func TestCellsAreChosenEvenly(t *testing.T) {
	for _, tc := range []struct {
		name  string
		cells []Cell
		most  int
		want  []int
	}{
		{"all fit", cellsOf(3), 3, []int{0, 10, 20}},
		{"one", cellsOf(9), 1, []int{0}},
		{"two", cellsOf(9), 2, []int{0, 80}},
		{"evenly", cellsOf(11), 5, []int{0, 20, 50, 80, 100}},
		{"marks stay", cellsOf(101, 1, 2, 3), 5, []int{0, 10, 20, 30, 1000}},
		{"marks, then evenly", cellsOf(101, 1), 5, []int{0, 10, 260, 750, 1000}},
		{"too many marks", cellsOf(9, 1, 2, 3, 4, 5, 6, 7), 3, []int{0, 40, 80}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := analyzetest.Must(NewFilmstrip(tc.cells, FilmstripOptions{MaxCells: tc.most}))(t)
			if got := f.Frames(); !slices.Equal(got, tc.want) {
				t.Errorf("frames %v, want %v", got, tc.want)
			}
		})
	}
}

func TestFilmstripRefusals(t *testing.T) {
	for _, tc := range []struct {
		name  string
		cells []Cell
		o     FilmstripOptions
	}{
		{"no frames", nil, FilmstripOptions{}},
		{"cells", cellsOf(2), FilmstripOptions{MaxCells: -1}},
		{"too many cells", cellsOf(2), FilmstripOptions{MaxCells: 1 << 30}},
		{"narrow", cellsOf(2), FilmstripOptions{CellWidth: 5}},
		{"columns", cellsOf(2), FilmstripOptions{Columns: -1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := NewFilmstrip(tc.cells, tc.o); err == nil {
				t.Error("no error")
			}
		})
	}
}

// TestFilmstripWithoutPictures draws a sheet of which no frame came.
func TestFilmstripWithoutPictures(t *testing.T) {
	f := analyzetest.Must(NewFilmstrip(cellsOf(5), FilmstripOptions{Title: "empty"}))(t)
	f.Add(7, page(t, 100, 100, 1)) // is not wanted
	if img, err := f.Picture(); err != nil || img.Rect.Empty() {
		t.Errorf("%v, error %v", img, err)
	}
}

func TestColumns(t *testing.T) {
	for n, want := range map[int]int{1: 1, 4: 4, 6: 6, 7: 4, 8: 4, 10: 5, 12: 6, 15: 5, 24: 6} {
		if got := bestColumns(n); got != want {
			t.Errorf("%d cells stand in %d columns, want %d", n, got, want)
		}
	}
}
