package analyze_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/glossary"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/quality"
	"github.com/eideticker/eideticker/analyze/vitals"
)

// TestValuesAreExplained: each value has an entry in the glossary, and each entry is of a value.
func TestValuesAreExplained(t *testing.T) {
	explained := map[string]bool{}
	for _, measure := range append(analyze.Names(), quality.Name, vitals.Name) {
		for _, value := range analyze.Values(measure) {
			e, ok := glossary.Explain(measure, value)
			if !ok || e.Meaning == "" || e.Unit == "" || e.Better == "" || e.Formula == "" {
				t.Errorf("%s.%s is explained as %+v", measure, value, e)
			}
			explained[e.Name] = true
		}
	}
	for _, name := range glossary.Names() {
		if !explained[name] {
			t.Errorf("the glossary explains %s, which nothing measures", name)
		}
	}
	for _, name := range []string{"fps.nonsense", "nonsense", "speedindex.pixel", "speedindex.pixel.complete",
		"speedindex.nonsense.speed_index", "windowopen."} {
		measure, value, _ := strings.Cut(name, ".")
		if e, ok := glossary.Explain(measure, value); ok {
			t.Errorf("%s is explained as %+v", name, e)
		}
	}
}

// TestDeclaredValuesAreMeasured: each value that is declared, once, is named by code that measures.
func TestDeclaredValuesAreMeasured(t *testing.T) {
	folders := map[string]string{"loadhist": "load", "speedindex": "load", "windowopen": "load", "strip": "codestrip"}
	for _, measure := range append(analyze.Names(), quality.Name, vitals.Name) {
		names, written := analyze.Values(measure), measuringWords(t, cmp.Or(folders[measure], measure))
		if len(names) == 0 {
			t.Errorf("%s declares no value", measure)
		}
		for i, name := range names {
			if slices.Contains(names[:i], name) {
				t.Errorf("%s declares %s twice", measure, name)
			}
			// load figures have names that are put together; TestLoadValuesAreDeclared measures all
			if measure != "speedindex" && measure != "windowopen" && !written[name] {
				t.Errorf("%s declares %s, which nothing measures", measure, name)
			}
		}
	}
	if got := analyze.Values("nonsense"); got != nil {
		t.Errorf("what is not a measure has the values %v", got)
	}
}

// measuringWords are the strings in a package's functions, apart from those that declare.
func measuringWords(t *testing.T, folder string) map[string]bool {
	files := analyzetest.Must(filepath.Glob(folder + "/*.go"))(t)
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
		file := analyzetest.Must(parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution))(t)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && !strings.HasSuffix(f.Name.Name, "Measure") &&
				!strings.HasSuffix(f.Name.Name, "Values") {
				ast.Inspect(f, note)
			}
		}
	}
	return words
}
