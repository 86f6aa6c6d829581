package suite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Known is what test files are held against besides themselves. What is nil is not checked.
type Known struct {
	Pages    []string // paths that the test network serves
	Measures []string
	Networks []string // profiles
	Dir      fs.FS    // the file's folder, in which its recordings are
}

// Read reads the test file at a path of fsys. Its recordings are looked for beside it. Errors are *Error, or of fsys.
func Read(fsys fs.FS, name string, known Known) (*Test, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // was only read
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if known.Dir, err = fs.Sub(fsys, path.Dir(name)); err != nil {
		return nil, err
	}
	return Parse(name, text, known)
}

// Parse reads a test file's text. The file's name is for messages alone. Errors are *Error.
func Parse(file string, text []byte, known Known) (*Test, error) {
	r := &reader{file: file, known: known}
	body, err := r.syntax(text)
	if err != nil {
		return nil, err
	}
	v := reflect.New(reflect.TypeFor[Test]()).Elem()
	v.Set(blank(v.Type()))
	if err := r.value(v, body, "a test"); err != nil {
		return nil, err
	}
	t := v.Addr().Interface().(*Test)
	t.File, t.Text, t.Dir = file, text, known.Dir
	return t, nil
}

// reader reads one file.
type reader struct {
	file    string
	known   Known
	anchors map[string]ast.Node
	nodes   int // that were read, those behind aliases as often as they are named
	nesting int // of repeat steps
}

func (r *reader) errorf(at ast.Node, format string, args ...any) error {
	p := position(at)
	return &Error{File: r.file, Line: p.Line, Column: p.Column, Problem: fmt.Sprintf(format, args...)}
}

// position returns where a node begins: a mapping's own token is its first colon.
func position(n ast.Node) *token.Position {
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return position(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return position(m.Key)
	}
	return n.GetToken().Position
}

// maxDepth bounds how deep brackets and the dashes of one line nest: the parser's time grows with the square.
const maxDepth = 32

// syntax parses the text into one document.
func (r *reader) syntax(text []byte) (body ast.Node, err error) {
	if len(text) > MaxFile {
		return nil, &Error{File: r.file, Problem: fmt.Sprintf("is larger than %d KiB: no test is", MaxFile>>10)}
	}
	text = []byte(strings.TrimPrefix(string(text), "\ufeff"))
	if err := r.characters(text); err != nil {
		return nil, err
	}
	defer func() { // the parser is somebody else's: a file it stumbles over ends this file's reading, and no more
		if p := recover(); p != nil {
			body, err = nil, &Error{File: r.file, Problem: fmt.Sprintf("cannot be read as YAML: %v", p)}
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
			return nil, r.errorf(doc.Body, "a second document begins here: a file has one test")
		default:
			body = doc.Body
		}
	}
	if body == nil {
		return nil, &Error{File: r.file, Problem: "is empty: a test has at least a name and a page"}
	}
	return body, nil
}

func (r *reader) characters(text []byte) error {
	line, column := 1, 1
	for i := 0; i < len(text); {
		c, n := utf8.DecodeRune(text[i:])
		switch {
		case c == utf8.RuneError && n == 1:
			return &Error{r.file, line, column, "the text is not UTF-8"}
		case c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f:
			return &Error{r.file, line, column, fmt.Sprintf("control character %U in the text: write \"\\x%02x\"", c, c)}
		}
		i += n
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	return nil
}

func (r *reader) depth(tokens token.Tokens) error {
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
			return &Error{r.file, t.Position.Line, t.Position.Column, fmt.Sprintf("nested more than %d deep", maxDepth)}
		}
	}
	return nil
}

// syntaxError puts the parser's error into our form.
func (r *reader) syntaxError(err error) error {
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) && syntax.Token != nil {
		p := syntax.Token.Position
		return &Error{r.file, p.Line, p.Column, "not YAML: " + syntax.Message}
	}
	return &Error{File: r.file, Problem: fmt.Sprintf("not YAML: %v", err)}
}
