package sourcemap

import (
	"slices"
	"strings"

	"github.com/eideticker/eideticker/pattern"
)

const (
	// maxLines limits the lines of all sources whose texts are read.
	maxLines = 4 << 20
	// maxColumn limits the columns at which texts are read. People write shorter lines.
	maxColumn = 1000
)

// texts has the begins of the lines of sources.
type texts struct {
	begins map[*string][]int32
	lines  int
}

// linesOf returns the begins of a source's lines, and its end. It is empty beyond maxLines, and for
// sources in which lines end otherwise than with \n or \r\n.
func (t *texts) linesOf(source string) (begins []int32) {
	n := strings.Count(source, "\n") + 1
	t.lines += n
	if t.lines > maxLines || strings.ContainsAny(source, "\u2028\u2029") ||
		strings.Count(source, "\r") != strings.Count(source, "\r\n") {
		return nil
	}
	for at := 0; n > 0; n-- {
		begins = append(begins, int32(at))
		at += strings.IndexByte(source[at:], '\n') + 1
	}
	return append(begins, int32(len(source)))
}

// from returns the text of a source from a place on, up to the end of its line. It is empty if the
// place is outside of the source.
func (t *texts) from(source *string, line, column int) string {
	begins, known := t.begins[source]
	if !known {
		begins = t.linesOf(*source)
		t.begins[source] = begins
	}
	if line < 0 || line >= len(begins)-1 || column < 0 || column > maxColumn {
		return ""
	}
	text := strings.TrimRight((*source)[begins[line]:begins[line+1]], "\r\n")
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

// begin returns the begin of a text that may have a name. It does not keep the text in memory.
func begin(text string) string {
	return strings.Clone(clean(strings.ReplaceAll(text[:min(len(text), maxName)], "\t", " ")))
}

var (
	// identifierText is a declared name, with the sign that follows it.
	identifierText = pattern.New(`^(#?[\p{L}\p{Nl}$_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}$_]*)\s*` +
		`(?:$|[=(:{<,;)]|extends\b|in\b|of\b)`)
	functionText = pattern.New(`^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\b\s*\*?\s*` +
		`([\p{L}\p{Nl}$_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}$_]*)`)
)

// reserved are keywords, and modifiers of TypeScript.
var reserved = strings.Fields("abstract async await break case catch class const continue debugger declare default " +
	"delete do else enum export extends false finally for function get if implements import in instanceof " +
	"interface let new null of override package private protected public readonly return set static super " +
	"switch this throw true try typeof undefined var void while with yield")

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
	found := identifierText.FindStringSubmatch(s.Text)
	if found == nil || slices.Contains(reserved, found[1]) {
		return ""
	}
	return found[1]
}

// Function returns the name of the function whose head begins at the place in the source.
func (s *Source) Function() string {
	if found := functionText.FindStringSubmatch(s.Text); found != nil {
		return found[1]
	}
	return ""
}
