package main

import (
	"errors"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// table is rows of cleaned cells below a heading, which is the first row.
type table struct {
	w       io.Writer
	rows    [][]string
	right   []bool // columns that are aligned to the right
	widths  []int
	width   int
	stacked bool // the columns do not fit: each row is a list of names and values
}

// printTable prints rows, cleaned, in columns under a heading; columns whose name starts with >
// are aligned to the right.
func printTable(w io.Writer, heading []string, rows [][]string) error {
	t := newTable(w, heading, rows, tableWidth(w))
	for i := range t.rows {
		if err := t.print(w, i); err != nil {
			return err
		}
	}
	return nil
}

// tableWidth returns the width of tables and lists: a terminal's or $COLUMNS. Without both, lines
// are not broken, since other programs may read them.
func tableWidth(w io.Writer) int {
	if n := columns(w); isTerminal(w) || n < usualColumns {
		return n
	}
	return math.MaxInt
}

// newTable lays rows out in a width. The heading is broken first, then columns of words. If that is
// too little, the rows are stacked.
func newTable(w io.Writer, heading []string, rows [][]string, width int) *table {
	t := &table{right: make([]bool, len(heading)), widths: make([]int, len(heading)), width: width}
	names := make([]string, len(heading))
	for i, h := range heading {
		names[i], t.right[i] = strings.CutPrefix(h, ">")
	}
	whole, least := make([]int, len(heading)), make([]int, len(heading)) // widths without and with broken cells
	for n, row := range append([][]string{names}, rows...) {
		cells := make([]string, len(heading))
		for i, cell := range row {
			cells[i] = shown(w, cell)
			size := utf8.RuneCountInString(cells[i])
			longest := 0
			for word := range strings.FieldsSeq(cells[i]) {
				longest = max(longest, utf8.RuneCountInString(word))
			}
			t.widths[i] = max(t.widths[i], size)
			if n == 0 {
				size = longest
			} else if i == 0 || t.right[i] { // names and numbers are not broken
				longest = size
			}
			whole[i], least[i] = max(whole[i], size), max(least[i], longest)
		}
		t.rows = append(t.rows, cells)
	}
	total := -2
	for _, n := range t.widths {
		total += n + 2
	}
	for _, floor := range [][]int{whole, least} {
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

// print prints a row. The heading is row 0.
func (t *table) print(w io.Writer, row int) (err error) {
	if t.stacked {
		return t.stack(w, row)
	}
	cells, most := make([][]string, len(t.widths)), 1 // lines of each
	for i, cell := range t.rows[row] {
		cells[i] = fold(cell, t.widths[i])
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
				err = errors.Join(err, inStyle(w, "", strings.Repeat(" ", blanks)), inStyle(w, styleOf(text), text))
				blanks = 0
			}
			blanks += pad + 2
		}
		err = errors.Join(err, inStyle(w, "", "\n"))
	}
	return err
}

// stack prints the names of a row, then a line for each other cell. The heading has its first name.
func (t *table) stack(w io.Writer, row int) (err error) {
	names, longest := t.rows[0], 0
	for _, name := range names[1:] {
		longest = max(longest, utf8.RuneCountInString(name))
	}
	head := t.rows[row][0]
	for i, name := range names {
		if i > 0 && name == "" {
			head = joined(" ", head, t.rows[row][i])
		}
	}
	if head != "" {
		err = inStyle(w, "", strings.Join(fold(head, t.width), "\n")+"\n")
	}
	for i, cell := range t.rows[row] {
		if row == 0 || i == 0 || names[i] == "" || cell == "" {
			continue
		}
		lead := "  " + names[i] + strings.Repeat(" ", longest-utf8.RuneCountInString(names[i])+2)
		for _, line := range fold(cell, t.width-longest-4) {
			err = errors.Join(err, inStyle(w, "", lead), inStyle(w, styleOf(line), line), inStyle(w, "", "\n"))
			lead = strings.Repeat(" ", longest+4)
		}
	}
	return err
}

// fold breaks a text that is wider than the width, and keeps its indentation.
func fold(s string, width int) []string {
	if utf8.RuneCountInString(s) <= width {
		return []string{s}
	}
	text := strings.TrimLeft(s, " ")
	by := s[:len(s)-len(text)]
	lines := wrap(text, max(1, width-len(by)))
	for i := range lines {
		lines[i] = by + lines[i]
	}
	return lines
}
