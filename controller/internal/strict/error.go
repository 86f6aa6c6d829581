package strict

import "fmt"

// Error is an error in a file, with its place.
type Error struct {
	File         string
	Line, Column int    // from 1; the column counts characters. 0: the file as a whole
	Problem      string // with a similar word
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Problem)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Problem)
}

// Clip shortens what a message quotes.
func Clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
