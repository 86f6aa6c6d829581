package manual

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

// Program describes the parts of the program's own page that its commands lack.
type Program struct {
	About            string
	Exits, Variables [][2]string // names and their meanings
}

// allPages returns a manual page in roff for the program and one for each command, by name.
func allPages(root *kong.Node, program Program) map[string]string {
	pages := map[string]string{}
	var p manPage
	p.begin("eideticker", program.About)
	p.section("SYNOPSIS", boldly("eideticker")+roff(" COMMAND [ARGUMENT]... [--FLAG]..."))
	p.section("DESCRIPTION", roff(program.About+" eideticker-COMMAND(1) describes each command, with examples."))
	p.section("COMMANDS", "")
	for _, t := range Topics(root) {
		fmt.Fprintf(&p, ".SS %s\n", roff(t.Name))
		for _, n := range t.Commands {
			p.item(strings.TrimRight(boldly(n.Name)+" "+roff(n.Tag.Get("shows")), " "), n.Help)
			pages["eideticker-"+n.Name] = commandPage(n)
		}
	}
	p.section("EXIT STATUS", "")
	for _, e := range program.Exits {
		p.item(e[0], strings.ReplaceAll(e[1], "`", ""))
	}
	p.section("ENVIRONMENT", "")
	for _, v := range program.Variables {
		p.item(boldly(v[0]), v[1])
	}
	pages["eideticker"] = p.String()
	return pages
}

// commandPage returns the page of a command, with those below it.
func commandPage(n *kong.Node) string {
	var p manPage
	p.begin("eideticker-"+n.Name, n.Help)
	p.section("SYNOPSIS", boldly("eideticker "+n.Name)+roff(strings.TrimPrefix(n.Summary(), n.Name)))
	p.section("DESCRIPTION", "")
	p.text(n.Detail)
	p.parts(n, ".SH %s\n")
	for _, leaf := range n.Leaves(true) {
		if leaf == n {
			continue
		}
		fmt.Fprintf(&p, ".SH %s\n", roff(strings.ToUpper(leaf.Path())))
		p.text(leaf.Help)
		if leaf.Detail != n.Detail {
			p.text(leaf.Detail)
		}
		p.parts(leaf, ".SS %s\n")
	}
	p.section("SEE ALSO", boldly("eideticker")+"(1)")
	return p.String()
}

// manPage is the source of a page for man.
type manPage struct{ strings.Builder }

func (p *manPage) begin(name, help string) {
	fmt.Fprintf(p, ".TH %s 1 \"\" eideticker \"User Commands\"\n.SH NAME\n%s \\- %s\n", roff(strings.ToUpper(name)),
		roff(name), roff(strings.TrimSuffix(help, ".")))
}

// section begins a section with a line in roff.
func (p *manPage) section(name, line string) {
	fmt.Fprintf(p, ".SH %s\n", name)
	if line != "" {
		p.WriteString(line + "\n")
	}
}

// text adds paragraphs. Indented lines are kept as they are.
func (p *manPage) text(text string) {
	for block := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		switch {
		case block == "":
		case strings.HasPrefix(block, " "):
			fmt.Fprintf(p, ".PP\n.RS 2\n.nf\n%s\n.fi\n.RE\n", roff(block))
		default:
			fmt.Fprintf(p, ".PP\n%s\n", roff(block))
		}
	}
}

// item adds a name in roff and its meaning.
func (p *manPage) item(name, text string) { fmt.Fprintf(p, ".TP\n%s\n%s\n", name, roff(text)) }

// parts adds the arguments and the flags of a command.
func (p *manPage) parts(n *kong.Node, heading string) {
	if len(n.Positional) > 0 {
		fmt.Fprintf(p, heading, "ARGUMENTS")
	}
	for _, a := range n.Positional {
		p.item(roff(a.Summary()), a.Help)
	}
	for i, group := range n.AllFlags(true) {
		for k, f := range group {
			if i+k == 0 {
				fmt.Fprintf(p, heading, "OPTIONS")
			}
			name := boldly("--" + f.Name)
			if !f.IsBool() {
				name += roff("=" + f.FormatPlaceHolder())
			}
			if f.Short != 0 {
				name = boldly("-"+string(f.Short)) + ", " + name
			}
			p.item(name, f.Help)
		}
	}
}

// boldly returns a text in bold, in roff.
func boldly(s string) string { return `\fB` + roff(s) + `\fR` }

// roff escapes a text.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "~", `\(ti`, "^", `\(ha`, "`", `\(ga`, "'", `\(aq`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// Install writes the scripts of all shells and the manual pages below a folder of shared data. It
// returns the number of files.
func Install(dir string, root *kong.Node, p Program) (int, error) {
	files := map[string]string{
		"bash-completion/completions/eideticker":    Completion("bash", root),
		"zsh/vendor-completions/_eideticker":        Completion("zsh", root),
		"fish/vendor_completions.d/eideticker.fish": Completion("fish", root),
	}
	for name, page := range allPages(root, p) {
		files["man/man1/"+name+".1.gz"] = zipped(page)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(files), nil
}

// zipped compresses a page as gzip -9n does.
func zipped(text string) string {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level exists
	_, _ = io.WriteString(z, text)                        // to memory
	_ = z.Close()
	return b.String()
}
