package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentCommands compares every command line of the documents with the parser.
func TestDocumentCommands(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandLines(string(text)) {
			found++
			args := shellWords(line)
			for _, end := range []string{">", "&&"} {
				for i, arg := range args {
					if arg == end {
						args = args[:i]
						break
					}
				}
			}
			if err := taken(args); err != nil {
				t.Errorf("%s: the program does not take %q: %v", filepath.Base(page), line, err)
			}
		}
	}
	if found < 80 {
		t.Errorf("%d command lines found, at least 80 are expected", found)
	}
}

var (
	block     = regexp.MustCompile("(?s)```(?:sh|console)\n(.*?)```")
	anyBlock  = regexp.MustCompile("(?s)```.*?```")
	ofBlock   = regexp.MustCompile(`(?m)^(?:\$ )?(?:sudo (?:-u eideticker )?)?(?:bin/)?eideticker (.+)$`)
	ofText    = regexp.MustCompile("`(?:sudo -u eideticker (?:env [A-Z_]+=\\S+ )?)?(?:bin/)?eideticker ([^`]+)`")
	shellWord = regexp.MustCompile(`'[^']*'|\S+`)
)

// commandLines returns the arguments of every complete call of the program.
func commandLines(text string) (lines []string) {
	add := func(found [][]string) {
		for _, m := range found {
			if !strings.Contains(m[1], "…") {
				lines = append(lines, m[1])
			}
		}
	}
	for _, b := range block.FindAllStringSubmatch(text, -1) {
		add(ofBlock.FindAllStringSubmatch(strings.ReplaceAll(b[1], "\\\n", " "), -1))
	}
	prose := strings.Join(strings.Fields(anyBlock.ReplaceAllString(text, "")), " ")
	add(ofText.FindAllStringSubmatch(prose, -1))
	return lines
}

// shellWords splits a line at spaces outside of single quotes, up to a comment.
func shellWords(line string) (words []string) {
	for _, word := range shellWord.FindAllString(line, -1) {
		if strings.HasPrefix(word, "#") {
			break
		}
		words = append(words, strings.Trim(word, "'"))
	}
	return words
}
