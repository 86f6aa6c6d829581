// Cross type-checks the packages of the module for other platforms, from source and without cgo. It
// checks tests too, except for Windows, where tests do not run. It finds the errors of a
// cross-build at a fraction of its cost. It reads other modules without the bodies of their
// functions, and does not compile or link.
//
// Usage: cross GOOS/GOARCH ...
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	failed := false
	for _, target := range os.Args[1:] {
		errs, err := check(".", target)
		if err != nil {
			errs = append(errs, err.Error())
		}
		for _, text := range errs {
			failed = true
			fmt.Fprintf(os.Stderr, "cross: %s: %s\n", target, text)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// check returns the errors of the packages below a folder on a platform.
func check(dir, target string) ([]string, error) {
	goos, goarch, ok := strings.Cut(target, "/")
	if !ok {
		return nil, fmt.Errorf("target %s: want GOOS/GOARCH", target)
	}
	all, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes | packages.NeedModule,
		Dir: dir, Tests: goos != "windows",
		// Comments and what a name is declared as in its file are of no use here.
		ParseFile: func(fset *token.FileSet, name string, text []byte) (*ast.File, error) {
			return parser.ParseFile(fset, name, text, parser.AllErrors|parser.SkipObjectResolution)
		},
		Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch),
	}, "./...")
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: it has no package", dir)
	}
	var errs []string
	seen := map[string]bool{}
	for p := range packages.Postorder(all) {
		for _, e := range p.Errors {
			if text := e.Error(); !seen[text] {
				seen[text] = true
				errs = append(errs, text)
			}
		}
	}
	return errs, nil
}
