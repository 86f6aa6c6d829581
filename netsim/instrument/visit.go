package instrument

import (
	"strings"

	"github.com/eideticker/eideticker/netsim/ecma"
)

// editor collects the edits of one program.
type editor struct {
	tree      *ecma.Tree
	plan      Plan
	texts     [shapes]string
	edits     []edit
	size      int // an upper bound of the bytes of all edits
	functions []Function
}

// scope is the code from first on, up to the next outer scope.
type scope struct {
	first uint32
	frame bool // the variable d exists
}

// visit adds the edits of all nodes. It walks backwards, so a function precedes its contents.
func (e *editor) visit() {
	nodes := e.tree.Nodes
	e.head()
	if e.plan.Shape == only {
		return
	}
	e.list()
	id := e.plan.First + uint32(len(e.functions))
	scopes := []scope{{}}
	for i := len(nodes) - 1; i >= 0; i-- {
		n := nodes[i]
		for n := len(scopes); n > 1 && uint32(i) < scopes[n-1].first; n = len(scopes) {
			scopes = scopes[:n-1]
		}
		if n.Kind.IsFunction() {
			id--
			if e.isAsm(i) {
				for ; i > int(n.First); i-- {
					if nodes[i-1].Kind.IsFunction() {
						id--
					}
				}
				continue
			}
			frame := e.function(i, id)
			// Parameters are outside the block in which d is declared.
			scopes = append(scopes, scope{n.First, false}, scope{nodes[i-1].First, frame})
		} else if scopes[len(scopes)-1].frame {
			e.inside(i)
		}
	}
}

// head adds the plan's head. An empty program has none.
func (e *editor) head() {
	root, first := len(e.tree.Nodes)-1, -1
	for i := range e.tree.Children(root) {
		first = i
	}
	if e.plan.Head == "" || first < 0 {
		return
	}
	at, semicolon := e.tree.Nodes[first].Start, false
	for s := 1; s < root && e.tree.Nodes[s].Flags&ecma.Directive != 0; s += 2 {
		at, semicolon = e.tree.Nodes[s].End, e.tree.Nodes[s].Flags&ecma.Unterminated != 0
	}
	e.add(at, root, head).semicolon = semicolon
}

// list lists the functions and makes room for the edits, so that they are not copied.
func (e *editor) list() {
	functions, edits := 0, 0
	for _, n := range e.tree.Nodes {
		if n.Kind.IsFunction() {
			functions++
		} else if e.plan.Shape == Time {
			edits += mostEdits[n.Kind]
		}
	}
	e.edits = append(make([]edit, 0, len(e.edits)+edits+2*functions), e.edits...)
	e.functions = make([]Function, 0, functions)
	for _, n := range e.tree.Nodes {
		if n.Kind.IsFunction() {
			e.functions = append(e.functions, Function{n.Start, n.End})
		}
	}
}

// mostEdits has the largest number of edits of a node inside a function. Statements with terminate
// are rare.
var mostEdits = [256]int{
	ecma.ReturnStatement: 2, ecma.CatchClause: 1, ecma.TryStatement: 2, ecma.AwaitExpression: 3,
	ecma.YieldExpression: 3,
}

// add adds an edit of a node.
func (e *editor) add(at uint32, node int, s shape) *edit {
	e.size += len(e.texts[s]) + 11 // with a number, or a space or semicolon
	e.edits = append(e.edits, edit{at: at, node: uint32(node), shape: s})
	return &e.edits[len(e.edits)-1]
}

// function adds the edits of a function's begin and end. It reports whether they declare d.
func (e *editor) function(i int, id uint32) bool {
	n, body := e.tree.Nodes[i], e.tree.Nodes[i-1]
	if n.Flags&ecma.Expression != 0 {
		open, end := arrow, arrowEnd
		// A block has the variable d for await, and the next line cannot continue it.
		if n.Flags&ecma.Suspends != 0 && e.plan.Shape == Time || e.final(i-1) {
			open, end = arrowBlock, arrowBlockEnd
		}
		e.add(body.Start, i, open).id = id
		e.add(body.End, i, end)
		return open == arrowBlock && e.plan.Shape == Time
	}
	at, semicolon := e.afterDirectives(i)
	head := e.add(at, i, enter)
	head.id, head.semicolon = id, semicolon
	if e.plan.Shape == Count {
		return false
	}
	if !e.leaves(i - 1) {
		e.add(body.End-1, i, leave)
	}
	return true
}

