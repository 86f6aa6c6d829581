package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (completionCmd) Help() string {
	return `Examples:

  eideticker completion all -o ~/.local/share
  eideticker completion zsh > "${fpath[1]}/_eideticker"
  eideticker completion fish > ~/.config/fish/completions/eideticker.fish`
}

func (c completionCmd) Run(e *env) error {
	var b strings.Builder
	commands := completions(e.parser.Model.Node)
	switch c.Shell {
	case "bash":
		writeBash(&b, commands)
	case "zsh":
		writeZsh(&b, commands)
	case "fish":
		writeFish(&b, commands)
	}
	_, err := io.WriteString(e.out, b.String())
	return err
}

// completable is a subcommand with its flags and arguments.
type completable struct {
	name, help string
	flags      []completableFlag
	arg        offer // for positional arguments
}

type completableFlag struct {
	long, short, help string
	takesValue        bool
	value             offer
}

// offer is a completion: words, or files.
type offer struct {
	words []string
	files bool
}

// completions reads commands and flags from the parser's model. The completion of a value comes
// from its enum, its tag complete:"files" or complete:"WORD WORD", or its placeholder.
func completions(root *kong.Node) []completable {
	var all []completable
	for _, n := range root.Children {
		if n.Hidden { // removed
			continue
		}
		c := completable{name: n.Name, help: n.Help}
		for _, group := range n.AllFlags(true) {
			for _, f := range group {
				cf := completableFlag{long: "--" + f.Name, help: f.Help, takesValue: !f.IsBool(),
					value: offered(f.Value)}
				if f.Short != 0 {
					cf.short = "-" + string(f.Short)
				}
				c.flags = append(c.flags, cf)
			}
		}
		for _, p := range n.Positional {
			o := offered(p)
			c.arg.words = append(c.arg.words, o.words...)
			c.arg.files = c.arg.files || o.files
		}
		all = append(all, c)
	}
	return all
}

// filePlaceholders are the placeholders of flags with the name of a file or folder.
func filePlaceholders() []string {
	return []string{"FILE", "FILE.eid", "FILE.har", "DIR", "FOLDER", "ARCHIVE", "OUT"}
}

func offered(v *kong.Value) offer {
	tag := v.Tag.Get("complete")
	switch {
	case v.Enum != "":
		return offer{words: v.EnumSlice()}
	case tag == "files", slices.Contains(filePlaceholders(), v.Tag.PlaceHolder):
		return offer{files: true}
	}
	return offer{words: strings.Fields(cmp.Or(tag, map[string]string{
		"SOURCE": "x11: raw: y4m: video: synth:", "OUTPUT": "x11: v4l2:"}[v.Tag.PlaceHolder]))}
}

func (c completable) flagNames() []string {
	var names []string
	for _, f := range c.flags {
		names = append(names, f.long)
		if f.short != "" {
			names = append(names, f.short)
		}
	}
	return names
}

func commandNames(commands []completable) string {
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	return strings.Join(names, " ")
}

// writeBash writes a function that completes by the previous word and the subcommand. A colon and
// an equals sign are words of their own (COMP_WORDBREAKS).
func writeBash(w *strings.Builder, commands []completable) {
	w.WriteString("# bash completion for eideticker\n_eideticker() {\n" +
		"    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n" +
		"    local IFS=$'\\n'\n" +
		"    COMPREPLY=()\n" +
		"    if [[ $cur == = ]]; then\n        cur=\n" +
		"    elif [[ $prev == = ]]; then\n        prev=${COMP_WORDS[COMP_CWORD-2]}\n" +
		"    elif [[ $cur == : || $prev == : ]]; then\n" +
		"        COMPREPLY=($(compgen -f -- \"${cur#:}\"))\n        return\n    fi\n" +
		"    if ((COMP_CWORD == 1)); then\n")
	fmt.Fprintf(w, "        COMPREPLY=($(compgen -W %s -- \"$cur\"))\n        return\n    fi\n",
		bashWords(strings.Fields(commandNames(commands)+" --help")))
	w.WriteString("    case ${COMP_WORDS[1]} in\n")
	for _, c := range commands {
		fmt.Fprintf(w, "    %s)\n        case $prev in\n", c.name)
		for _, f := range c.flags {
			if !f.takesValue {
				continue
			}
			pattern := f.long
			if f.short != "" {
				pattern += "|" + f.short
			}
			fmt.Fprintf(w, "        %s)\n            %s\n            return ;;\n", pattern, f.value.bash())
		}
		fmt.Fprintf(w, "        esac\n        if [[ $cur == -* ]]; then\n"+
			"            COMPREPLY=($(compgen -W %s -- \"$cur\"))\n            return\n        fi\n        %s ;;\n",
			bashWords(c.flagNames()), c.arg.bash())
	}
	w.WriteString("    esac\n}\ncomplete -o filenames -o nosort -F _eideticker eideticker\n")
}

