package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// topic is a group of commands in the help.
type topic struct {
	name     string
	commands []*kong.Node
}

// topics returns the commands of the program by their tags "topic", in the order of the first ones.
// A command without one continues the topic above.
func topics(root *kong.Node) (all []topic) {
	for _, n := range root.Children {
		if n.Hidden { // removed
			continue
		}
		if name := n.Tag.Get("topic"); name != "" {
			all = append(all, topic{name: name})
		}
		last := &all[len(all)-1]
		last.commands = append(last.commands, n)
	}
	return all
}

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
	all := topics(ctx.Model.Node)
	longest := 0
	for _, t := range all {
		for _, n := range t.commands {
			longest = max(longest, utf8.RuneCountInString(called(n)))
		}
	}
	for _, t := range all {
		put("", "\n")
		put(bold, t.name+"\n")
		for _, n := range t.commands {
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
