package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/eideticker/eideticker/analyze/wording"
)

// printJSON writes one object, indented, as --json promises.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// list prints names and values, cleaned, in two columns. Empty values are left out.
type list struct{ rows [][2]string }

func (l *list) add(name, format string, args ...any) {
	if value := fmt.Sprintf(format, args...); value != "" {
		l.rows = append(l.rows, [2]string{name, value})
	}
}

func (l *list) print(w io.Writer) error {
	width := 0
	for _, r := range l.rows {
		width = max(width, utf8.RuneCountInString(r[0]))
	}
	for _, r := range l.rows {
		if _, err := fmt.Fprintf(w, "%-*s  %s\n", width, r[0], clean(r[1])); err != nil {
			return err
		}
	}
	return nil
}

// printTable prints rows, cleaned, in columns under a heading; columns whose name starts with >
// are aligned to the right.
func printTable(w io.Writer, heading []string, rows [][]string) error {
	widths := make([]int, len(heading))
	right := make([]bool, len(heading))
	names := make([]string, len(heading))
	for i, h := range heading {
		names[i], right[i] = strings.CutPrefix(h, ">")
	}
	for _, row := range append([][]string{names}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(clean(cell)))
		}
	}
	for _, row := range append([][]string{names}, rows...) {
		var line strings.Builder
		for i, cell := range row {
			cell = clean(cell)
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if right[i] {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
			line.WriteString("  ")
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// bytesText formats a number of bytes: "1.50 MiB".
func bytesText[T int | int64 | uint64](n T) string { return wording.Bytes(n) }

// countText groups a number's digits by threes.
func countText[T int | int64 | uint64](n T) string { return wording.Count(n) }

// plural counts things: "1 frame", "2 frames".
func plural[T int | int64 | uint64](n T, thing string) string { return wording.Plural(n, thing) }

// secondsText formats a duration in seconds with milliseconds.
func secondsText(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// ratioText returns the ratio of two sizes.
func ratioText(raw, stored int64) string {
	if stored <= 0 || raw <= 0 {
		return ""
	}
	r := float64(raw) / float64(stored)
	if r < 0.1 { // hardly any pixels: all is overhead
		return ""
	}
	if r >= 100 {
		return fmt.Sprintf("%.0f : 1", r)
	}
	return fmt.Sprintf("%.1f : 1", r)
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
