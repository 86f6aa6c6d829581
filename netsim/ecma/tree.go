package ecma

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// Node is one construct of a program.
type Node struct {
	// Start and End are byte offsets in the source. End is exclusive.
	Start, End uint32
	// First is the index of the first node of the subtree; a leaf has its own index.
	First uint32
	Kind  Kind
	Flags Flags
}

// Flags are facts about a node that its kind and children do not show.
type Flags uint8

const (
	Async        Flags = 1 << iota // a function: async
	Generator                      // a function: generator
	Suspends                       // a function: its own code contains await or yield
	Expression                     // an arrow function: its last child is an expression, not a block
	Finally                        // TryStatement: its last child is the finally block
	Directive                      // ExpressionStatement: a directive such as "use strict"
	Argument                       // ReturnStatement, YieldExpression: has an argument
	Unterminated                   // a statement: its semicolon is inserted automatically
)

// Tree is a parsed program.
type Tree struct {
	Source string
	Nodes  []Node // in post-order; the last one is the Program
}

// Text returns the source of a node.
func (t *Tree) Text(n int) string { return t.Source[t.Nodes[n].Start:t.Nodes[n].End] }

// Children iterates over the children of a node, from the last to the first.
func (t *Tree) Children(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		first := int(t.Nodes[n].First)
		for child := n - 1; child >= first; child = int(t.Nodes[child].First) - 1 {
			if !yield(child) {
				return
			}
		}
	}
}

// FirstChild returns the first child of a node; -1: it has none.
func (t *Tree) FirstChild(n int) int {
	first := -1
	for child := range t.Children(n) {
		first = child
	}
	return first
}

// Operator returns the operator of an operation with two operands, such as + and +=.
func (t *Tree) Operator(n int) string {
	if n == 0 || int(t.Nodes[n].First) == n {
		return ""
	}
	left := int(t.Nodes[n-1].First) - 1
	if left < int(t.Nodes[n].First) {
		return ""
	}
	text := t.Source[t.Nodes[left].End:t.Nodes[n-1].Start]
	space := func(r rune) bool { return r <= ' ' || r >= 0x80 }
	for {
		text = strings.TrimLeftFunc(text, space)
		end := "\n"
		switch {
		case strings.HasPrefix(text, "/*"):
			end = "*/"
		case strings.HasPrefix(text, "//"), strings.HasPrefix(text, "<!--"), strings.HasPrefix(text, "-->"):
			// Lines end with other characters too.
			text = strings.NewReplacer("\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(text)
		default:
			text, _, _ = strings.Cut(text, "/*")
			if i := strings.Index(text, "//"); i > 0 {
				text = text[:i]
			}
			if i := strings.IndexFunc(text, space); i >= 0 {
				text = text[:i]
			}
			return text
		}
		_, text, _ = strings.Cut(text, end)
	}
}

var namers = []Kind{VariableDeclarator, MethodDefinition, Property}

// FunctionName returns the name of a function, or that of the variable or method that it is.
func (t *Tree) FunctionName(n int) string {
	if first := t.FirstChild(n); first >= 0 && t.Nodes[first].Kind == Identifier &&
		t.Nodes[n].Kind != ArrowFunctionExpression {
		return t.Text(first)
	}
	if n+1 < len(t.Nodes) && slices.Contains(namers, t.Nodes[n+1].Kind) {
		if first := t.FirstChild(n + 1); t.Nodes[first].Kind == Identifier && first < int(t.Nodes[n].First) {
			return t.Text(first)
		}
	}
	return ""
}

// IsFunction reports whether the node is a function of any kind. Its last child is its body.
func (k Kind) IsFunction() bool {
	return k == FunctionDeclaration || k == FunctionExpression || k == ArrowFunctionExpression
}

// Error is the first place at which a text is not a program.
type Error struct {
	Offset int // in bytes
	// Line and Column count from 1. A column is a UTF-16 code unit, as in browsers.
	Line, Column int
	Reason       string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Reason) }

// newError computes line and column. All four line terminators of ECMAScript count.
func newError(src string, offset int, reason string) *Error {
	e := &Error{Offset: offset, Line: 1, Column: 1, Reason: reason}
	for i, r := range src[:offset] {
		switch {
		case r == '\r' && strings.HasPrefix(src[i+1:], "\n"): // the \n counts
		case r == '\n', r == '\r', r == lineSeparator, r == paragraphSeparator:
			e.Line, e.Column = e.Line+1, 1
		case r > 0xFFFF:
			e.Column += 2
		case r != utf8.RuneError || !strings.HasPrefix(src[i:], "\xEF\xBB\xBF"):
			e.Column++
		}
	}
	return e
}
