package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Widths of lines, in columns.
const (
	usualColumns = 100
	leastText    = 24 // beside the other columns; a terminal that has less wraps by itself
)

// columns returns how wide lines may be: the terminal's width or $COLUMNS, up to what reads well.
func columns(w io.Writer) int {
	n := usualColumns
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			n = min(n, width)
		}
	} else if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		n = min(n, width)
	}
	return n
}

// clean replaces what a terminal would obey: names come from devices and from files that others wrote.
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

// wrap breaks a text, cleaned, at blanks into lines of at most so many columns; a longer word has a line of its own.
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

// printWrapped prints rows, cleaned, under a heading. The last column is wrapped to what is left of a width, and each of its lines that
// follow begins below it. What is too wide for a column stands above its row, alone.
func printWrapped(w io.Writer, heading []string, rows [][]string, width int) error {
	last := len(heading) - 1
	widest := width / 2 / last
	widths := make([]int, last)
	for _, row := range append([][]string{heading}, rows...) {
		for i := range widths {
			if n := utf8.RuneCountInString(clean(row[i])); n <= widest {
				widths[i] = max(widths[i], n)
			}
		}
	}
	var b strings.Builder
	for _, row := range append([][]string{heading}, rows...) {
		head := ""
		for i, n := range widths {
			cell := clean(row[i])
			if utf8.RuneCountInString(cell) > n {
				for _, part := range breakForm(cell, width) {
					b.WriteString(part + "\n")
				}
				cell = ""
			}
			head += cell + strings.Repeat(" ", n-utf8.RuneCountInString(cell)+2)
		}
		indent := utf8.RuneCountInString(head)
		lines := wrap(row[last], max(leastText, width-indent))
		if len(lines) == 0 {
			lines = []string{""}
		}
		for _, line := range lines {
			b.WriteString(strings.TrimRight(head+line, " ") + "\n")
			head = strings.Repeat(" ", indent)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
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
