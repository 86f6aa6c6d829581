package instrument_test

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument"
)

// TestLines: a line may continue the one before. Insertions must not change where it does.
func TestLines(t *testing.T) {
	places := []string{
		"%", "function f(){%}", "async function f(){%}", "function* f(){%}", "async function* f(){%}",
		"f = () => {%}", "class A { v = % }", "class A { m(){ try { % } finally { } } static { % } }",
		"async () => { for await (const q of r) { % } }",
	}
	begins := []string{
		"", "v = ", "var v = ", "return ", "throw ", "f = z => ", "if (a) ", "do ", "for (;;) ", "l: ",
		"yield ", "w = z => u => ",
	}
	ends := []string{
		"x++", "x--", "() => {}", "a => { b }", "async () => {}", "yield", "yield x++", "await x++", "y = x++",
		"a ? b : x++", "a, x++", "b => c++", "b => () => {}", "yield () => {}", "async b => await c++",
		"class { static { x++ } }", "function () {}", "x", "{}", "new Y", "y?.z", "!x++", "x ** y++", "return",
	}
	nexts := []string{
		"(a)", "[a]", "`a`", "/a/g", "+a", "++a", "a", "{a}", "function g(){}", "async a => a", "class A{}",
		";(a)", "/* c\n*/(a)", "return", "if(a)b", "*a", "*[b](){}", "while(a)", "else (a)", "in z",
	}
	valid := 0
	for _, place := range places {
		for _, begin := range begins {
			for _, end := range ends {
				for _, next := range nexts {
					src := strings.ReplaceAll(place, "%", begin+end+"\n"+next)
					if _, err := ecma.Parse(src, ecma.Script); err != nil {
						continue
					}
					valid++
					for name, shape := range shapes {
						r, err := instrument.Rewrite(src, ecma.Script, planOf(shape, nonce))
						if err == nil {
							err = r.Verify(src, ecma.Script)
						}
						if err != nil {
							t.Errorf("%s: %v\n%s\n%s", name, err, src, r.Text)
						}
					}
				}
			}
		}
	}
	if valid < 10_000 {
		t.Errorf("only %d programs are valid", valid)
	}
}
