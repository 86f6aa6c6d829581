package terminal

import (
	"errors"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// table is rows of cleaned cells below a heading, which is the first row.
type Rows struct {
	rows    [][]string
	right   []bool // columns that are aligned to the right
	widths  []int
	width   int
	stacked bool // the columns do not fit: each row is a list of names and values
}

// printTable prints rows, cleaned, in columns under a heading; columns whose name starts with >
// are aligned to the right.
func Table(w io.Writer, heading []string, rows [][]string) error {
	return NewRows(w, heading, rows, Width(w)).printAll(w)
}

func (t *Rows) printAll(w io.Writer) (err error) {
	for i := range t.rows {
		err = errors.Join(err, t.Print(w, i))
	}
	return err
}

// tableWidth returns the width of tables and lists on a terminal. Lines for files and pipes are not
// broken, since other programs may read them.
func Width(w io.Writer) int {
	if IsTerminal(w) {
		return Columns(w)
	}
	return math.MaxInt
}

// newTable lays rows out in a width. It breaks the heading first, then columns of words at blanks,
// then names after dots. If that is too little, the rows are stacked.
func NewRows(w io.Writer, heading []string, rows [][]string, width int) *Rows {
	t := &Rows{right: make([]bool, len(heading)), widths: make([]int, len(heading)), width: width}
	names := make([]string, len(heading))
	for i, h := range heading {
		names[i], t.right[i] = strings.CutPrefix(h, ">")
	}
	floors := [3][]int{make([]int, len(heading)), make([]int, len(heading)), make([]int, len(heading))}
	for n, row := range append([][]string{names}, rows...) {
		cells := make([]string, len(heading))
		for i, cell := range row {
			cells[i] = shownOn(w, cell)
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cells[i]))
			words := strings.Fields(cells[i])
			parts := [3][]string{{cells[i]}, words, strings.Fields(strings.ReplaceAll(cells[i], ".", ". "))}
			switch {
			case n == 0:
				parts = [3][]string{words, words, words}
			case t.right[i]: // numbers are not broken
				parts = [3][]string{parts[0], parts[0], parts[0]}
			case i == 0:
				parts[1] = parts[0]
			}
			for k, floor := range floors {
				for _, part := range parts[k] {
					floor[i] = max(floor[i], utf8.RuneCountInString(part), min(t.widths[i], minWords))
				}
			}
		}
		t.rows = append(t.rows, cells)
	}
	total := -2
	for _, n := range t.widths {
		total += n + 2
	}
	for _, floor := range floors {
		for total > width {
			widest := -1
			for i, n := range t.widths {
				if n > floor[i] && (widest < 0 || n > t.widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			t.widths[widest]--
			total--
		}
	}
	t.stacked = total > width
	return t
}

// minWords is the least width of a column of words. Narrower ones are hard to read.
const minWords = 10

// print prints a row. The heading is row 0.
func (t *Rows) Print(w io.Writer, row int) (err error) {
	if t.stacked {
		return t.stack(w, row)
	}
	cells, most := make([][]string, len(t.widths)), 1 // lines of each
	for i, cell := range t.rows[row] {
		for _, line := range fold(cell, t.widths[i]) {
			cells[i] = append(cells[i], afterDots(line, t.widths[i])...)
		}
		most = max(most, len(cells[i]))
	}
	for n := range most {
		blanks := 0 // before the next text
		for i, lines := range cells {
			text := ""
			if n < len(lines) {
				text = lines[n]
			}
			pad := t.widths[i] - utf8.RuneCountInString(text)
			if t.right[i] {
				blanks, pad = blanks+pad, 0
			}
			if text != "" {
				err = errors.Join(err, InStyle(w, "", strings.Repeat(" ", blanks)),
					InStyle(w, t.style(row, i, text), text))
				blanks = 0
			}
			blanks += pad + 2
		}
		err = errors.Join(err, InStyle(w, "", "\n"))
	}
	return err
}

// style returns the style of a line of a cell. Names in the first column have none, and parts of
// cells have none.
func (t *Rows) style(row, column int, line string) Style {
	if column == 0 && t.rows[0][0] != "" || line != t.rows[row][column] {
		return ""
	}
	return StyleOf(line)
}

// stack prints the names of a row, then a line for each other cell. The heading has its first name.
func (t *Rows) stack(w io.Writer, row int) (err error) {
	names, longest := t.rows[0], 0
	for _, name := range names[1:] {
		longest = max(longest, utf8.RuneCountInString(name))
	}
	head := t.rows[row][0]
	for i, name := range names {
		if i > 0 && name == "" {
			head = Joined(" ", head, t.rows[row][i])
		}
	}
	for _, line := range fold(head, t.width) {
		if line != "" {
			err = errors.Join(err, InStyle(w, "", strings.Join(breakForm(line, t.width), "\n")+"\n"))
		}
	}
	for i, cell := range t.rows[row] {
		if row == 0 || i == 0 || names[i] == "" || cell == "" {
			continue
		}
		lead := "  " + names[i] + strings.Repeat(" ", longest-utf8.RuneCountInString(names[i])+2)
		for _, line := range fold(cell, t.width-longest-4) {
			err = errors.Join(err, InStyle(w, "", lead), InStyle(w, t.style(row, i, line), line), InStyle(w, "", "\n"))
			lead = strings.Repeat(" ", longest+4)
		}
	}
	return err
}

// afterDots breaks a name that is wider than the width.
func afterDots(s string, width int) (lines []string) {
	for utf8.RuneCountInString(s) > width {
		at := strings.LastIndexByte(string([]rune(s)[:width]), '.') + 1
		if at == 0 {
			break
		}
		lines, s = append(lines, s[:at]), s[at:]
	}
	return append(lines, s)
}

// fold breaks a text that is wider than the width, and keeps its indentation.
func fold(s string, width int) []string {
	if utf8.RuneCountInString(s) <= width {
		return []string{s}
	}
	text := strings.TrimLeft(s, " ")
	by := s[:len(s)-len(text)]
	lines := Wrap(text, max(1, width-len(by)))
	for i := range lines {
		lines[i] = by + lines[i]
	}
	return lines
}
