package eideticker_test

import (
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/built"
)

const module = "github.com/eideticker/eideticker"

// rule is one row of the import table: what a package may import. The row "*" is for all packages.
type rule struct {
	pattern        string // "capture/frame", or "capture/*" for the packages below
	own, others    []string
	anyOwn, anyExt bool
}

// listed is what `go list -json` says about a package.
type listed struct {
	ImportPath string
	Imports    []string
}

func TestImportsKeepToTheTable(t *testing.T) {
	table, err := os.ReadFile("testdata/imports.txt")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := parseRules(string(table))
	if err != nil {
		t.Fatal(err)
	}
	for _, cgo := range []string{"0", "1"} {
		packages := list(t, cgo)
		if len(packages) < 5 {
			t.Fatalf("go list with CGO_ENABLED=%s finds %d packages: is the test run from the module?", cgo,
				len(packages))
		}
		for _, violation := range violations(rules, packages) {
			t.Errorf("CGO_ENABLED=%s: %s", cgo, violation)
		}
	}
}

// TestProgramLinksNoLibraries: of the program's packages, only those of the standard library may
// have C code, and they do not need it.
func TestProgramLinksNoLibraries(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if .CgoFiles}}{{.ImportPath}}{{end}}", "./cmd/eideticker")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range strings.Fields(string(out)) {
		if !slices.Contains([]string{"net", "os/user", "runtime/cgo"}, name) {
			t.Errorf("%s has C code, which belongs into eideticker-media", name)
		}
	}
	program, err := built.Program()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if linked, err := f.ImportedLibraries(); err != nil || len(linked) > 0 {
		t.Errorf("eideticker links %q (error %v)", linked, err)
	}
}

// TestTableCatches makes sure that the test above can fail.
func TestTableCatches(t *testing.T) {
	const table = "* | pattern | -\ncapture/frame | capture/timeline | -\n" +
		"capture/* | capture ringbuf | golang.org/x/sys\n" +
		"cmd/eideticker | everything | everything\n"
	rules, err := parseRules(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, pkg, imports string
		want               string // part of the violation; "" for none
	}{
		{"allowed", "capture/frame", module + "/capture/timeline", ""},
		{"own module, in the row of all", "capture/frame", module + "/pattern", ""},
		{"standard library", "capture/frame", "encoding/json", ""},
		{"own module, not in the row", "capture/frame", module + "/ringbuf", "capture/frame imports ringbuf"},
		{"other module, not in the row", "capture/frame", "golang.org/x/sys/unix",
			"capture/frame imports golang.org/x/sys/unix"},
		{"other module, below one in the row", "capture/x11", "golang.org/x/sys/unix", ""},
		{"other module, same letters", "capture/x11", "golang.org/x/system", "imports golang.org/x/system"},
		{"star is not the folder itself", "capture", "fmt", "capture stands in no row"},
		{"first row counts", "capture/frame", module + "/capture", "capture/frame imports capture"},
		{"everything", "cmd/eideticker", "github.com/alecthomas/kong", ""},
		{"unknown folder", "utils", "fmt", "utils stands in no row"},
		{"the root holds no code", "", "fmt", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := violations(rules, []listed{{path.Join(module, tc.pkg), []string{tc.imports}}})
			switch {
			case tc.want == "" && len(got) != 0:
				t.Errorf("reported %q", got)
			case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
				t.Errorf("reported %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTableMustBeThere(t *testing.T) {
	for name, table := range map[string]string{
		"empty":         "# only a comment\n",
		"two cells":     "capture | ringbuf\n",
		"package twice": "ringbuf | - | -\nringbuf | - | -\n",
	} {
		if _, err := parseRules(table); err == nil {
			t.Errorf("%s: the table is accepted", name)
		}
	}
}

// parseRules reads a row per line: package, own packages, other modules, separated by "|". A dash
// is an empty cell.
func parseRules(table string) ([]rule, error) {
	var rules []rule
	for n, line := range strings.Split(table, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) != 3 {
			return nil, fmt.Errorf("imports: line %d has %d cells instead of 3", n+1, len(cells))
		}
		r := rule{pattern: strings.TrimSpace(cells[0])}
		if slices.ContainsFunc(rules, func(o rule) bool { return o.pattern == r.pattern }) {
			return nil, fmt.Errorf("imports: line %d repeats %s", n+1, r.pattern)
		}
		r.own, r.anyOwn = cell(cells[1])
		r.others, r.anyExt = cell(cells[2])
		rules = append(rules, r)
	}
	if len(rules) == 0 {
		return nil, errors.New("imports: the table has no row")
	}
	if all := slices.IndexFunc(rules, func(r rule) bool { return r.pattern == "*" }); all >= 0 {
		for i := range rules {
			rules[i].own = append(rules[i].own, rules[all].own...)
		}
	}
	return rules, nil
}

// cell returns the names in a cell. The name "everything" allows all.
func cell(text string) (names []string, everything bool) {
	names = strings.Fields(text)
	switch {
	case len(names) == 1 && names[0] == "everything":
		return nil, true
	case len(names) == 1 && names[0] == "-":
		return nil, false
	}
	return names, false
}

// violations reports each import that the rules do not allow.
func violations(rules []rule, packages []listed) []string {
	var all []string
	for _, p := range packages {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if name == "" {
			continue
		}
		i := slices.IndexFunc(rules, func(r rule) bool { return r.covers(name) })
		if i < 0 {
			all = append(all, name+" stands in no row of the table")
			continue
		}
		for _, imported := range p.Imports {
			if !rules[i].allows(imported) {
				all = append(all, fmt.Sprintf("%s imports %s, which its row %q does not allow",
					name, strings.TrimPrefix(imported, module+"/"), rules[i].pattern))
			}
		}
	}
	return all
}

func (r rule) covers(name string) bool {
	if folder, ok := strings.CutSuffix(r.pattern, "/*"); ok {
		return strings.HasPrefix(name, folder+"/")
	}
	return name == r.pattern
}

func (r rule) allows(imported string) bool {
	if own, ok := strings.CutPrefix(imported, module+"/"); ok {
		return r.anyOwn || slices.Contains(r.own, own)
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") {
		return true // standard library, and "C"
	}
	return r.anyExt || slices.ContainsFunc(r.others, func(m string) bool {
		return imported == m || strings.HasPrefix(imported, m+"/")
	})
}

// list returns the module's packages as the build with or without cgo sees them.
func list(t *testing.T, cgo string) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
