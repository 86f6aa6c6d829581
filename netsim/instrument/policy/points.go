package policy

import (
	"slices"

	"github.com/eideticker/eideticker/netsim/ecma"
)

// Points are nodes that get insertions of one shape.
type Points struct {
	Kinds []ecma.Kind
	// Select reports whether a node of these kinds is a point; nil: each is. It must not keep t.
	Select func(t *ecma.Tree, node int) bool
	Edit   Edit
	// Call is the name of the runtime's function: 2 to 12 letters. Pages see it with the nonce.
	Call string
	// Note returns a remark for the report; nil: none.
	Note func(t *ecma.Tree, node int) string
	// At selects functions by their places; nil: all. Equal texts count as one.
	At func(name, url string, line, column int) bool
	// This is set if Frame passes the object of a function before its parameters.
	This bool
	// Text is the function expression of Replace, in one line.
	Text string
}

// Edit is the shape of insertions. N is the function Call, N1 is Call with the digit 1, and 7 is
// the number of the point. Each function returns its second argument.
type Edit uint8

// The shapes. Nodes at which an insertion would change the program get none.
const (
	// Head inserts N(7) at the head of a function's or a loop's body.
	Head Edit = 1 + iota
	// Loop does the same for loops, and inserts N1(7) before the loop.
	Loop
	// Around inserts N(7, x) round an expression x.
	Around
	// Right inserts N(7, a + N1(7, b)) round an operation a + b or a += b.
	Right
	// Store changes o.p = v to N1(7, o).p = N(7, v).
	Store
	// Frame inserts f = N(7, [a, b]) at the head of a function with the parameters a and b. It
	// inserts N1(f, x) for each x that the function returns. Other parameters than names are left out.
	Frame
	// Replace also inserts if(N2(f))return N1(f,N3(f, g, this, arguments)) behind it. Here g is Text.
	Replace
)

// Calls returns the names of the functions that a policy's insertions call.
func (p *Policy) Calls() (all []string) {
	for _, at := range p.Points {
		names := []string{at.Call, at.Call + "1", at.Call + "2", at.Call + "3"}
		switch at.Edit {
		case Head, Around:
			names = names[:1]
		case Replace:
		default:
			names = names[:2]
		}
		for _, name := range names {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// filter returns the policy with the points that keep selects.
func filter(p Policy, keep func(t *ecma.Tree, node int) bool) Policy {
	all := make([]Points, len(p.Points))
	for i, one := range p.Points {
		before := one.Select
		one.Select = func(t *ecma.Tree, node int) bool {
			return (before == nil || before(t, node)) && keep(t, node)
		}
		all[i] = one
	}
	p.Points = all
	return p
}
