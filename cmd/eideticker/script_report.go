package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

type scriptListCmd struct {
	Folder string `arg:"" name:"run" optional:"" complete:"files" help:"Folder of a run, or of netsim serve --script."`
	JSON   bool   `help:"Print one JSON object."`
}

func (scriptListCmd) Help() string {
	return `Examples:

  eideticker script list
  eideticker script list out/stutter-20261124-101500

With a folder, the programs are listed that were served to pages, with the reason
why one was not instrumented.`
}

// policyJSON is one policy of script list --json.
type policyJSON struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
}

// programJSON is one program of script list RUN --json.
type programJSON struct {
	URL        string `json:"url"`
	Goal       string `json:"goal"`
	Bytes      int64  `json:"bytes"`
	AddedBytes int64  `json:"added_bytes"`
	Functions  int    `json:"functions"`
	Responses  int    `json:"responses"`
	Plain      string `json:"plain"` // why it was served without instrumentation
}

func (c scriptListCmd) Run(e *env) error {
	if c.Folder == "" {
		return c.policies(e)
	}
	run, problem, err := readScripts(c.Folder)
	if err != nil {
		return err
	}
	all, rows := []programJSON{}, [][]string{}
	for i := range run.Info.Programs {
		p := &run.Info.Programs[i]
		functions := p.CountFunctions()
		all = append(all, programJSON{p.URL, p.Goal, p.Bytes, p.Added, functions, p.Count, p.Plain})
		rows = append(rows, []string{terminal.Clean(p.URL), p.Goal, bytesText(p.Bytes), wording.Count(functions),
			wording.Count(p.Count), terminal.Clean(p.Plain)})
	}
	if c.JSON {
		return printJSON(e.out, map[string]any{"programs": all, "problem": problem})
	}
	if problem != "" {
		fmt.Fprintf(e.err, "warning: %s\n", terminal.Clean(problem))
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(e.out, "no programs were served")
		return err
	}
	return terminal.Table(e.out, []string{"PROGRAM", "KIND", ">SIZE", ">FUNCTIONS", ">SERVED", "NOT INSTRUMENTED"},
		rows)
}

func (c scriptListCmd) policies(e *env) error {
	all, rows := []policyJSON{}, [][]string{}
	for _, p := range policy.List() {
		all = append(all, policyJSON{p.Name, p.Meaning})
		rows = append(rows, []string{p.Name, p.Meaning})
	}
	if c.JSON {
		return printJSON(e.out, map[string]any{"policies": all})
	}
	return terminal.Wrapped(e.out, []string{"POLICY", "REPORTS"}, rows, terminal.Columns(e.out))
}

type scriptReportCmd struct {
	Folder string `arg:"" name:"run" complete:"files" help:"Folder of a run, or of netsim serve, replay or observe."`
	JSON   bool   `help:"Print one JSON object."`
}

func (scriptReportCmd) Help() string {
	return `Examples:

  eideticker script report out/stutter-20261124-101500
  eideticker script report out/observed/0001 --json

The report has the longest functions, errors, what the policies found, coverage and
cost. Late frames need a recording, so only runs have them.`
}

func (c scriptReportCmd) Run(e *env) error {
	s, err := c.scripts()
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.out, map[string]any{"path": c.Folder, "script": s})
	}
	return terminal.Script(e.out, s)
}

// scripts returns those of the results of a run. Other folders have only the records.
func (c scriptReportCmd) scripts() (*result.Script, error) {
	results, err := result.Read(filepath.Join(c.Folder, result.FileName))
	switch {
	case err == nil && results.Script != nil:
		return results.Script, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	run, problem, err := readScripts(c.Folder)
	if err != nil {
		return nil, err
	}
	s := run.Results(nil)
	if problem != "" {
		s.Warnings = append([]string{"Records of scripts are missing: " + problem + "."}, s.Warnings...)
	}
	return s.Complete(), nil
}

// readScripts reads the records of scripts in a folder.
func readScripts(dir string) (*scripts.Run, string, error) {
	run, problem, err := scripts.ReadFolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("%s has no records of scripts; name the folder of one run with --script", dir)
	}
	return run, problem, err
}
