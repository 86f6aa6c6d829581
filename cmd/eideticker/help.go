package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/deploy/manual"
)

// called returns a command with its main arguments, from its tag "shows".
func called(n *kong.Node) string { return terminal.Joined(" ", n.Name, n.Tag.Get("shows")) }

// printHelp prints the help of a command, or the commands of the program by topic.
func printHelp(o kong.HelpOptions, ctx *kong.Context) error {
	if ctx.Selected() != nil {
		return kong.DefaultHelpPrinter(o, ctx)
	}
	w := terminal.NewWriter(ctx.Stdout)
	width := min(80, terminal.Columns(ctx.Stdout))
	var err error
	put := func(s terminal.Style, text string) { err = errors.Join(err, terminal.InStyle(w, s, text)) }
	put("", terminal.Indented("Usage: eideticker COMMAND [ARGUMENT]... [--FLAG]...", "", width)+"\n"+
		terminal.Indented(about, "", width))
	all := manual.Topics(ctx.Model.Node)
	longest := 0
	for _, t := range all {
		for _, n := range t.Commands {
			longest = max(longest, utf8.RuneCountInString(called(n)))
		}
	}
	for _, t := range all {
		put("", "\n")
		put(terminal.Bold, t.Name+"\n")
		for _, n := range t.Commands {
			lead := fmt.Sprintf("  %-*s  ", longest, called(n))
			if width-len(lead) < terminal.MinText {
				put("", "  "+called(n)+"\n")
				lead = "    "
			}
			for _, line := range terminal.Wrap(n.Help, width-len(lead)) {
				put("", lead+line+"\n")
				lead = strings.Repeat(" ", len(lead))
			}
		}
	}
	const more = "eideticker COMMAND --help has examples, arguments and flags of a command."
	put("", "\n"+terminal.Indented(more, "", width))
	return err
}
