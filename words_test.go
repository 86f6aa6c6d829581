package eideticker_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var updateWords = flag.Bool("update-words", false, "lower the recorded counts of testdata/words.json")

// wordRule is one rule of the project's language. A finding is a match of the pattern in one
// passage, or a passage for which fails returns true.
type wordRule struct {
	name string
	// The kinds of passages: docs, comments, strings, lines (of Go), scripts
	in      string
	pattern *regexp.Regexp
	fails   func(passage string) bool
	bad     string // a passage with exactly one finding
	good    string // a passage without
}

const prose = "docs comments strings"

// wordRules are the rules that a program can check. A rule that needs judgement is not here.
var wordRules = []wordRule{
	{name: "what-clause", in: prose,
		pattern: regexp.MustCompile(
			`(?i)(?:^|[ (])(?:what|who) (?:is|are|was|has|have|can|may|comes|came|stands|differs|changed|lies|goes)\b`),
		bad: "what is lost is counted", good: "lost frames are counted"},
	{name: "metaphor", in: prose,
		pattern: regexp.MustCompile(
			`(?i)\b(?:tells? of|hears? of|is told|are told|stands? in|lies? in|believes?|knows? nothing)\b`),
		bad: "what is unknown is told", good: "unknown keys are errors"},
	{name: "negation", in: prose,
		// "is no longer" is plain
		pattern: regexp.MustCompile(
			`(?i)\b(?:(?:is|are) no (?:[^l]|l[^o])|(?:none to|nothing that|no more than what)\b)`),
		bad: "--duration 0s is no time at all", good: "--duration must be positive"},
	{name: "long-sentence", in: "docs comments",
		fails: func(p string) bool { return len(strings.Fields(p)) > 20 },
		bad:   strings.Repeat("word ", 21), good: strings.Repeat("word ", 20)},
	{name: "many-commas", in: "docs comments",
		fails: func(p string) bool { return strings.Count(p, ", ") > 2 && !isList(p) },
		bad:   "it reads, then it packs a frame, it writes, it ends", good: "size, format, rate, time"},
	{name: "wide-line", in: "lines scripts",
		fails: func(p string) bool { return len([]rune(strings.ReplaceAll(p, "\t", "    "))) > 120 },
		bad:   strings.Repeat("x", 121), good: strings.Repeat("x", 120)},
	{name: "wide-comment", in: "lines",
		pattern: regexp.MustCompile(`^\s*//[^\t].{98,}$`),
		bad:     "//" + strings.Repeat("x", 99), good: "//" + strings.Repeat("x", 98)},
}

// findings counts the findings of the rule in a passage.
func (r wordRule) findings(passage string) int {
	if r.fails != nil {
		if r.fails(passage) {
			return 1
		}
		return 0
	}
	return len(r.pattern.FindAllStringIndex(passage, -1))
}

// isList reports whether the passage ends in a list of names of at most three words.
func isList(passage string) bool {
	for _, item := range strings.Split(passage, ", ")[1:] {
		if len(strings.Fields(item)) > 3 {
			return false
		}
	}
	return true
}

func TestWordRules(t *testing.T) {
	for _, r := range wordRules {
		t.Run(r.name, func(t *testing.T) {
			if n := r.findings(r.bad); n != 1 {
				t.Errorf("%d findings in %q, want 1", n, r.bad)
			}
			if n := r.findings(r.good); n != 0 {
				t.Errorf("%d findings in %q, want 0", n, r.good)
			}
		})
	}
}

const recordedWords = "testdata/words.json"

