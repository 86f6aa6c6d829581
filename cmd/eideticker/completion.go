package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/manual"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/pattern"
)

type completionCmd struct {
	For    string `arg:"" enum:"bash,zsh,fish,all,tests,profiles,devices,values" help:"A shell, or see above."`
	Output string `short:"o" placeholder:"DIR" help:"all: folder, such as ~/.local/share or /usr/share."`
}

func (completionCmd) Help() string {
	return `Examples:

  eideticker completion all -o ~/.local/share
  eideticker completion bash > ~/.eideticker-completion
  eideticker completion zsh > "${fpath[1]}/_eideticker"
  eideticker completion fish > ~/.config/fish/completions/eideticker.fish

  bash, zsh, fish     print the script of a shell
  all                 write all scripts and the man pages below DIR
  tests, profiles     print the names that the scripts offer
  devices, values`
}

func (c completionCmd) Run(e *env) error {
	switch {
	case c.For != "all" && c.Output != "":
		return usagef("-o is for completion all; redirect the output of completion %s", c.For)
	case c.For == "all" && c.Output == "":
		return usagef("completion all needs -o with a folder such as ~/.local/share")
	case c.For == "all":
		n, err := manual.Install(c.Output, e.parser.Model.Node,
			manual.Program{About: about, Exits: exitMeanings(), Variables: variables()})
		if err != nil {
			return fmt.Errorf("write completions and man pages: %w", err)
		}
		_, err = fmt.Fprintf(e.out, "%s in %s\n", plural(n, "file"), c.Output)
		return err
	}
	text := manual.Completion(c.For, e.parser.Model.Node)
	if text == "" {
		text = offeredNames(c.For)
	}
	_, err := io.WriteString(e.out, text)
	return err
}

// offeredNames returns the names of one kind, one per line. Files that cannot be read have none.
func offeredNames(kind string) string {
	var names []string
	switch kind {
	case "tests":
		if sources, err := (suiteFolders{}).sources(); err == nil {
			all, _ := suite.Tests(session.Known(), sources...)
			for _, t := range all {
				names = append(names, t.Name)
			}
		}
	case "profiles":
		for _, p := range link.Profiles() {
			names = append(names, p.Name)
		}
	case "devices":
		if devices, err := session.FindDevices(""); err == nil {
			for _, d := range devices.Descriptions() {
				names = append(names, d.Name)
			}
		}
	case "values":
		if all, err := explain(""); err == nil {
			for _, v := range all {
				names = append(names, v.Name)
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !harmless.MatchString(name) })
	return strings.Join(append(names, ""), "\n")
}

// harmless are names that no shell expands.
var harmless = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// exitMeanings returns the meanings of the exit codes.
func exitMeanings() [][2]string {
	return [][2]string{
		{fmt.Sprint(exitOK), "success"},
		{fmt.Sprint(exitFailure), "failure"},
		{fmt.Sprint(exitUsage), "mistake on the command line"},
		{fmt.Sprint(exitRegression), "`--fail-on-regression`: regressed; `--fail-if` or a budget: broken"},
		{fmt.Sprint(exitInconclusive), "the same: inconclusive"},
		{fmt.Sprint(exitInterrupted), "interrupted"},
	}
}

// variables returns the environment variables that all commands, or those of a user, obey.
func variables() [][2]string {
	return [][2]string{
		{"NO_COLOR", "If it is not empty, terminals get no colours. Neither do they with TERM=dumb."},
		{"COLUMNS", "Width of a terminal that does not state its own."},
		{"LC_ALL, LC_CTYPE, LANG", "If the locale is not UTF-8, a terminal gets ASCII and escapes."},
		{"EIDETICKER_DEVICES", "File of devices (default: devices.yaml in the current folder)."},
		{"EIDETICKER_TOKEN", "Token for a rig."},
		{"EIDETICKER_FINGERPRINT", "Fingerprint of a rig's own certificate."},
		{"EIDETICKER_MEDIA", "Path of eideticker-media, which reads and writes video."},
		{"EIDETICKER_LOCK_DIR", "Folder of the locks of devices."},
	}
}
