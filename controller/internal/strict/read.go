package strict

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

func (r *Reader) Errorf(at ast.Node, format string, args ...any) error {
	p := Position(at)
	return &Error{File: r.File, Line: p.Line, Column: p.Column, Problem: fmt.Sprintf(format, args...)}
}

// maxDepth bounds how deep brackets and the dashes of one line nest: the parser's time grows with
// the square.
const maxDepth = 32

// Syntax parses the text into one document.
func (r *Reader) Syntax(text []byte) (body ast.Node, err error) {
	if len(text) > r.Max {
		return nil, &Error{File: r.File, Problem: fmt.Sprintf("is larger than %d KiB: no %s is", r.Max>>10, r.What)}
	}
	text = []byte(strings.TrimPrefix(string(text), "\ufeff"))
	if err := r.characters(text); err != nil {
		return nil, err
	}
	defer func() { // the parser is somebody else's: a file it stumbles over ends this file's reading, and no more
		if p := recover(); p != nil {
			body, err = nil, &Error{File: r.File, Problem: fmt.Sprintf("cannot be read as YAML: %v", p)}
		}
	}()
	tokens := lexer.Tokenize(string(text))
	if err := r.depth(tokens); err != nil {
		return nil, err
	}
	f, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // which we report in our own words
	if err != nil {
		return nil, r.syntaxError(err)
	}
	for _, doc := range f.Docs {
		switch {
		case doc.Body == nil:
		case body != nil:
			return nil, r.Errorf(doc.Body, "a second document begins here: a file has one %s", r.What)
		default:
			body = doc.Body
		}
	}
	if body == nil {
		return nil, &Error{File: r.File, Problem: "is empty: " + r.Least}
	}
	return body, nil
}

func (r *Reader) characters(text []byte) error {
	line, column := 1, 1
	for i := 0; i < len(text); {
		c, n := utf8.DecodeRune(text[i:])
		switch {
		case c == utf8.RuneError && n == 1:
			return &Error{r.File, line, column, "the text is not UTF-8"}
		case c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f:
			return &Error{r.File, line, column, fmt.Sprintf("control character %U in the text: write \"\\x%02x\"", c,
				c)}
		}
		i += n
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	return nil
}

func (r *Reader) depth(tokens token.Tokens) error {
	brackets, dashes, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			dashes, line = 0, t.Position.Line
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			brackets++
		case token.MappingEndType, token.SequenceEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if max(brackets, dashes) > maxDepth {
			return &Error{r.File, t.Position.Line, t.Position.Column, fmt.Sprintf("nested more than %d deep", maxDepth)}
		}
	}
	return nil
}

// syntaxError puts the parser's error into our form.
func (r *Reader) syntaxError(err error) error {
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) && syntax.Token != nil {
		p := syntax.Token.Position
		return &Error{r.File, p.Line, p.Column, "not YAML: " + syntax.Message}
	}
	return &Error{File: r.File, Problem: fmt.Sprintf("not YAML: %v", err)}
}
