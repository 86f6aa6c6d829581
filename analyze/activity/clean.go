package activity

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns a name from a trace without control characters. It has at most MaxName bytes.
func Clean(name string) string {
	if plain(name) {
		return name
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, name[:min(len(name), 4*MaxName)])
	if len(name) <= MaxName {
		return name
	}
	end := MaxName - len("…")
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "…"
}

// plain reports whether Clean has nothing to do, which most names fulfil.
func plain(name string) bool {
	for i := range len(name) {
		if name[i] < ' ' || name[i] > '~' {
			return false
		}
	}
	return len(name) <= MaxName
}

var queries = regexp.MustCompile(`(\w://[^\s"'<>()?#]*)[?#][^\s"'<>()]*`)

// CutQueries returns a text whose addresses have no queries and fragments.
func CutQueries(text string) string {
	if !strings.ContainsAny(text, "?#") || !strings.Contains(text, "://") {
		return text
	}
	return queries.ReplaceAllString(text, "$1")
}

// cleanFile returns a file's name or address without its query and fragment.
func cleanFile(name string) string {
	if i := strings.IndexAny(name, "?#"); i >= 0 && strings.Contains(name[:i], ":") {
		name = name[:i]
	}
	return Clean(name)
}
