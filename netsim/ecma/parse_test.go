package ecma_test

import (
	"errors"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/ecma"
)

// snippet is a valid program of testdata/valid.txt.
type snippet struct {
	name, src string
	goal      ecma.Goal
}

var (
	snippetHead = regexp.MustCompile(`(?m)^-- (.+?)( \(module\))? --\n`)
	codePoint   = regexp.MustCompile(`\{U\+([0-9A-F]+)\}`)
)

func snippets(t testing.TB) (all []snippet) {
	text, err := os.ReadFile("testdata/valid.txt")
	if err != nil {
		t.Fatal(err)
	}
	heads := snippetHead.FindAllSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		src := codePoint.ReplaceAllStringFunc(string(text[h[1]:end]), func(s string) string {
			n, _ := strconv.ParseUint(s[3:len(s)-1], 16, 32) // the pattern allows digits only
			return string(rune(n))
		})
		c := snippet{name: string(text[h[2]:h[3]]), src: src}
		if h[4] >= 0 {
			c.goal = ecma.Module
		}
		all = append(all, c)
	}
	if len(all) < 30 {
		t.Fatalf("testdata/valid.txt has %d programs", len(all))
	}
	return all
}

func TestValid(t *testing.T) {
	for _, c := range snippets(t) {
		t.Run(c.name, func(t *testing.T) {
			tree, err := ecma.Parse(c.src, c.goal)
			if err != nil {
				t.Fatal(err)
			}
			checkTree(t, tree)
		})
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"a b", "1:3: unexpected b"},
		{"a\r\nb c", "2:3: unexpected c"},
		{"a\rb\u2028c\u2029d e", "4:3: unexpected e"},
		{"'\U00020BB7' x", "1:6: unexpected x"},
		{"é x", "1:3: unexpected x"},
		{"(", "1:2: unexpected end"},
		{"a +", "1:4: unexpected end"},
		{"f(", "1:3: unexpected end"},
		{"{", "1:2: unexpected end"},
		{"()", "1:3: unexpected end"},
		{"(a,)", "1:5: unexpected end"},
		{"(...a)", "1:7: unexpected end"},
		{"'a", "1:1: unterminated string"},
		{"'a\n'", "1:1: unterminated string"},
		{"a\n`b${c}", "2:6: unterminated template"},
		{"/* a", "1:1: unterminated comment"},
		{"/a\n/", "1:1: unterminated regular expression"},
		{"/[/", "1:1: unterminated regular expression"},
		{"1a", "1:2: a letter follows a number"},
		{"a\\x", "1:2: unexpected \\"},
		{"\\u{61", "1:1: unterminated escape"},
		{"\\u6", "1:1: unterminated escape"},
		{"#", "1:1: unexpected #"},
		{"a @b", "1:3: unexpected character"},
		{"a\xff", "1:2: invalid UTF-8"},
		{"a\uFFFD\xff", "1:3: invalid UTF-8"},
		{"import a from 'b'", "1:1: import in a script"},
		{"export {}", "1:1: export in a script"},
		{"await x", "1:7: unexpected x"},
		{"async () => {}\n(a) b", "2:5: unexpected b"},
		{"class { a b }", "1:11: unexpected b"},
		{"({a b})", "1:5: unexpected b"},
		{"{\"a\": 1}", "1:5: unexpected :"},
		{"for (a b", "1:8: unexpected b"},
		{"x = => 1", "1:5: unexpected =>"},
		{"}", "1:1: unexpected }"},
		{"a = {b: function () { return } ", "1:32: unexpected end"},
		{"switch (a) { b }", "1:14: unexpected b"},
		{"`${a b}`", "1:6: unexpected b"},
	} {
		tree, err := ecma.Parse(c.src, ecma.Script)
		if err == nil || err.Error() != c.want || tree != nil {
			t.Errorf("%q: %v, want %s", c.src, err, c.want)
		}
	}
}

// TestModules: HTML-like comments and the name await are of scripts only.
func TestModules(t *testing.T) {
	for _, src := range []string{"a\n--> b c", "<!-- a", "await: 1", "import from 'a'",
		"import {a as} from 'b'", "export {a as}", "export", "import 'a' with {b}", "export * as from 'a'"} {
		if _, err := ecma.Parse(src, ecma.Module); err == nil {
			t.Errorf("the module %q is accepted", src)
		}
	}
}

