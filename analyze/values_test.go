package analyze

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wantDeclared fails the test if a result has a value that its measure does not name: test files
// and command lines could not ask for it.
func wantDeclared(t testing.TB, results ...Result) {
	t.Helper()
	for _, r := range results {
		names := Values(r.Measure)
		for _, v := range r.Values {
			if !slices.Contains(names, v.Name) {
				t.Errorf("%s has a value %q that it does not declare", r.Measure, v.Name)
			}
		}
	}
}

// TestLoadValuesAreDeclared: a load measured in all ways has all declared values, from T0 or from
// the first change.
func TestLoadValuesAreDeclared(t *testing.T) {
	m, w := plainWindow(t, shown{0, 0, 0}, shown{500, 255, 255}, shown{1000, 60, 140}, shown{1500, 60, 20},
		shown{2500, 60, 20})
	o := Options{OwnClock: true, Load: LoadOptions{Variants: variantNames()}}
	from := func(prefix string) []string { return append(loadValues(prefix), scriptValues()...) }
	wantNames(t, one(t, m, w, o, "speedindex"), from(""))
	wantNames(t, one(t, m, w, o, "windowopen"), append(from(""), histogramValues()...))
	w.T0 = nil
	wantNames(t, one(t, m, w, o, "speedindex"), from(fromFirstChange))
}

func wantNames(t *testing.T, r Result, want []string) {
	t.Helper()
	var got []string
	for _, v := range r.Values {
		got = append(got, v.Name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s has %v, want %v, %v", r.Measure, got, want, r.Warnings)
	}
}

// TestDeclaredValuesAreMeasured: each value that is declared, once, is named by code that measures.
func TestDeclaredValuesAreMeasured(t *testing.T) {
	written := measuringWords(t)
	for _, measure := range append(Names(), QualityName) {
		names := Values(measure)
		if len(names) == 0 {
			t.Errorf("%s declares no value", measure)
		}
		for i, name := range names {
			if slices.Contains(names[:i], name) {
				t.Errorf("%s declares %s twice", measure, name)
			}
			// their names are put together
			ofLoad := slices.Contains(append(loadValues(""), loadValues(fromFirstChange)...), name)
			if !ofLoad && !written[name] {
				t.Errorf("%s declares %s, which nothing measures", measure, name)
			}
		}
	}
	if got := Values("nonsense"); got != nil {
		t.Errorf("what is not a measure has the values %v", got)
	}
}

// measuringWords are the strings in the package's functions, apart from those that declare.
func measuringWords(t *testing.T) map[string]bool {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]bool{}
	note := func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if word, err := strconv.Unquote(lit.Value); err == nil {
				words[word] = true
			}
		}
		return true
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && !strings.HasSuffix(f.Name.Name, "Measure") &&
				!strings.HasSuffix(f.Name.Name, "Values") {
				ast.Inspect(f, note)
			}
		}
	}
	return words
}
