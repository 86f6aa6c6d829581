package terminal

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// list prints names and values, cleaned, in two columns. Empty values are left out.
type List struct{ rows [][2]string }

func (l *List) Add(name, format string, args ...any) {
	if value := fmt.Sprintf(format, args...); value != "" {
		l.rows = append(l.rows, [2]string{name, value})
	}
}

func (l *List) Print(w io.Writer) (err error) {
	width := 0
	for _, r := range l.rows {
		width = max(width, utf8.RuneCountInString(r[0]))
	}
	room := Width(w) - width - 2
	for _, r := range l.rows {
		lead := fmt.Sprintf("%-*s  ", width, r[0])
		for _, line := range fold(shownOn(w, r[1]), max(MinText, room)) {
			err = errors.Join(err, InStyle(w, "", lead+line+"\n"))
			lead = strings.Repeat(" ", width+2)
		}
	}
	return err
}