func (o offer) bash() string {
	switch {
	case o.files:
		return `COMPREPLY=($(compgen -f -- "$cur"))`
	case len(o.words) > 0:
		reply := fmt.Sprintf(`COMPREPLY=($(compgen -W %s -- "$cur"))`, bashWords(o.words))
		if strings.HasSuffix(o.words[0], ":") { // the name of a file or scene follows
			reply += "; compopt -o nospace 2>/dev/null"
		}
		return reply
	}
	return ":"
}

// bashWords quotes words, one per line, so that they may contain blanks.
func bashWords(words []string) string { return "$" + quoted(strings.Join(words, `\n`)) }

// writeZsh writes a function for the completion system: _describe for commands, _arguments for
// flags.
func writeZsh(w *strings.Builder, commands []completable) {
	w.WriteString("#compdef eideticker\n_eideticker() {\n    local -a commands\n    commands=(\n")
	for _, c := range commands {
		fmt.Fprintf(w, "        %s\n", quoted(c.name+":"+strings.ReplaceAll(c.help, ":", `\:`)))
	}
	w.WriteString("    )\n    if ((CURRENT == 2)); then\n        _describe command commands\n        return\n    fi\n" +
		"    local command=$words[2]\n    shift words\n    ((CURRENT--))\n    case $command in\n")
	for _, c := range commands {
		fmt.Fprintf(w, "    %s)\n        _arguments", c.name)
		for _, f := range c.flags {
			help := strings.NewReplacer("[", "(", "]", ")", ":", `\:`).Replace(f.help)
			value := ""
			if f.takesValue {
				value = ":value:" + f.value.zsh()
			}
			fmt.Fprintf(w, " \\\n            %s", quoted(f.long+"["+help+"]"+value))
			if f.short != "" {
				fmt.Fprintf(w, " \\\n            %s", quoted(f.short+"["+help+"]"+value))
			}
		}
		if c.arg.files || len(c.arg.words) > 0 {
			fmt.Fprintf(w, " \\\n            %s", quoted("*:argument:"+c.arg.zsh()))
		}
		w.WriteString(" ;;\n")
	}
	w.WriteString("    esac\n}\n" +
		"if [[ $funcstack[1] == _eideticker ]]; then\n    _eideticker \"$@\"\n" +
		"else\n    compdef _eideticker eideticker\nfi\n")
}

func (o offer) zsh() string {
	if o.files {
		return "_files"
	}
	words := make([]string, len(o.words))
	for i, word := range o.words {
		words[i] = strings.ReplaceAll(word, ":", `\:`)
	}
	return "(" + strings.Join(words, " ") + ")"
}

// writeFish writes one complete command per subcommand and flag.
func writeFish(w *strings.Builder, commands []completable) {
	w.WriteString("# fish completion for eideticker\ncomplete -c eideticker -f\n")
	for _, c := range commands {
		fmt.Fprintf(w, "complete -c eideticker -n __fish_use_subcommand -a %s -d %s\n", c.name, quoted(c.help))
	}
	for _, c := range commands {
		in := quoted("__fish_seen_subcommand_from " + c.name)
		for _, f := range c.flags {
			fmt.Fprintf(w, "complete -c eideticker -n %s -l %s", in, strings.TrimPrefix(f.long, "--"))
			if f.short != "" {
				fmt.Fprintf(w, " -s %s", strings.TrimPrefix(f.short, "-"))
			}
			if f.takesValue {
				w.WriteString(" -r" + f.value.fish())
			}
			fmt.Fprintf(w, " -d %s\n", quoted(f.help))
		}
		if arg := c.arg.fish(); arg != "" {
			fmt.Fprintf(w, "complete -c eideticker -n %s%s\n", in, arg)
		}
	}
}

func (o offer) fish() string {
	switch {
	case o.files:
		return " -F"
	case len(o.words) > 0:
		return " -a " + quoted(strings.Join(o.words, " "))
	}
	return ""
}

// quoted puts a text in single quotes for all three shells.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "’") + "'" }