// TestWords compares the findings of each rule with the recorded count. A count may only fall.
func TestWords(t *testing.T) {
	found, first := map[string]int{}, map[string]string{}
	for _, p := range passages(t) {
		for _, r := range wordRules {
			if !strings.Contains(r.in, p.kind) {
				continue
			}
			if n := r.findings(p.text); n > 0 {
				found[r.name] += n
				if testing.Verbose() {
					t.Logf("%s: %s: %.160s", p.at, r.name, p.text)
				}
				first[r.name] = p.at
			}
		}
	}
	recorded := map[string]int{}
	text, err := os.ReadFile(recordedWords)
	if err == nil {
		err = json.Unmarshal(text, &recorded)
	}
	if err != nil && !*updateWords {
		t.Fatal(err)
	}
	for _, r := range wordRules {
		limit, ok := recorded[r.name]
		switch n := found[r.name]; {
		case *updateWords && (!ok || n < limit):
			recorded[r.name] = n
		case n > limit:
			t.Errorf("%s: %d findings, at most %d are allowed; the last is at %s. "+
				"List them with: go test -run TestWords -v . | grep %s", r.name, n, limit, first[r.name], r.name)
		}
	}
	if !*updateWords {
		return
	}
	if text, err = json.MarshalIndent(recorded, "", "\t"); err == nil {
		err = os.WriteFile(recordedWords, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// passage is a piece of text to which rules apply: a sentence of a document or a comment, a string
// literal, or a line of a file.
type passage struct{ at, kind, text string }

var shell = regexp.MustCompile(`^#!.*sh\b`)

// passages returns every passage of the files that git tracks. Test data, licences and tests'
// strings do not count.
func passages(t *testing.T) (all []passage) {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "-z", "*.go", "*.md", "*.js", "*.html", ".ci", "deploy").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		if strings.Contains(path, "testdata/") {
			continue
		}
		src, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		switch ext := filepath.Ext(path); {
		case ext == ".md":
			all = append(all, documentPassages(path, src)...)
		case ext == ".go":
			all = append(all, goPassages(t, path, src)...)
			all = append(all, linePassages(path, "lines", src)...)
		case ext == ".js", ext == ".html", shell.Match(src):
			all = append(all, linePassages(path, "scripts", src)...)
		}
	}
	return all
}

// linePassages returns the lines of a program. Of a page, these are the lines of its scripts.
func linePassages(path, kind string, src []byte) (all []passage) {
	page := filepath.Ext(path) == ".html"
	script := !page
	for i, line := range strings.Split(string(src), "\n") {
		if page && strings.Contains(line, "script>") {
			script = strings.Contains(line, "<script>")
		} else if script {
			all = append(all, passage{fmt.Sprintf("%s:%d", path, i+1), kind, line})
		}
	}
	return all
}

var sentenceEnd = regexp.MustCompile(`[.!?:;](?:\s+|$)`)

// sentences splits text at the ends of its sentences.
func sentences(at, kind, text string) (all []passage) {
	for _, s := range sentenceEnd.Split(text, -1) {
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			all = append(all, passage{at, kind, s})
		}
	}
	return all
}

// documentPassages returns the sentences of a Markdown text. Code blocks and the cells' borders of
// tables are left out.
func documentPassages(path string, src []byte) (all []passage) {
	var block []string
	begin, fenced := 1, false
	flush := func() {
		all = append(all, sentences(fmt.Sprintf("%s:%d", path, begin), "docs", strings.Join(block, " "))...)
		block = nil
	}
	for i, line := range strings.Split(string(src), "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced = !fenced
			flush()
		case fenced, strings.HasPrefix(line, "    "), strings.HasPrefix(line, "\t"):
		case strings.HasPrefix(trimmed, "|"):
			flush()
			for _, cell := range strings.Split(trimmed, "|") {
				all = append(all, sentences(fmt.Sprintf("%s:%d", path, i+1), "docs", cell)...)
			}
		case trimmed == "", strings.HasPrefix(trimmed, "#"):
			flush()
		default:
			if strings.HasPrefix(trimmed, "- ") || len(block) == 0 {
				flush()
				begin = i + 1
			}
			block = append(block, trimmed)
		}
	}
	flush()
	return all
}

// paragraphs returns the paragraphs and list items of a comment. Indented blocks are left out.
func paragraphs(comment string) (all []string) {
	begin := true
	for _, line := range strings.Split(comment, "\n") {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "# ") {
			begin = true
			continue
		}
		if begin || strings.HasPrefix(trimmed, "- ") {
			all = append(all, "")
		}
		begin = false
		all[len(all)-1] += trimmed + " "
	}
	return all
}

var directive = regexp.MustCompile(`^//(?:go:|lint:|nolint|export | Output:)`)

// goPassages returns the sentences of a Go file's comments and, outside tests, its string literals
// of three words or more.
func goPassages(t *testing.T, path string, src []byte) (all []passage) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	at := func(pos token.Pos) string { return fmt.Sprintf("%s:%d", path, files.Position(pos).Line) }
	for _, group := range file.Comments {
		if !directive.MatchString(group.List[0].Text) {
			for _, text := range paragraphs(group.Text()) {
				all = append(all, sentences(at(group.Pos()), "comments", text)...)
			}
		}
	}
	if strings.HasSuffix(path, "_test.go") {
		return all
	}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING || bytes.Count([]byte(lit.Value), []byte(" ")) < 2 {
			return true
		}
		if s, err := strconv.Unquote(lit.Value); err == nil {
			all = append(all, sentences(at(lit.Pos()), "strings", s)...)
		}
		return true
	})
	return all
}
