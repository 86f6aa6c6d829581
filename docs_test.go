package eideticker_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// documents returns the README and the pages of docs, by path. Generated pages are left out.
func documents(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("docs/*.md")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d pages in docs, %v", len(paths), err)
	}
	pages := map[string]string{}
	for _, path := range append(paths, "README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages[path] = string(text)
	}
	return pages
}

// TestDocumentsAreShort checks lengths of pages and lines. Lines with addresses may be longer.
func TestDocumentsAreShort(t *testing.T) {
	for path, text := range documents(t) {
		limit := 250
		if path == "README.md" {
			limit = 150
		}
		if n := strings.Count(text, "\n"); n > limit {
			t.Errorf("%s has %d lines, at most %d are allowed", path, n, limit)
		}
		for i, line := range strings.Split(text, "\n") {
			if n := utf8.RuneCountInString(line); n > 120 && !strings.Contains(line, "://") {
				t.Errorf("%s:%d has %d columns, at most 120 are allowed", path, i+1, n)
			}
		}
	}
}

var (
	fence   = regexp.MustCompile("(?s)```.*?```")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// TestDocumentLinks checks that relative links name existing files and headings.
func TestDocumentLinks(t *testing.T) {
	pages := documents(t)
	for _, path := range []string{"deploy/README.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages[path] = string(text)
	}
	for path, text := range pages {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			name, anchor, _ := strings.Cut(m[1], "#")
			target := path
			if name != "" {
				target = filepath.Join(filepath.Dir(path), name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", path, m[1], err)
			} else if anchor != "" && !hasHeading(t, target, anchor) {
				t.Errorf("%s links to %s, which has no such heading", path, m[1])
			}
		}
	}
}

func hasHeading(t *testing.T, path, anchor string) bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
		if slug(h[1]) == anchor {
			return true
		}
	}
	return false
}

// slug returns the anchor of a heading, as GitHub makes it.
func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}
