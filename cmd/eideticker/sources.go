package main

import (
	"fmt"
	"io"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/controller/sources"
)

type sourcesCmd struct {
	JSON bool `help:"Print one JSON object."`
}

func (sourcesCmd) Help() string {
	return `Example:

  eideticker sources --json`
}

func (c sourcesCmd) Run(e *env) error {
	all, err := sources.Find()
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.out, all)
	}
	return printSources(e.out, all, terminal.Columns(e.out))
}

func printSources(w io.Writer, all sources.Sources, width int) error {
	var rows [][]string
	add := func(name string, lines ...string) {
		for _, line := range lines {
			rows = append(rows, []string{name, line})
			name = ""
		}
	}
	for _, d := range all.Devices {
		add(d.Source, d.Lines()...)
	}
	if len(all.Devices) == 0 {
		add("(no device)", "no capture device found")
	}
	for _, d := range all.Displays {
		add(d.Source, d.Lines()...)
	}
	if len(all.Displays) == 0 {
		add("(no display)", "no X display found; Xvfb :0 starts one")
	}
	for _, scene := range all.Scenes {
		add(scene.Source, scene.About)
	}
	if err := terminal.Wrapped(w, []string{"SOURCE", "DESCRIPTION"}, rows, width); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	rows = nil
	for _, k := range all.Kinds {
		add(k.Form, k.About)
	}
	return terminal.Wrapped(w, []string{"FORM", "DESCRIPTION"}, rows, width)
}
