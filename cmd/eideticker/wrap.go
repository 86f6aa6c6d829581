package main

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Widths of lines, in columns.
const (
	usualColumns = 100
	minText      = 24 // beside the other columns; a terminal that has less wraps by itself
)

// columns returns how wide lines may be: the terminal's width or $COLUMNS, up to what reads well.
func columns(w io.Writer) int {
	n := usualColumns
	if f, ok := inherited(w).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			n = min(n, width)
		}
	} else if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		n = min(n, width)
	}
	return n
}

// plainWriter replaces each control character but line breaks and tabs by '?', so that no text from
// a file can control the terminal.
type plainWriter struct {
	w   io.Writer
	two bool // the last byte may begin a control character of two bytes, U+0080 to U+009F
}

func (p *plainWriter) Write(b []byte) (int, error) {
	plain := make([]byte, len(b))
	for i, c := range b {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f || p.two && c >= 0x80 && c < 0xa0 {
			plain[i] = '?'
		} else {
			plain[i] = c
		}
		p.two = c == 0xc2
	}
	return p.w.Write(plain)
}

// inherited returns the writer behind a plainWriter, for programs that inherit it.
func inherited(w io.Writer) io.Writer {
	if p, ok := w.(*plainWriter); ok {
		return p.w
	}
	return w
}

// clean replaces what a terminal would obey: names come from devices and from files that others
// wrote.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// wrap breaks a text, cleaned, at blanks into lines of at most so many columns; a longer word has a
// line of its own.
func wrap(s string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(clean(s)) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// printWrapped prints rows, cleaned, under a heading. The last column is wrapped to what is left of
// a width, one before it to the column, and each of their lines that follow begins below them. A
// first cell, or a word, that is too wide for its column stands above its row, alone.
func printWrapped(w io.Writer, heading []string, rows [][]string, width int) error {
	last := len(heading) - 1
	rows = append([][]string{heading}, rows...)
	widths := columnWidths(rows, width/2/last)
	left := width
	for _, n := range widths {
		left -= n + 2
	}
	var b strings.Builder
	for _, row := range rows {
		most, cells := 1, make([][]string, last+1) // lines of each
		for i, n := range widths {
			cells[i] = cellLines(row[i], i, n)
			if slices.ContainsFunc(cells[i], func(line string) bool { return utf8.RuneCountInString(line) > n }) {
				for _, part := range breakForm(clean(row[i]), width) {
					b.WriteString(part + "\n")
				}
				cells[i] = nil
			}
			most = max(most, len(cells[i]))
		}
		cells[last] = wrap(row[last], max(minText, left))
		for n := range max(most, len(cells[last])) {
			line := ""
			for i, lines := range cells {
				cell := ""
				if n < len(lines) {
					cell = lines[n]
				}
				if line += cell; i < last {
					line += strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
				}
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// columnWidths returns how wide the columns before the last one are: as what is not wider than
// widest.
func columnWidths(rows [][]string, widest int) []int {
	widths := make([]int, len(rows[0])-1)
	for _, row := range rows {
		for i := range widths {
			for _, line := range cellLines(row[i], i, widest) {
				if n := utf8.RuneCountInString(line); n <= widest {
					widths[i] = max(widths[i], n)
				}
			}
		}
	}
	return widths
}

// cellLines returns the lines of a cell before the last column. In the first one are names, which
// are not broken.
func cellLines(cell string, column, width int) []string {
	if column == 0 {
		return []string{clean(cell)}
	}
	return wrap(cell, width)
}

// breakForm breaks a URI's form, which has no blanks, before its parameters.
func breakForm(s string, width int) []string {
	var lines []string
	for utf8.RuneCountInString(s) > width {
		runes := []rune(s)
		at := strings.LastIndexAny(string(runes[:width]), "&[|")
		if at <= 0 || strings.TrimSpace(string(runes[:width])[:at]) == "" {
			break
		}
		head := string(runes[:width])[:at]
		lines, s = append(lines, head), "  "+strings.TrimPrefix(s, head)
	}
	return append(lines, s)
}
