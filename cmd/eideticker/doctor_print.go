package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/eideticker/eideticker/deploy/doctor"
)

var errUnfit = errors.New("doctor: a check failed, see above")

// printFindings prints the findings in groups. Advice is below its finding.
func printFindings(w io.Writer, all []doctor.Finding, width int) error {
	idWidth, counts := 0, map[doctor.Level]int{}
	for _, f := range all {
		idWidth = max(idWidth, len(f.ID))
		counts[f.Level]++
	}
	var err error
	put := func(s style, text string) { err = errors.Join(err, inStyle(w, s, text)) }
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
		if room < minText { // the text is below
			put(styleOf(f.Level.String()), level)
			put("", strings.TrimRight(head, " ")+"\n")
			level, head, room = "", "    ", width-4
		}
		for _, line := range append(wrap(found, room), wrap(f.Advice, room)...) {
			put(styleOf(f.Level.String()), level)
			put("", strings.TrimRight(head+line, " ")+"\n")
			level, head = "", strings.Repeat(" ", len(level+head))
		}
	}
	put("", fmt.Sprintf("\n%d ok, %d info, %d warnings, %d failures\n", counts[doctor.OK], counts[doctor.Info],
		counts[doctor.Warn], counts[doctor.Fail]))
	return err
}
