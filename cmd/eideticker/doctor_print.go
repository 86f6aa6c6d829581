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
		room := max(minText, width-len(head))
		for _, line := range append(wrap(found, room), wrap(f.Advice, room)...) {
			b.WriteString(strings.TrimRight(head+line, " ") + "\n")
			head = strings.Repeat(" ", len(head))
		}
	}
	fmt.Fprintf(&b, "\n%d ok, %d info, %d warnings, %d failures\n", counts[doctor.OK], counts[doctor.Info],
		counts[doctor.Warn], counts[doctor.Fail])
	_, err := io.WriteString(w, b.String())
	return err
}
