package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/glossary"
	"github.com/eideticker/eideticker/analyze/quality"
	"github.com/eideticker/eideticker/analyze/vitals"
)

var update = flag.Bool("update", false, "write docs/reference anew")

const (
	reference = "../../docs/reference"
	generated = "Generated from the program: `go test ./cmd/eideticker -run TestReference -update`.\n"
)

// TestReference compares the pages of docs/reference with the code that they describe.
func TestReference(t *testing.T) {
	t.Setenv("COLUMNS", "100")
	for name, want := range map[string]string{
		"command-line.md": commandLinePage(t), "measures.md": measuresPage(), jsonPage: jsonReference(t),
	} {
		path := filepath.Join(reference, name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is not up to date (%v); run: go test ./cmd/eideticker -run TestReference -update", path, err)
		}
	}
}

// commandLinePage returns the help of every command, in the order in which --help lists them.
func commandLinePage(t *testing.T) string {
	t.Helper()
	var page strings.Builder
	page.WriteString("# Command line\n\n" + generated + "\n")
	page.WriteString("| exit code | meaning |\n|--:|---|\n")
	for _, e := range exitMeanings() {
		fmt.Fprintf(&page, "| %s | %s |\n", e[0], e[1])
	}
	parser, err := newParser(io.Discard, io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	writeHelp(t, &page, parser.Model.Node, nil)
	return page.String()
}

// writeHelp writes the help of a command and of those below it.
func writeHelp(t *testing.T, page *strings.Builder, command *kong.Node, path []string) {
	t.Helper()
	var out, errOut bytes.Buffer
	run(t.Context(), append(path[:len(path):len(path)], "--help"), strings.NewReader(""), &out, &errOut)
	if out.Len() == 0 || errOut.Len() > 0 {
		t.Fatalf("%v --help prints %q and the error %q", path, &out, &errOut)
	}
	var help strings.Builder
	for line := range strings.Lines(out.String()) {
		help.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	title := strings.Join(append([]string{"eideticker"}, path...), " ")
	fmt.Fprintf(page, "\n## %s\n\n```text\n%s\n```\n", title, strings.TrimSpace(help.String()))
	for _, child := range command.Children {
		if !child.Hidden {
			writeHelp(t, page, child, append(path[:len(path):len(path)], child.Name))
		}
	}
}

// measuresPage returns the values of every measure.
func measuresPage() string {
	var page strings.Builder
	page.WriteString("# Measures and their values\n\n" + generated +
		"[Measure a recording](../measure.md) explains the measures. `eideticker explain VALUE` adds an example.\n\n" +
		"```text\n" + glossary.Terms + "\n```\n")
	for _, name := range append(analyze.Names(), quality.Name, vitals.Name) {
		fmt.Fprintf(&page, "\n## %s\n\n| value | meaning | unit | better | formula |\n|---|---|---|---|---|\n", name)
		for _, value := range analyze.Values(name) {
			e, _ := glossary.Explain(name, value)
			fmt.Fprintf(&page, "| `%s` | %s | %s | %s | %s |\n", e.Name, e.Meaning, e.Unit, e.Better,
				strings.ReplaceAll(e.Formula, "|", "\\|"))
		}
	}
	return page.String()
}
