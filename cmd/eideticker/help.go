package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/eideticker/eideticker/deploy/manual"
)

// called returns a command with its main arguments, from its tag "shows".
func called(n *kong.Node) string { return joined(" ", n.Name, n.Tag.Get("shows")) }

// printHelp prints the help of a command, or the commands of the program by topic.
func printHelp(o kong.HelpOptions, ctx *kong.Context) error {
	if ctx.Selected() != nil {
		return kong.DefaultHelpPrinter(o, ctx)
	}
	w := newPlainWriter(ctx.Stdout)
	width := min(80, columns(ctx.Stdout))
	var err error
	put := func(s style, text string) { err = errors.Join(err, inStyle(w, s, text)) }
	put("", indented("Usage: eideticker COMMAND [ARGUMENT]... [--FLAG]...", "", width)+"\n"+indented(about, "", width))
	all := manual.Topics(ctx.Model.Node)
	longest := 0
	for _, t := range all {
		for _, n := range t.Commands {
			longest = max(longest, utf8.RuneCountInString(called(n)))
		}
	}
	for _, t := range all {
		put("", "\n")
		put(bold, t.Name+"\n")
		for _, n := range t.Commands {
			lead := fmt.Sprintf("  %-*s  ", longest, called(n))
			if width-len(lead) < minText {
				put("", "  "+called(n)+"\n")
				lead = "    "
			}
			for _, line := range wrap(n.Help, width-len(lead)) {
				put("", lead+line+"\n")
				lead = strings.Repeat(" ", len(lead))
			}
		}
	}
	put("", "\n"+indented("eideticker COMMAND --help has examples, arguments and flags of a command.", "", width))
	return err
}
