package doctor

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/eideticker/eideticker/analyze/terminal"
)

// Print writes the findings in groups. Advice is below its finding.
func Print(w io.Writer, all []Finding, width int) error {
	idWidth, counts := 0, map[Level]int{}
	for _, f := range all {
		idWidth = max(idWidth, len(f.ID))
		counts[f.Level]++
	}
	var err error
	put := func(s terminal.Style, text string) { err = errors.Join(err, terminal.InStyle(w, s, text)) }
	group := ""
	for _, f := range all {
		if f.Group != group {
			if group != "" {
				put("", "\n")
			}
			group = f.Group
			put("", strings.ToUpper(group)+"\n")
		}
		found := f.Found
		if f.Object != "" {
			found = f.Object + ": " + found
		}
		level := fmt.Sprintf("  %-4s  ", f.Level)
		head := fmt.Sprintf("%-*s  ", idWidth, f.ID)
		room := width - len(level+head)
		if room < terminal.MinText { // the text is below
			put(terminal.StyleOf(f.Level.String()), level)
			put("", strings.TrimRight(head, " ")+"\n")
			level, head, room = "", "    ", width-4
		}
		for _, line := range append(terminal.Wrap(found, room), terminal.Wrap(f.Advice, room)...) {
			put(terminal.StyleOf(f.Level.String()), level)
			put("", strings.TrimRight(head+line, " ")+"\n")
			level, head = "", strings.Repeat(" ", len(level+head))
		}
	}
	put("", fmt.Sprintf("\n%d ok, %d info, %d warnings, %d failures\n", counts[OK], counts[Info],
		counts[Warn], counts[Fail]))
	return err
}