// directives iterates over the directives of a function's block.
func (e *editor) directives(i int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		// Each is a literal and its statement, and they are the first nodes of the block.
		for s := int(e.tree.Nodes[i-1].First) + 1; s < i-1 && e.tree.Nodes[s].Flags&ecma.Directive != 0 &&
			e.tree.Nodes[s].Kind == ecma.ExpressionStatement && yield(s); s += 2 {
		}
	}
}

// afterDirectives returns the place of a function's first statement, and whether a semicolon is
// needed there.
func (e *editor) afterDirectives(i int) (at uint32, semicolon bool) {
	at = e.tree.Nodes[i-1].Start + 1
	for s := range e.directives(i) {
		at = e.tree.Nodes[s].End
		semicolon = e.tree.Nodes[s].Flags&ecma.Unterminated != 0
	}
	return at, semicolon
}

// isAsm reports whether a function is a module of asm.js. An insertion would make it slow.
func (e *editor) isAsm(i int) bool {
	for s := range e.directives(i) {
		if strings.Contains(e.tree.Text(s), "use asm") {
			return true
		}
	}
	return false
}

// leaves reports whether the last statement of a block leaves it.
func (e *editor) leaves(block int) bool {
	for last := range e.tree.Children(block) {
		switch e.tree.Nodes[last].Kind {
		case ecma.ReturnStatement, ecma.ThrowStatement:
			return true
		}
		return false
	}
	return false
}

// inside adds the edits of a node in a function that has a frame.
func (e *editor) inside(i int) {
	n := e.tree.Nodes[i]
	switch n.Kind {
	case ecma.ReturnStatement:
		e.returns(i)
	case ecma.ExpressionStatement, ecma.VariableDeclaration, ecma.ThrowStatement:
		if n.Flags&ecma.Unterminated != 0 && e.final(i) {
			e.add(n.End, i, terminate)
		}
	case ecma.CatchClause:
		e.add(e.tree.Nodes[i-1].Start+1, i, caught)
	case ecma.TryStatement:
		if n.Flags&ecma.Finally == 0 {
			return
		}
		block := e.tree.Nodes[i-1]
		e.add(block.Start+1, i, finally)
		if !e.leaves(i - 1) {
			e.add(block.End-1, i, finallyEnd)
		}
	case ecma.AwaitExpression, ecma.YieldExpression:
		e.add(n.Start, i, resume)
		if n.Kind == ecma.YieldExpression && n.Flags&ecma.Argument == 0 {
			e.add(n.End, i, suspendNothing)
			return
		}
		e.add(e.tree.Nodes[i-1].Start, i, suspend)
		e.add(n.End, i, suspendEnd)
	}
}

func (e *editor) returns(i int) {
	n := e.tree.Nodes[i]
	// An empty statement more would separate if and else.
	semicolon := n.Flags&ecma.Unterminated != 0
	if n.Flags&ecma.Argument == 0 {
		e.add(n.Start+uint32(len("return")), i, giveNothing).semicolon = semicolon
		return
	}
	value := e.tree.Nodes[i-1]
	open, end := give, giveEnd
	if value.Kind == ecma.SequenceExpression {
		open, end = giveList, giveListEnd
	}
	e.add(value.Start, i, open)
	e.add(value.End, i, end).semicolon = semicolon && e.final(i-1)
}

// final reports whether the grammar ends a node after its last token, as in x++ and () => {}. A
// next line that begins with a parenthesis is then a new statement, but would continue an inserted
// call.
func (e *editor) final(i int) bool {
	end := e.tree.Nodes[i].End
	// The code for a final node is valid for any node, so a long search ends with true.
	for limit := i - 50; e.tree.Nodes[i].End == end; i-- {
		switch n := e.tree.Nodes[i]; {
		case i == limit,
			n.Kind == ecma.ArrowFunctionExpression && n.Flags&ecma.Expression == 0,
			n.Kind == ecma.YieldExpression && n.Flags&ecma.Argument == 0,
			n.Kind == ecma.UpdateExpression && e.tree.Nodes[i-1].End < end:
			return true
		case n.First == uint32(i):
			return false
		}
	}
	return false
}
