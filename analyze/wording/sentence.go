package wording

import (
	"slices"
	"strings"
)

// Sentence puts joined errors into one line. A file that broke may tell so at several places: what
// another part says too, and perhaps more fully, is left out.
func Sentence(err error) string {
	var parts []string
	for part := range strings.SplitSeq(err.Error(), "\n") {
		i := slices.IndexFunc(parts, func(said string) bool {
			return strings.Contains(part, said) || strings.Contains(said, part)
		})
		switch {
		case i < 0:
			parts = append(parts, part)
		case len(part) > len(parts[i]):
			parts[i] = part
		}
	}
	return strings.Join(parts, "; ")
}
