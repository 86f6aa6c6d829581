package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/netsim/ecma"
)

const (
	// MaxReplacement limits the text of a replacement, in bytes.
	MaxReplacement = 256 << 10
	lineBreaks     = "\n\r\u2028\u2029"
)

// oneLine returns a function expression without comments and line breaks, because insertions have
// none. It adds the semicolons that line breaks imply.
func oneLine(text string) (string, error) {
	if len(text) > MaxReplacement {
		return "", fmt.Errorf("it has more than %d KiB", MaxReplacement>>10)
	}
	t, function, err := parseFunction(text)
	if err != nil {
		return "", err
	}
	var kept []ecma.Node // tokens with arbitrary text
	ends := map[uint32]bool{}
	for i, n := range t.Nodes[:function] {
		ends[n.End] = ends[n.End] || n.Flags&ecma.Unterminated != 0
		switch n.Kind {
		case ecma.Identifier, ecma.PrivateIdentifier, ecma.Literal:
			kept = append(kept, n)
		case ecma.TemplateLiteral:
			if strings.ContainsAny(t.Text(i), lineBreaks) {
				return "", errors.New("a template literal has a line break; write \\n")
			}
			kept = slices.DeleteFunc(kept, func(in ecma.Node) bool { return in.Start >= n.Start })
			kept = append(kept, n)
		}
	}
	whole := t.Nodes[function]
	var b strings.Builder
	at := whole.Start
	for _, n := range append(kept, ecma.Node{Start: whole.End, End: whole.End}) {
		for at < n.Start {
			if ends[at] {
				b.WriteByte(';')
			}
			c := t.Source[at:n.Start]
			if size := blank(c); size > 0 {
				b.WriteByte(' ')
				at += uint32(size)
				continue
			}
			b.WriteByte(c[0])
			at++
		}
		// A statement ends before the next token, but not before the space between them.
		if ends[at] && at < whole.End && n.Start < whole.End {
			b.WriteByte(';')
		}
		token := t.Source[n.Start:n.End]
		if strings.ContainsAny(token, "\v\f") { // insertions are enclosed in them
			return "", errors.New("a literal has a form feed or a vertical tab; write \\f or \\v")
		}
		b.WriteString(literal.Replace(token))
		at = n.End
	}
	line := b.String()
	again, at2, err := parseFunction(line)
	if err != nil || strings.ContainsAny(line, lineBreaks) {
		return "", fmt.Errorf("it cannot be written in one line: %v", err)
	}
	sameKind := func(a, b ecma.Node) bool { return a.Kind == b.Kind }
	if !slices.EqualFunc(t.Nodes[:function+1], again.Nodes[:at2+1], sameKind) {
		return "", errors.New("it cannot be written in one line")
	}
	return line, nil
}

// literal joins the lines of a string, and escapes the line terminators that strings may contain.
var literal = strings.NewReplacer("\\\r\n", "", "\\\n", "", "\\\r", "", "\\\u2028", "", "\\\u2029", "",
	"\u2028", `\u2028`, "\u2029", `\u2029`)

// blank returns the length of white space or a comment at the begin of a text between tokens.
func blank(text string) int {
	switch {
	case strings.HasPrefix(text, "//"):
		if end := strings.IndexAny(text, lineBreaks); end >= 0 {
			return end
		}
		return len(text)
	case strings.HasPrefix(text, "/*"):
		return strings.Index(text, "*/") + len("*/")
	}
	return len(text) - len(strings.TrimLeft(text, " \t\n\r\v\f\u00a0\ufeff\u2028\u2029"))
}

// parseFunction parses a text that is one function expression. It returns the function's node.
func parseFunction(text string) (*ecma.Tree, int, error) {
	t, err := ecma.Parse("("+text+"\n)", ecma.Script)
	if err != nil {
		return nil, 0, err
	}
	root, function := len(t.Nodes)-1, len(t.Nodes)-4
	for range t.Children(root) {
		root--
	}
	if function < 0 || root != len(t.Nodes)-2 || t.Nodes[len(t.Nodes)-3].Kind != ecma.ParenthesizedExpression ||
		!t.Nodes[function].Kind.IsFunction() {
		return nil, 0, errors.New("it must be one function expression")
	}
	return t, function, nil
}
