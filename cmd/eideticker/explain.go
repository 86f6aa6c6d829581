package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/glossary"
	"github.com/eideticker/eideticker/analyze/quality"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/vitals"
	"github.com/eideticker/eideticker/analyze/wording"
)

type explainCmd struct {
	Value string `arg:"" optional:"" name:"value" complete:"@values" help:"A value or a measure (default: all)."`
	JSON  bool   `help:"Print a JSON array of entries."`
}

func (explainCmd) Help() string {
	return `Examples:

  eideticker explain fps.longest_freeze
  eideticker explain fps
  eideticker explain longest_freeze`
}

func (c explainCmd) Run(e *env) error {
	entries, err := explain(c.Value)
	switch {
	case err != nil:
		return err
	case c.JSON:
		return printJSON(e.out, entries)
	case len(entries) == 1:
		printEntry(e, entries[0])
	default:
		for _, entry := range entries {
			fmt.Fprintf(e.out, "%s\n%s", entry.Name, terminal.Indented(entry.Meaning, "    ", terminal.Width(e.out)))
		}
	}
	return nil
}

// explain returns the entries of a measure, or of each value with that name or last part of a name.
// An empty name selects all.
func explain(name string) (found []glossary.Entry, err error) {
	var known []string
	for _, measure := range append(analyze.Names(), quality.Name, vitals.Name) {
		known = append(known, measure)
		for _, value := range analyze.Values(measure) {
			full := measure + "." + value
			known = append(known, full, value)
			if name == "" || measure == name || full == name || strings.HasSuffix(full, "."+name) {
				entry, _ := glossary.Explain(measure, value) // a test holds that there is one
				found = append(found, entry)
			}
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	if near := wording.Nearest(name, known); near != "" {
		return nil, usagef("unknown value %s; did you mean %s?", name, near)
	}
	return nil, usagef("unknown value %s; eideticker explain lists all", name)
}

func printEntry(e *env, entry glossary.Entry) {
	fmt.Fprintf(e.out, "%s   %s, %s is better\n\n%s\n", entry.Name, entry.Unit, entry.Better,
		terminal.Indented(entry.Meaning, "", terminal.Width(e.out)))
	fmt.Fprintf(e.out, "Formula  %s\n", strings.ReplaceAll(entry.Formula, "; ", "\n         "))
	if entry.Example != "" {
		fmt.Fprintf(e.out, "Example  %s\n", entry.Example)
	}
	fmt.Fprintln(e.out)
	for line := range strings.Lines(glossary.Terms) {
		term, _, _ := strings.Cut(line, " ")
		if mentions(entry.Formula, term) {
			fmt.Fprintf(e.out, "  %s\n", strings.TrimSpace(line))
		}
	}
}

// mentions reports whether a formula has a term as a word of its own.
func mentions(formula, term string) bool {
	return slices.Contains(strings.FieldsFunc(formula, func(r rune) bool {
		return strings.ContainsRune(" ()/−·,;:", r)
	}), term)
}