// TestNesting: the parser's stack is bounded. Long chains without nesting are not nested.
func TestNesting(t *testing.T) {
	for _, part := range []string{
		"(", "[", "{", "f(", "a[", "({a:", "`${", "!", "-", "new ", "x=>", "async x=>", "(x=>{",
		"class{static{", "a?", "a?b:", "a=", "a**", "if(a)", "while(a)", "for(;;)", "do ", "a:",
		"function f(){", "function f(a=", "var [", "var {a:", "(a=", "try{", "else ", "yield ", "await ",
		"a?.[", "switch(a){case ", "...", "({[", "class extends ", "import(", "a,", "a+", "a.b", "a``",
		"if(a);else ", "(a)", "async(", "()=>", "static ", "/", "<!--", "/*", "'", "\\u{", "#a", "1", "let ",
		"using ",
	} {
		for _, n := range []int{10_000, 200_000} {
			for _, goal := range []ecma.Goal{ecma.Script, ecma.Module} {
				tree, err := ecma.Parse(strings.Repeat(part, n), goal)
				var place *ecma.Error
				if err != nil && !errors.As(err, &place) {
					t.Errorf("%q: %v", part, err)
				}
				if tree != nil {
					checkTree(t, tree)
				}
			}
		}
	}
	for _, brackets := range []string{"()", "[]"} {
		src := strings.Repeat(brackets[:1], 9_000) + "a" + strings.Repeat(brackets[1:], 9_000)
		if _, err := ecma.Parse(src, ecma.Script); err != nil {
			t.Error(err)
		}
	}
	for _, chain := range []string{"a+", "a,", "a?b:", "if(a);else ", "a.b+", "a&&"} {
		if _, err := ecma.Parse(strings.Repeat(chain, 100_000)+"a", ecma.Script); err != nil {
			t.Errorf("chain of %q: %v", chain, err)
		}
	}
}

// TestMemory: what the parser allocates in all is at most 40 times the text.
func TestMemory(t *testing.T) {
	const size = 1 << 20
	for _, part := range []string{"a\n", ";", "{}", "a;", "-a;", "!a\n", "a+", "[],", "``", "a,", "1\n", "x=>x,",
		"a=>{}\n", "f(a);", "({a});", "a.b\n", "if(a);", "a:;", "''\n", "()=>{};", "a++\n", "// comment\n", "class{}\n",
		"`${a}`",
		"[a]=b\n", "var a;", "for(;;);", "a?b:"} {
		src := strings.Repeat(part, size/len(part)) + "a"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tree, err := ecma.Parse(src, ecma.Script)
		runtime.ReadMemStats(&after)
		if used := (after.TotalAlloc - before.TotalAlloc) / size; used > 40 {
			t.Errorf("%q takes %d times the text, error %v", part, used, err)
		}
		runtime.KeepAlive(tree)
	}
	if _, err := ecma.Parse(strings.Repeat(" ", ecma.MaxSource+1), ecma.Script); err == nil {
		t.Error("a longer program is accepted")
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range snippets(f) {
		f.Add(c.src, c.goal == ecma.Module)
	}
	f.Fuzz(func(t *testing.T, src string, module bool) {
		goal := ecma.Script
		if module {
			goal = ecma.Module
		}
		tree, err := ecma.Parse(src, goal)
		var place *ecma.Error
		switch {
		case err == nil:
			checkTree(t, tree)
			if len(tree.Nodes) > 2*len(src)+8 {
				t.Errorf("%d nodes for %d bytes", len(tree.Nodes), len(src))
			}
		case !errors.As(err, &place) || place.Offset < 0 || place.Offset > len(src) || place.Line < 1 ||
			place.Column < 1:
			t.Errorf("error %+v", err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, p := range realPrograms {
		needed(b, p.Path, nil)
		src, err := os.ReadFile(p.Path)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(p.Path[strings.LastIndex(p.Path, "/")+1:], func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if _, err := ecma.Parse(string(src), p.goal()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
