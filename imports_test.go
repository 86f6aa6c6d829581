package eideticker_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/eideticker/eideticker"

// rule is one row of the import table: what a package may import.
type rule struct {
	pattern        string // "capture/frame", or "capture/*" for what lies below
	own, others    []string
	anyOwn, anyExt bool
}

// listed is what `go list -json` says about a package.
type listed struct {
	ImportPath string
	Imports    []string
}

func TestImportsKeepToTheTable(t *testing.T) {
	doc, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := parseRules(string(doc))
	if err != nil {
		t.Fatal(err)
	}
	for _, cgo := range []string{"0", "1"} {
		packages := list(t, cgo)
		if len(packages) < 5 {
			t.Fatalf("go list with CGO_ENABLED=%s finds %d packages: is the test run from the module?", cgo, len(packages))
		}
		for _, violation := range violations(rules, packages) {
			t.Errorf("CGO_ENABLED=%s: %s", cgo, violation)
		}
	}
}

// TestTableCatches makes sure that the test above can fail.
func TestTableCatches(t *testing.T) {
	const table = "| `capture/frame` | `capture/timeline` | – |\n" +
		"| `capture/*` | `capture` `ringbuf` | `golang.org/x/sys` |\n" +
		"| `cmd/eideticker` | everything | everything |\n"
	rules, err := parseRules(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, pkg, imports string
		want               string // part of the violation; "" for none
	}{
		{"allowed", "capture/frame", module + "/capture/timeline", ""},
		{"standard library", "capture/frame", "encoding/json", ""},
		{"own module, not in the row", "capture/frame", module + "/ringbuf", "capture/frame imports ringbuf"},
		{"other module, not in the row", "capture/frame", "golang.org/x/sys/unix", "capture/frame imports golang.org/x/sys/unix"},
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
	if _, err := parseRules("# Architecture\n\nno table\n"); err == nil {
		t.Error("a document without a table is taken for one")
	}
}

var codeWord = regexp.MustCompile("`([^`]+)`")

// parseRules reads the rows of three cells whose first is one code word.
func parseRules(doc string) ([]rule, error) {
	var rules []rule
	lines := bufio.NewScanner(strings.NewReader(doc))
	for lines.Scan() {
		cells := strings.Split(strings.Trim(lines.Text(), "|"), "|")
		if len(cells) != 3 || !strings.HasPrefix(strings.TrimSpace(cells[0]), "`") {
			continue
		}
		r := rule{pattern: words(cells[0])[0]}
		r.own, r.anyOwn = words(cells[1]), strings.TrimSpace(cells[1]) == "everything"
		r.others, r.anyExt = words(cells[2]), strings.TrimSpace(cells[2]) == "everything"
		rules = append(rules, r)
	}
	if len(rules) == 0 {
		return nil, errors.New("no row of an import table found")
	}
	return rules, lines.Err()
}

func words(cell string) []string {
	var all []string
	for _, m := range codeWord.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
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
