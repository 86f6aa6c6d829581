package sourcemap

import (
	"strings"

	"github.com/eideticker/eideticker/pattern"
)

// maxLines limits the lines of all sources whose texts are read.
const maxLines = 4 << 20

// texts has the begins of the lines of sources.
type texts struct {
	begins map[*string][]int32
	lines  int
}

// from returns the text of a source from a place on, up to the end of its line. It is empty if the
// place is outside of the source.
func (t *texts) from(source *string, line, column int) string {
	begins, known := t.begins[source]
	if !known {
		n := strings.Count(*source, "\n") + 1
		if t.lines += n; t.lines > maxLines {
			n = 0
		}
		for at := 0; n > 0; n-- {
			begins = append(begins, int32(at))
			at += strings.IndexByte((*source)[at:], '\n') + 1
		}
		t.begins[source] = begins
	}
	if line < 0 || line >= len(begins) || column < 0 {
		return ""
	}
	text, _, _ := strings.Cut((*source)[begins[line]:], "\n")
	units := 0
	for i, r := range text {
		if units >= column {
			return begin(text[i:])
		}
		if units++; r > 0xFFFF {
			units++
		}
	}
	return ""
}

// begin returns the begin of a text that may have a name.
func begin(text string) string { return clean(text[:min(len(text), maxName)]) }

var (
	identifierText = pattern.New(`^#?[\p{L}\p{Nl}$_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}$_]*`)
	functionText   = pattern.New(`^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\b\s*\*?\s*` +
		`([\p{L}\p{Nl}$_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}$_]*)`)
)

// minified is the largest length of names that compilers make.
const minified = 3

// Rename returns the name in the source of an identifier in the program. Code without a counterpart
// in the source has a place there, too. So the source's text renames minified names only.
func (s *Source) Rename(name string) string {
	switch found := s.identifier(); {
	case s.Name != "":
		return s.Name
	case found != "" && len(name) <= minified:
		return found
	}
	return name
}

func (s *Source) identifier() string {
	switch name := identifierText.FindString(s.Text); name {
	case "async", "class", "const", "default", "export", "function", "get", "let", "new", "return", "set", "static",
		"this", "var":
		return ""
	default:
		return name
	}
}

// Function returns the name of the function whose head begins at the place in the source.
func (s *Source) Function() string {
	if found := functionText.FindStringSubmatch(s.Text); found != nil {
		return found[1]
	}
	return ""
}
