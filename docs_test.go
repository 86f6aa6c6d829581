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

// TestFaultsHaveTests checks that every documented fault and threat names existing tests.
func TestFaultsHaveTests(t *testing.T) {
	pages := documents(t)
	code := codeIn(t, ".")
	for path, minimum := range map[string]int{
		"docs/troubleshooting.md": 50, "docs/troubleshooting-runs.md": 50, "docs/security.md": 18,
	} {
		entries := strings.Split(pages[path], "\n- **")[1:]
		if len(entries) < minimum {
			t.Errorf("%s has %d entries, at least %d are expected", path, len(entries), minimum)
		}
		for _, entry := range entries {
			entry, _, _ = strings.Cut(entry, "\n\n")
			title, _, _ := strings.Cut(entry, "**:")
			_, tests, ok := strings.Cut(entry, "Tests:")
			names := strings.Fields(strings.ReplaceAll(tests, "`", ""))
			if !ok || len(names) == 0 {
				t.Errorf("%s: no test is named for: %s", path, title)
			}
			for _, name := range names {
				if !testExists(name, code) {
					t.Errorf("%s: the test %s does not exist, named for: %s", path, name, title)
				}
			}
		}
	}
}

// testExists finds "script/NAME" among the scripts and "PACKAGE.TestName" in a folder of that name.
func testExists(name string, code map[string]string) bool {
	if script, ok := strings.CutPrefix(name, "script/"); ok {
		_, err := os.Stat(filepath.Join("cmd/eideticker/testdata/script", script+".txtar"))
		return err == nil
	}
	pkg, test, _ := strings.Cut(name, ".")
	return regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(test) + `\(`).MatchString(code[pkg])
}

// codeIn returns the test code below a folder, by the name of its folder.
func codeIn(t *testing.T, root string) map[string]string {
	t.Helper()
	code := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		code[filepath.Base(filepath.Dir(path))] += string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return code
}
