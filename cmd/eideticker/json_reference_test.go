package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/analyze/glossary"
	"github.com/eideticker/eideticker/controller/demo"
	"github.com/eideticker/eideticker/controller/observe"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/sources"
	"github.com/eideticker/eideticker/controller/verdict"
)

// jsonPage is the reference of JSON. The text before jsonHead is written by hand.
const (
	jsonPage = "json.md"
	jsonHead = "## Commands\n"
	// resultsPage describes the types of results.json.
	resultsPage = "../../analyze/result/RESULTS.md"
)

// printed has an example of the output of each command with --json, and of the files beside them.
func printed() []struct {
	title string
	value any
} {
	type lines struct {
		Lines []lineJSON `json:"lines"`
	}
	type exported struct {
		Path      string `json:"path"`
		Output    string `json:"output"`
		Exchanges int    `json:"exchanges"`
	}
	type observed struct {
		Path    string          `json:"path"`
		Summary observe.Summary `json:"summary"`
	}
	type verified struct {
		Files []scriptJSON `json:"files"`
	}
	type listed struct {
		Programs []programJSON `json:"programs"`
		Problem  string        `json:"problem"`
	}
	type policies struct {
		Policies []policyJSON `json:"policies"`
	}
	return []struct {
		title string
		value any
	}{
		{"record, import", recordJSON{}}, {"record of several sources", recordingsJSON{}}, {"info", export.Info{}},
		{"verify", verifyJSON{}}, {"repair", repairJSON{}}, {"pack", packJSON{}}, {"export", exportResult{}},
		{"export -o OUT.json", export.Numbers{}}, {"sources", sources.Sources{}}, {"compare", compare.JSON{}},
		{"explain, in a list", glossary.Entry{}}, {"run", verdict.JSON{}}, {"run.json", session.Record{}},
		{"demo, summary.json", demo.Summary{}}, {"push", pushJSON{}}, {"pull", pullJSON{}}, {"attach", attached{}},
		{"suite list, suite check", suiteJSON{}}, {"script verify", verified{}}, {"script list RUN", listed{}},
		{"script list", policies{}}, {"netsim certify", lines{}}, {"netsim serve", servedJSON{}},
		{"netsim record", recordedJSON{}}, {"netsim replay", fidelityJSON{}}, {"netsim replay --list", archiveJSON{}},
		{"netsim replay --export", exported{}}, {"netsim observe", observed{}}, {"certify", certifyJSON{}},
		{"doctor", doctorJSON{}}, {"version", versionJSON{}},
	}
}

// jsonReference returns the page: the text of the present one, and what follows from the types.
func jsonReference(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(reference, jsonPage))
	if err != nil {
		t.Fatal(err)
	}
	written, _, found := strings.Cut(string(text), jsonHead)
	if !found {
		t.Fatalf("%s has no line %q", jsonPage, jsonHead)
	}
	p := &jsonTypes{docs: map[string]map[string]string{}, titles: map[reflect.Type]string{}}
	for _, c := range printed() {
		p.titles[reflect.TypeOf(c.value)] = c.title
	}
	p.page.WriteString(written + jsonHead)
	p.page.WriteString("\nWritten by `go test ./cmd/eideticker -run TestReference -update` from the types.\n")
	for _, c := range printed() {
		fmt.Fprintf(&p.page, "\n### %s\n\n", c.title)
		p.table(reflect.TypeOf(c.value))
	}
	p.page.WriteString("\n## Objects\n")
	for i := 0; i < len(p.found); i++ { // a table may find more
		fmt.Fprintf(&p.page, "\n### %s\n\n", p.name(p.found[i]))
		p.table(p.found[i])
	}
	return p.page.String()
}

// jsonTypes writes tables of types.
type jsonTypes struct {
	page   strings.Builder
	titles map[reflect.Type]string // of commands
	found  []reflect.Type
	docs   map[string]map[string]string // by package: comments by type and field
}

func (p *jsonTypes) table(t reflect.Type) {
	p.page.WriteString("| field | type | meaning |\n|---|---|---|\n")
	p.rows(t)
}

func (p *jsonTypes) rows(t reflect.Type) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && name == "":
			p.rows(indirect(f.Type))
			continue
		}
		about := p.doc(t, f.Name)
		if doc := f.Tag.Get("doc"); doc != "" {
			about = doc
		}
		if strings.Contains(options, "omit") {
			about = strings.TrimSuffix("optional; "+about, "; ")
		}
		row := fmt.Sprintf("| `%s` | %s | %s", name, p.kind(f.Type), strings.ReplaceAll(about, "|", "\\|"))
		p.page.WriteString(strings.TrimSuffix(row, " ") + " |\n")
	}
}

func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// kind returns a type in words.
func (p *jsonTypes) kind(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "time"
	case t == reflect.TypeFor[json.RawMessage]():
		return "any"
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || t.Implements(reflect.TypeFor[json.Marshaler]()):
		return "text"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return p.kind(t.Elem()) + " or null"
	case reflect.Slice, reflect.Array:
		return "list of " + p.kind(t.Elem())
	case reflect.Map:
		return "object of " + p.kind(t.Elem())
	case reflect.Struct:
		if slices.Contains([]string{"result", "measure", "stats", "activity", "plan"}, filepath.Base(t.PkgPath())) {
			return fmt.Sprintf("[%s](%s)", t.Name(), resultsPage)
		}
		if p.titles[t] == "" && !slices.Contains(p.found, t) {
			p.found = append(p.found, t)
		}
		return fmt.Sprintf("[%s](#%s)", p.name(t), anchors.Replace(strings.ToLower(p.name(t))))
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "boolean"
	case reflect.Interface:
		return "any"
	case reflect.Float32, reflect.Float64:
		return "number"
	}
	return "integer"
}

// anchors turns a title into the name of its anchor.
var anchors = strings.NewReplacer(" ", "-", ".", "", ",", "")

// name returns the name of a type, with its package where it is not of a command.
func (p *jsonTypes) name(t reflect.Type) string {
	if title := p.titles[t]; title != "" {
		return title
	}
	name, _, generic := strings.Cut(t.String(), "[")
	name = strings.TrimSuffix(strings.TrimPrefix(name, "main."), "JSON")
	if generic {
		name += " of " + p.kind(t.Field(0).Type)
	}
	return name
}

// doc returns the comment of a field in the source.
func (p *jsonTypes) doc(t reflect.Type, field string) string {
	pkg := strings.TrimPrefix(t.PkgPath(), "github.com/eideticker/eideticker/")
	if p.docs[pkg] == nil {
		p.docs[pkg] = fieldComments("../../" + pkg)
	}
	text := p.docs[pkg][t.Name()+"."+field]
	for _, verb := range []string{" is ", " are ", " has ", " have "} {
		text = strings.TrimPrefix(text, field+verb)
	}
	return text
}

// fieldComments returns the comments of fields in a folder's files, by type and field.
func fieldComments(dir string) map[string]string {
	all := map[string]string{}
	files, _ := filepath.Glob(dir + "/*.go")
	for _, path := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			continue // the compiler reports it
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, is := n.(*ast.TypeSpec)
			if !is {
				return true
			}
			if s, is := spec.Type.(*ast.StructType); is {
				for _, f := range s.Fields.List {
					text := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
					for _, name := range f.Names {
						all[spec.Name.Name+"."+name.Name] = text
					}
				}
			}
			return true
		})
	}
	return all
}
