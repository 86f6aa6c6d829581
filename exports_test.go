package eideticker_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxUnusedExports may only fall: a name that no other package uses is not exported.
const maxUnusedExports = 25

// exports are the package-level declarations of a package and the names that others use.
type exports struct {
	declared map[string][]ast.Node
	used     map[string]bool
}

// TestExportsAreUsed counts the exported package-level names that no other package uses. A name is
// used if another package, or a test in package x_test, names it. The types in the signature and
// the fields of a used name are used too. Files count whatever their build constraints are.
// Others import deploy/api, so its names do not count.
func TestExportsAreUsed(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "*.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	all, parsed := map[string]*exports{}, map[string]*ast.File{}
	for _, name := range strings.Fields(string(out)) {
		src, err := os.ReadFile(name)
		if os.IsNotExist(err) || strings.Contains(name, "testdata/") {
			continue // removed, and not committed yet
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		dir := path.Dir(name)
		if parsed[name] = file; strings.HasSuffix(name, "_test.go") || file.Name.Name == "main" {
			continue
		}
		if all[dir] == nil {
			all[dir] = &exports{map[string][]ast.Node{}, map[string]bool{}}
		}
		all[dir].declare(file)
	}
	for _, file := range parsed {
		markUses(all, file)
	}
	var unused []string
	for dir, e := range all {
		for name := range e.declared {
			if ast.IsExported(name) && !e.used[name] && dir != "deploy/api" {
				unused = append(unused, dir+"."+name)
			}
		}
	}
	if slices.Sort(unused); len(unused) > maxUnusedExports {
		t.Errorf("no other package uses %d exported names, at most %d are allowed; unexport the new ones of:\n%s",
			len(unused), maxUnusedExports, strings.Join(unused, "\n"))
	}
}

// declare adds the package-level declarations of a file. Methods belong to their type.
func (e *exports) declare(file *ast.File) {
	add := func(name string, part ast.Node) { e.declared[name] = append(e.declared[name], part) }
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name.Name, d.Type)
			} else if d.Name.IsExported() {
				name := strings.Trim(types.ExprString(d.Recv.List[0].Type), "*")
				name, _, _ = strings.Cut(name, "[")
				add(name, d.Type)
			}
		case *ast.GenDecl:
			var typ ast.Node = &ast.BadExpr{} // constants may repeat the type of the one before
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name.Name, s.Type)
				case *ast.ValueSpec:
					if s.Type != nil {
						typ = s.Type
					}
					for _, id := range s.Names {
						add(id.Name, typ)
					}
				}
			}
		}
	}
}

// use marks a name, and the names in its signature and its fields.
func (e *exports) use(name string) {
	if e.used[name] {
		return
	}
	e.used[name] = true
	for _, part := range e.declared[name] {
		ast.Inspect(part, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				e.use(id.Name)
			}
			_, ok := n.(*ast.SelectorExpr) // of another package
			return !ok
		})
	}
}

// markUses marks the names that a file takes from packages that it imports.
func markUses(all map[string]*exports, file *ast.File) {
	imported := map[string]*exports{}
	for _, im := range file.Imports {
		at, _ := strconv.Unquote(im.Path.Value) // the parser has checked it
		dir := strings.TrimPrefix(at, module+"/")
		imported[path.Base(dir)] = all[dir]
		if im.Name != nil {
			imported[im.Name.Name] = all[dir]
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if e := imported[types.ExprString(s.X)]; e != nil {
				e.use(s.Sel.Name)
			}
		}
		return true
	})
}
