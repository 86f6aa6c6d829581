package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/eideticker/eideticker/cmd/eideticker/internal/doctor"
)

var errUnfit = errors.New("doctor: something fails, see above")

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

// printFindings prints them group by group: level, what was looked at, what was found, and below that what to do.
func printFindings(w io.Writer, all []doctor.Finding, width int) error {
	idWidth, counts := 0, map[doctor.Level]int{}
	for _, f := range all {
		idWidth = max(idWidth, len(f.ID))
		counts[f.Level]++
	}
	var b strings.Builder
	group := ""
	for _, f := range all {
		if f.Group != group {
			if group != "" {
				b.WriteByte('\n')
			}
			group = f.Group
			b.WriteString(strings.ToUpper(group) + "\n")
		}
		found := f.Found
		if f.Object != "" {
			found = f.Object + ": " + found
		}
		head := fmt.Sprintf("  %-4s  %-*s  ", f.Level, idWidth, f.ID)
		room := max(leastText, width-len(head))
		for _, line := range append(wrap(found, room), wrap(f.Advice, room)...) {
			b.WriteString(strings.TrimRight(head+line, " ") + "\n")
			head = strings.Repeat(" ", len(head))
		}
	}
	fmt.Fprintf(&b, "\n%d ok, %d to know, %d to heed, %d failing\n", counts[doctor.OK], counts[doctor.Info], counts[doctor.Warn], counts[doctor.Fail])
	_, err := io.WriteString(w, b.String())
	return err
}

// wrap breaks a text at blanks into lines of at most so many columns; a longer word has a line of its own. What a
// terminal would obey is replaced: names come from devices.
func wrap(s string, width int) []string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
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
