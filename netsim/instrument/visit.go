package instrument

import (
	"slices"
	"strings"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// editor collects the edits of one program.
type editor struct {
	tree      *ecma.Tree
	plan      Plan
	forms     []form
	gates     shape  // the first form of gates
	outside   shape  // the first form of code outside functions; 0: it is not measured
	mark      string // encloses each insertion
	edits     []edit
	size      int // an upper bound of the bytes of all edits
	functions []Function
	points    []Point
	parents   []uint32        // of nodes; nil: not needed so far
	ended     map[uint32]bool // statements that got a semicolon
	own       map[string]bool // last names of functions; nil: not needed so far
	natives   int             // calls in slow functions
}

// insert is a set of forms at a node.
type insert struct {
	base  shape // of its forms
	order uint8
	id    uint32
}

// ofCalls is the order of a function's own calls. A replacement is outside of them.
const ofCalls = 1

// has reports whether a shape has a text.
func (e *editor) has(in insert, s shape) bool { return e.forms[in.base+s].size() > 0 }

// scope is the code from first on, up to the next outer scope.
type scope struct {
	first   uint32
	frame   bool     // the variable d exists
	returns []insert // of statements
	in      insert   // has the forms of d
	enter   int      // of the edits: where d is declared; -1: nowhere
	leave   int      // of the edits: at the end of the block; 0: none
}

// visit adds the edits of all nodes. It walks backwards, so a function precedes its contents.
func (e *editor) visit() {
	nodes := e.tree.Nodes
	begin, semicolon := e.head()
	if e.plan.Shape == only && len(e.points) == 0 {
		return
	}
	e.list()
	id := e.plan.First + uint32(len(e.functions))
	scopes := []scope{{enter: -1}}
	if e.outside > 0 && len(nodes) > 1 {
		scopes[0] = e.program(begin, semicolon, id)
	}
	point := len(e.points) - 1 // the last one that is not behind the node
	for i := len(nodes) - 1; i >= 0; i-- {
		n := nodes[i]
		for n := len(scopes); n > 1 && uint32(i) < scopes[n-1].first; n = len(scopes) {
			scopes = scopes[:n-1]
		}
		isFunction := n.Kind.IsFunction()
		if isFunction && e.isAsm(i) {
			for id--; i > int(n.First); i-- {
				if nodes[i-1].Kind.IsFunction() {
					id--
				}
			}
			for ; point >= 0 && e.points[point].node >= n.First; point-- {
				e.points[point].Off = true
			}
			continue
		}
		var here []insert // of the function, in order
		if isFunction {
			id--
			if gate := e.gateOf(i); e.plan.Shape != only && gate != Unmeasured {
				here = append(here, insert{e.baseOf(gate), ofCalls, id})
			}
		}
		last := point
		for point >= 0 && e.points[point].node == uint32(i) {
			point--
		}
		for k := point + 1; k <= last; k++ {
			p := &e.points[k]
			in := insert{(shape(p.entry) + 1) * shapes, p.entry + 2, e.plan.FirstPoint + uint32(k)}
			switch {
			case p.Off:
			case isFunction && p.edit == policy.Replace:
				// It is outermost, so that other policies do not see calls that the replacement takes.
				if p.Off = len(here) > 0 && here[0].order == 0; !p.Off {
					in.order = 0
					here = append([]insert{in}, here...)
				}
			case isFunction && e.has(in, enter):
				here = append(here, in)
			default:
				p.Off = !e.point(i, p.edit, in)
			}
		}
		if isFunction {
			edits := len(e.edits)
			frame, returns := e.function(i, here)
			// Parameters are outside the block in which d is declared.
			inner := scope{nodes[i-1].First, frame, returns, callsOf(here), -1, 0}
			for k := edits; k < len(e.edits) && frame; k++ {
				switch form := e.edits[k].form; {
				case e.edits[k].order != ofCalls:
				case form == uint16(inner.in.base+enter):
					inner.enter = k
				case form == uint16(inner.in.base+leave):
					inner.leave = k
				}
			}
			scopes = append(scopes, scope{first: n.First, enter: -1}, inner)
			continue
		}
		if n.Kind == ecma.CallExpression && e.plan.Page {
			e.evaluates(i)
		}
		inner := &scopes[len(scopes)-1]
		if e.gates > 0 && inner.in.base == e.gates && (n.Kind == ecma.CallExpression || n.Kind == ecma.NewExpression) {
			e.native(i, inner.in.id)
		}
		if n.Kind == ecma.ReturnStatement && len(inner.returns) > 0 {
			e.returns(i, inner.returns)
		} else if inner.frame {
			kept := inner.in.base + enterKept
			if n.Kind == ecma.TryStatement && inner.enter >= 0 && e.has(inner.in, enterKept) {
				e.size += e.forms[kept].size()
				e.edits[inner.enter].form, inner.enter = uint16(kept), -1
				if inner.leave > 0 {
					e.size += e.forms[inner.in.base+leaveKept].size()
					e.edits[inner.leave].form = uint16(inner.in.base + leaveKept)
				}
			}
			e.inside(i, inner.in)
		}
	}
}

// gateOf returns the gate of a function.
func (e *editor) gateOf(i int) Gate {
	if e.plan.Gate == nil || e.plan.Shape != Time {
		return Measured
	}
	gate := e.plan.Gate(e.tree.Nodes[i].Start)
	if gate.closes() && e.isBrief(i) {
		return Unmeasured
	}
	if n := e.tree.Nodes[i]; gate.closes() && n.Flags&ecma.Expression != 0 && e.isNamed(i-1) {
		gate += passing
	}
	return gate
}

// isNamed reports whether an assignment gives a value a name.
func (e *editor) isNamed(value int) bool {
	for e.tree.Nodes[value].Kind == ecma.ParenthesizedExpression {
		value--
	}
	k := e.tree.Nodes[value].Kind
	return k.IsFunction() || k == ecma.ClassExpression
}

// baseOf returns the first form of a gate.
func (e *editor) baseOf(gate Gate) shape {
	if gate == Measured {
		return 0
	}
	return e.gates + shape(gate-1)*shapes
}

// callsOf returns the insertions of a function's own calls.
func callsOf(all []insert) insert {
	for _, in := range all {
		if in.order == ofCalls {
			return in
		}
	}
	return insert{}
}

// evals are the beginnings of calls of the global eval. A runtime cannot replace that function,
// because a call of another one is not a direct eval.
var evals = []string{"eval", "(", "window.eval", "self.eval", "globalThis.eval"}

// evaluates adds the edits of a call of eval. Other names of that function are not found.
func (e *editor) evaluates(i int) {
	src := e.tree.Source[e.tree.Nodes[i].Start:]
	if !slices.ContainsFunc(evals, func(begin string) bool { return strings.HasPrefix(src, begin) }) {
		return
	}
	callee, text := -1, -1
	for child := range e.tree.Children(i) {
		text, callee = callee, child
	}
	if text < 0 || e.tree.Nodes[text].Kind == ecma.SpreadElement {
		return
	}
	for e.tree.Nodes[callee].Kind == ecma.ParenthesizedExpression || e.tree.Nodes[callee].Kind ==
		ecma.SequenceExpression {
		callee--
	}
	switch name := e.tree.Text(callee); {
	case e.tree.Nodes[callee].Kind != ecma.Identifier && e.tree.Nodes[callee].Kind != ecma.MemberExpression:
	case slices.Contains(evals, name):
		e.add(e.tree.Nodes[text].Start, i, given)
		e.add(e.tree.Nodes[text].End, i, givenEnd)
	}
}

// head adds the plan's head. An empty program has none. It returns the place behind the head, and
// whether a semicolon is needed there.
func (e *editor) head() (at uint32, semicolon bool) {
	root := len(e.tree.Nodes) - 1
	first := e.tree.FirstChild(root)
	if first < 0 {
		return 0, false
	}
	at = e.tree.Nodes[first].Start
	for s := 1; s < root && e.tree.Nodes[s].Flags&ecma.Directive != 0; s += 2 {
		at, semicolon = e.tree.Nodes[s].End, e.tree.Nodes[s].Flags&ecma.Unterminated != 0
	}
	if e.plan.Head != "" {
		e.add(at, root, head).semicolon = semicolon
		return at, false
	}
	return at, semicolon
}

// program adds the edits of the begin and the end of a program that is not empty. It lists the
// program as a function with a number.
func (e *editor) program(begin uint32, semicolon bool, id uint32) scope {
	root, in := len(e.tree.Nodes)-1, insert{e.outside, ofCalls, id}
	e.functions = append(e.functions, Function{End: uint32(len(e.tree.Source)), Outside: true})
	e.insert(begin, root, in, enter).semicolon = semicolon
	e.insert(e.tree.Nodes[root-1].End, root, in, leave) // a comment may be the last line
	return scope{frame: true, in: in, enter: -1}
}

// list lists the functions and makes room for the edits, so that they are not copied.
func (e *editor) list() {
	functions, edits := 0, 0
	for _, n := range e.tree.Nodes {
		if n.Kind.IsFunction() {
			functions++
		} else if e.plan.Shape == Time {
			edits += maxEdits[n.Kind]
		}
	}
	e.edits = append(make([]edit, 0, len(e.edits)+edits+2*functions), e.edits...)
	e.functions = make([]Function, 0, functions+1)
	for _, n := range e.tree.Nodes {
		if n.Kind.IsFunction() {
			f := Function{Start: n.Start, End: n.End, Generator: n.Flags&ecma.Generator != 0}
			e.functions = append(e.functions, f)
		}
	}
}

// maxEdits has the largest number of edits of a node inside a function. Statements with terminate
// are rare.
var maxEdits = [256]int{
	ecma.ReturnStatement: 2, ecma.CatchClause: 1, ecma.TryStatement: 2, ecma.AwaitExpression: 3,
	ecma.YieldExpression: 3,
}

// add adds an edit of a node.
func (e *editor) add(at uint32, node int, s shape) *edit {
	e.size += e.forms[s].size() + 23 // with two numbers, or a space or semicolon, and marks
	e.edits = append(e.edits, edit{at: at, node: uint32(node), form: uint16(s)})
	return &e.edits[len(e.edits)-1]
}

// insert adds an edit of a set of forms.
func (e *editor) insert(at uint32, node int, in insert, s shape) *edit {
	ed := e.add(at, node, in.base+s)
	ed.order, ed.id = in.order, in.id
	return ed
}

// function adds the edits of a function's begin and end. It reports whether they declare d for the
// function's calls, and returns those that need the values of return statements.
func (e *editor) function(i int, all []insert) (frame bool, returns []insert) {
	n, body := e.tree.Nodes[i], e.tree.Nodes[i-1]
	at, semicolon := e.afterDirectives(i)
	for k, in := range all {
		timed := in.order == ofCalls && e.plan.Shape == Time
		if e.forms[in.base+enter].parameters {
			e.size += int(body.First) - int(n.First) + int(body.Start-n.Start)
		}
		if n.Flags&ecma.Expression != 0 {
			open, end := arrow, arrowEnd
			// A block has the variable d for await, and the next line cannot continue it.
			if k == 0 && (n.Flags&ecma.Suspends != 0 && timed || !e.has(in, arrow) || e.final(i-1) ||
				e.needsBlock(in)) {
				open, end = arrowBlock, arrowBlockEnd
				frame = timed
			}
			e.insert(body.Start, i, in, open)
			e.insert(body.End, i, in, end)
			continue
		}
		e.insert(at, i, in, enter).semicolon = semicolon
		if frame = frame || timed; !e.has(in, leave) {
			continue
		}
		returns = append(returns, in)
		if !e.leaves(i - 1) {
			e.insert(e.endOf(i), i, in, leave)
		}
	}
	return frame, returns
}

// endOf returns the end of a function's block, before its brace.
func (e *editor) endOf(i int) uint32 {
	body := e.tree.Nodes[i-1]
	switch {
	case !e.plan.body || i != len(e.tree.Nodes)-2:
		return body.End - 1
	case int(body.First) < i-1: // a comment may be the last line
		return e.tree.Nodes[i-2].End
	}
	return body.Start + 1
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

// inside adds the edits of a node in a function or program that has a frame.
func (e *editor) inside(i int, in insert) {
	n := e.tree.Nodes[i]
	switch n.Kind {
	case ecma.ExpressionStatement, ecma.VariableDeclaration, ecma.ThrowStatement:
		if n.Flags&ecma.Unterminated != 0 && e.final(i) {
			e.end(i)
		}
	case ecma.ExportDefaultDeclaration:
		if e.final(i) {
			e.end(i)
		}
	case ecma.CatchClause:
		e.insert(e.tree.Nodes[i-1].Start+1, i, in, caught)
	case ecma.TryStatement:
		if n.Flags&ecma.Finally == 0 {
			return
		}
		block := e.tree.Nodes[i-1]
		e.insert(block.Start+1, i, in, finally)
		if !e.leaves(i-1) && e.has(in, finallyEnd) {
			e.insert(block.End-1, i, in, finallyEnd)
		}
	case ecma.AwaitExpression, ecma.YieldExpression:
		e.insert(n.Start, i, in, resume)
		if n.Kind == ecma.YieldExpression && n.Flags&ecma.Argument == 0 {
			e.insert(n.End, i, in, suspendNothing)
			return
		}
		e.insert(e.tree.Nodes[i-1].Start, i, in, suspend)
		e.insert(n.End, i, in, suspendEnd)
	}
}

// end adds the semicolon of a statement, once.
func (e *editor) end(i int) {
	if !e.ended[uint32(i)] {
		e.add(e.tree.Nodes[i].End, i, terminate)
		e.ended[uint32(i)] = true
	}
}

// returns adds the edits of a return statement, from the outermost one on.
func (e *editor) returns(i int, all []insert) {
	n := e.tree.Nodes[i]
	// An empty statement more would separate if and else.
	semicolon := n.Flags&ecma.Unterminated != 0
	if n.Flags&ecma.Argument == 0 {
		for k, in := range all {
			s := giveAlso
			if k == len(all)-1 {
				s = giveNothing
			}
			e.insert(n.Start+uint32(len("return")), i, in, s).semicolon = semicolon && k == 0
		}
		return
	}
	value := e.tree.Nodes[i-1]
	open, end := give, giveEnd
	if value.Kind == ecma.SequenceExpression {
		open, end = giveList, giveListEnd
	}
	for k, in := range all {
		if e.needsBlock(in) && e.isNamed(i-1) { // R does not name it
			in.base += shape(passing) * shapes
		}
		e.insert(value.Start, i, in, open)
		if e.insert(value.End, i, in, end).semicolon = k == 0 && semicolon && e.final(i-1); k == 0 {
			e.ended[uint32(i)] = true
		}
	}
}

// needsBlock reports whether an insertion keeps the function's value in a variable.
func (e *editor) needsBlock(in insert) bool {
	return in.order == ofCalls && e.gates > 0 && (in.base == e.baseOf(Undecided) || in.base == e.baseOf(Fast))
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
