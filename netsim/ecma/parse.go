package ecma

import (
	"strings"
	"unicode/utf8"
)

const (
	MaxSource = 64 << 20 // bytes of the longest program
	maxDepth  = 10_000
)

// Goal is the kind of program that a text is parsed as.
type Goal uint8

const (
	Script Goal = iota
	Module      // import, export, await outside functions; no HTML-like comments
)

// Parse parses a program. The error is an [*Error].
func Parse(src string, goal Goal) (tree *Tree, err error) {
	if len(src) > MaxSource {
		return nil, newError("", 0, "the program is longer than 64 MiB")
	}
	if !utf8.ValidString(src) {
		return nil, newError(src, invalidUTF8(src), "invalid UTF-8")
	}
	defer func() {
		switch failed := recover().(type) {
		case nil:
		case *Error:
			tree, err = nil, failed
		default:
			panic(failed)
		}
	}()
	p := &parser{lexer: lexer{src: src, module: goal == Module, newline: true}}
	p.context = context{async: p.module, in: true}
	p.program()
	return &Tree{src, p.nodes}, nil
}

func invalidUTF8(src string) int {
	for i, r := range src {
		if r == utf8.RuneError && !strings.HasPrefix(src[i:], string(utf8.RuneError)) {
			return i
		}
	}
	return len(src)
}

// parser is a recursive-descent parser. Each method parses one construct of the grammar and appends
// its nodes. A construct may turn out to be another one, as (a, b) before an arrow. Its nodes are
// then renamed.
type parser struct {
	lexer
	context
	nodes []Node
	open  []mark // of chains that are parsed in a loop
	depth int
}

// context is the state that a function saves for the code around it.
type context struct {
	async     bool // await is an operator
	generator bool // yield is an operator
	in        bool // in is an operator; not in the head of a for statement
	suspends  bool // await or yield was used
}

// mark is the place where a construct begins: in the source and among the nodes.
type mark struct{ start, first uint32 }

func (p *parser) mark() mark { return mark{uint32(p.start), uint32(len(p.nodes))} }

// finish appends the node of a construct that ends with the token before the current one.
func (p *parser) finish(m mark, kind Kind, flags Flags) {
	p.append(Node{m.start, uint32(p.prevEnd), m.first, kind, flags})
}

// finishOpen appends the nodes of a chain, the innermost first.
func (p *parser) finishOpen(outermost int, kind Kind) {
	for i := len(p.open) - 1; i >= outermost; i-- {
		p.finish(p.open[i], kind, 0)
	}
	p.open = p.open[:outermost]
}

func (p *parser) append(n Node) {
	if len(p.nodes) == cap(p.nodes) {
		p.grow()
	}
	p.nodes = append(p.nodes, n)
}

// grow extends the slice to the size expected from the text so far, so that it is copied rarely.
func (p *parser) grow() {
	size := len(p.src)/8 + 16
	if p.pos > 0 && len(p.nodes) > 0 {
		size = max(int(float64(len(p.nodes))*1.05*float64(len(p.src))/float64(p.pos)), len(p.nodes)*3/2) + 16
	}
	p.nodes = append(make([]Node, 0, size), p.nodes...)
}

// leaf appends a node of the current token and reads the next one.
func (p *parser) leaf(kind Kind) {
	m := p.mark()
	p.next()
	p.finish(m, kind, 0)
}

// enter counts a level of nesting. The parser's own stack has a limit.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.start, "the program is nested too deeply")
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) unexpected() {
	reason := "unexpected end"
	if p.tok != tEOF {
		// A quoted token is short.
		text := []rune(p.src[p.start:min(p.pos, p.start+100)])
		reason = "unexpected " + string(text[:min(len(text), 20)])
	}
	p.fail(p.start, reason)
}

// accept skips the current token if it is t.
func (p *parser) accept(t token) bool {
	if p.tok != t {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(t token) {
	if !p.accept(t) {
		p.unexpected()
	}
}

// semicolon ends a statement. It returns Unterminated if a semicolon is missing and not needed.
func (p *parser) semicolon() Flags {
	if p.accept(tSemicolon) {
		return 0
	}
	if p.tok != tRBrace && p.tok != tEOF && !p.newline {
		p.unexpected()
	}
	return Unterminated
}

// peek returns the token after the current one, and whether both are on one line.
func (p *parser) peek() (t token, sameLine bool) {
	ahead := p.lexer
	ahead.next()
	return ahead.tok, !ahead.newline
}

// peekTwo returns the two tokens after the current one. All three must be on one line, except the
// last.
func (p *parser) peekTwo() (first, second token) {
	ahead := p.lexer
	if ahead.next(); ahead.newline {
		return tEOF, tEOF
	}
	first = ahead.tok
	if first.isWord() {
		ahead.next()
		return first, ahead.tok
	}
	return first, tEOF
}

func (p *parser) program() {
	if strings.HasPrefix(p.src, "\uFEFF") {
		p.pos = len("\uFEFF")
	}
	if strings.HasPrefix(p.src[p.pos:], "#!") {
		p.skipLine()
	}
	p.scan()
	p.directives()
	for p.tok != tEOF {
		p.statement(true)
	}
	p.append(Node{Start: 0, End: uint32(len(p.src)), First: 0, Kind: Program})
}

// directives parses the directives at the start of a body.
func (p *parser) directives() {
	for p.tok == tString {
		m := p.mark()
		p.statement(true)
		// A directive consists of one string.
		if len(p.nodes) != int(m.first)+2 || p.nodes[m.first].Kind != Literal {
			return
		}
		p.nodes[m.first+1].Flags |= Directive
	}
}
