package manual

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Completion returns the completion script of a shell: bash, zsh or fish. It is empty for others.
func Completion(shell string, root *kong.Node) string {
	var b strings.Builder
	commands := completions(root)
	switch shell {
	case "bash":
		writeBash(&b, commands)
	case "zsh":
		writeZsh(&b, commands)
	case "fish":
		writeFish(&b, commands)
	}
	return b.String()
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

// offer is a completion: words, names that eideticker completion prints, or files.
type offer struct {
	words []string
	names string // a kind
	files bool
}

// completions reads commands and flags from the parser's model. The completion of a value comes
// from its enum, its placeholder or its tag complete: "files", "@KIND" for names, or words. The
// subcommands of a command are completed with all flags and arguments of each.
func completions(root *kong.Node) []completable {
	var all []completable
	for _, n := range root.Children {
		if n.Hidden { // removed
			continue
		}
		c := completable{name: n.Name, help: n.Help}
		c.take(n)
		for _, child := range n.Children {
			c.arg.words = append(c.arg.words, child.Name)
		}
		for _, leaf := range n.Leaves(true) {
			if leaf != n {
				c.take(leaf)
			}
		}
		all = append(all, c)
	}
	return all
}

// take adds the flags and arguments of a command.
func (c *completable) take(n *kong.Node) {
	for _, group := range n.AllFlags(true) {
		for _, f := range group {
			cf := completableFlag{long: "--" + f.Name, help: f.Help, takesValue: !f.IsBool(),
				value: offered(f.Value)}
			if f.Short != 0 {
				cf.short = "-" + string(f.Short)
			}
			if !slices.ContainsFunc(c.flags, func(f completableFlag) bool { return f.long == cf.long }) {
				c.flags = append(c.flags, cf)
			}
		}
	}
	for _, p := range n.Positional {
		o := offered(p)
		c.arg.words = append(c.arg.words, o.words...)
		c.arg.names, c.arg.files = cmp.Or(c.arg.names, o.names), c.arg.files || o.files
	}
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
	case tag == "" && v.Tag.PlaceHolder == "PROFILE":
		return offer{names: "profiles"}
	case strings.HasPrefix(tag, "@"):
		kind, files, _ := strings.Cut(tag[1:], " ")
		return offer{names: kind, files: files == "files"}
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
	case o.names != "":
		const form = `COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" completion %s 2>/dev/null)" -- "$cur"))`
		ask := fmt.Sprintf(form, o.names)
		if words := bashWords(o.words); len(o.words) > 0 {
			ask += fmt.Sprintf(`; COMPREPLY+=($(compgen -W %s -- "$cur"))`, words)
		}
		if o.files {
			ask += `; COMPREPLY+=($(compgen -f -- "$cur"))`
		}
		return ask
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
	w.WriteString("#compdef eideticker\n_eideticker_names() {\n" +
		"    compadd -- ${(f)\"$(eideticker completion $1 2>/dev/null)\"}\n" +
		"    [[ -z $2 ]] || _files\n}\n_eideticker() {\n    local -a commands\n    commands=(\n")
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
		if c.arg.files || c.arg.names != "" || len(c.arg.words) > 0 {
			fmt.Fprintf(w, " \\\n            %s", quoted("*:argument:"+c.arg.zsh()))
		}
		w.WriteString(" ;;\n")
	}
	w.WriteString("    esac\n}\n" +
		"if [[ $funcstack[1] == _eideticker ]]; then\n    _eideticker \"$@\"\n" +
		"else\n    compdef _eideticker eideticker\nfi\n")
}

func (o offer) zsh() string {
	switch {
	case o.names != "":
		return strings.TrimRight(" _eideticker_names "+o.names+map[bool]string{true: " files"}[o.files], " ")
	case o.files:
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
	text := ""
	if o.files {
		text = " -F"
	}
	if o.names != "" {
		text += " -a " + quoted("(eideticker completion "+o.names+")")
	}
	if len(o.words) > 0 {
		text += " -a " + quoted(strings.Join(o.words, " "))
	}
	return text
}

// quoted puts a text in single quotes for all three shells.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "’") + "'" }
