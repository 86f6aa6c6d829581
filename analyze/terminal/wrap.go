package terminal

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
	MinText      = 24 // beside the other columns
)

// columns returns the width of lines: the terminal's, up to usualColumns. $COLUMNS counts for a
// terminal without a size. Shells may export it, so it says nothing about files and pipes.
func Columns(w io.Writer) int {
	f, ok := Inherited(w).(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return usualColumns
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width, err = strconv.Atoi(os.Getenv("COLUMNS"))
	}
	if err != nil || width <= 0 {
		return usualColumns
	}
	return min(usualColumns, width)
}

// plainWriter replaces control characters except line breaks and tabs by '?'. So no text from a
// file can control the terminal.
type Writer struct {
	w       io.Writer
	colours bool // inStyle writes escape sequences
	two     bool // the last byte may begin a control character of two bytes, U+0080 to U+009F
}

func (p *Writer) Write(b []byte) (int, error) {
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

// clean replaces control characters in names from devices and files.
func Clean(s string) string {
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

// wrap cleans a text and breaks it at blanks. A longer word has its own line.
func Wrap(s string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(Clean(s)) {
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

// printWrapped prints rows, cleaned, below a heading. The last column wraps at the width. Others
// wrap at half of the width. A first cell that is too wide has its own line. If the last column had
// less than minText, the rows are stacked.
func Wrapped(w io.Writer, heading []string, rows [][]string, width int) error {
	last := len(heading) - 1
	rows = append([][]string{heading}, rows...)
	for i, row := range rows {
		rows[i] = make([]string, len(row))
		for n, cell := range row {
			rows[i][n] = shownOn(w, cell)
		}
	}
	widths := columnWidths(rows, width/2/last)
	left := width
	for _, n := range widths {
		left -= n + 2
	}
	var b strings.Builder
	if left < MinText {
		return (&Rows{rows: rows, width: width, stacked: true}).printAll(w)
	}
	for _, row := range rows {
		most, cells := 1, make([][]string, last+1) // lines of each
		for i, n := range widths {
			cells[i] = cellLines(row[i], i, n)
			if slices.ContainsFunc(cells[i], func(line string) bool { return utf8.RuneCountInString(line) > n }) {
				for _, part := range breakForm(Clean(row[i]), width) {
					b.WriteString(part + "\n")
				}
				cells[i] = nil
			}
			most = max(most, len(cells[i]))
		}
		cells[last] = Wrap(row[last], left)
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

// columnWidths returns the widths of the columns before the last one, up to widest.
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

// cellLines returns the lines of a cell before the last column. Names in the first one are not
// broken.
func cellLines(cell string, column, width int) []string {
	if column == 0 {
		return []string{Clean(cell)}
	}
	return Wrap(cell, width)
}

// breakForm breaks the form of a URI before its parameters.
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

// indented wraps and indents a text.
func Indented(text, by string, width int) (lines string) {
	for _, line := range Wrap(text, width-len(by)) {
		lines += by + line + "\n"
	}
	return lines
}

// joined joins the parts that are not empty.
func Joined(sep string, parts ...string) string {
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, sep)
}
