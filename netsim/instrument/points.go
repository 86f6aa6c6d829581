package instrument

import (
	"strings"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// maxEntries limits the Points of all policies.
const maxEntries = 200

// pointsOf returns the points of a program in the order of their ends.
func pointsOf(tree *ecma.Tree, policies []policy.Policy, places []place) (all []Point) {
	type entry struct {
		*policy.Points
		policy string
		index  uint8
	}
	var wanted [256][]entry
	count := uint8(0)
	for _, p := range policies {
		for i := range p.Points {
			for _, kind := range p.Points[i].Kinds {
				wanted[kind] = append(wanted[kind], entry{&p.Points[i], p.Name, count})
			}
			count++
		}
	}
	if count == 0 {
		return nil
	}
	var of []naming
	if len(wanted[ecma.FunctionDeclaration]) > 0 {
		of = names(tree)
	}
	function := 0
	for i, n := range tree.Nodes {
		name := ""
		if n.Kind.IsFunction() && of != nil {
			name = of[function].text
			function++
		}
		for _, w := range wanted[n.Kind] {
			if w.At != nil && !at(w.At, tree, n, name, places) || w.Select != nil && !w.Select(tree, i) {
				continue
			}
			p := Point{Start: n.Start, End: n.End, Policy: w.policy, Name: name, node: uint32(i), entry: w.index,
				edit: w.Edit}
			if w.Note != nil {
				p.Note = w.Note(tree, i)
			}
			all = append(all, p)
		}
	}
	return all
}

// place is where a program begins.
type place struct {
	url string
	position
}

// at reports whether a function is wanted at one of the places of its program.
func at(wanted func(name, url string, line, column int) bool, tree *ecma.Tree, n ecma.Node, name string,
	places []place) bool {
	for _, p := range places {
		if at := newWalker(tree.Source, p.position).to(int(n.Start)); wanted(name, p.url, at.line, at.column) {
			return true
		}
	}
	return false
}

// point adds the edits of a point that is not a function's head. It reports whether they are
// possible.
func (e *editor) point(i int, edit policy.Edit, in insert) bool {
	nodes := e.tree.Nodes
	switch edit {
	case policy.Head, policy.Loop:
		return e.loop(i, edit, in)
	case policy.Around:
		if e.wrappable(i) {
			e.around(i, in)
			return true
		}
	case policy.Right:
		if op := e.tree.Operator(i); (op == "+" || op == "+=") && e.isValue(i-1) && e.wrappable(i) {
			e.around(i, in)
			e.inner(i-1, in)
			return true
		}
	case policy.Store:
		left := e.tree.FirstChild(i)
		if nodes[i].Kind != ecma.AssignmentExpression || e.tree.Operator(i) != "=" ||
			nodes[left].Kind != ecma.MemberExpression {
			return false
		}
		if object := e.tree.FirstChild(left); nodes[object].Kind != ecma.Super && e.isValue(object) {
			e.inner(object, in)
			e.around(i-1, in)
			return true
		}
	}
	return false
}

// isValue reports whether an operand means the same as an argument. An invalid a + yield must not
// become valid.
func (e *editor) isValue(i int) bool {
	text := e.tree.Text(i)
	return text != "yield" && text != "await"
}

// loop adds the edits of a loop's body, and those before the loop and its labels.
func (e *editor) loop(i int, edit policy.Edit, in insert) bool {
	nodes, body := e.tree.Nodes, i-1
	switch nodes[i].Kind {
	case ecma.DoWhileStatement:
		body = e.tree.FirstChild(i)
	case ecma.ForStatement, ecma.WhileStatement, ecma.ForInStatement, ecma.ForOfStatement:
	default:
		return false
	}
	if edit == policy.Loop {
		outer := i
		for nodes[e.parent(outer)].Kind == ecma.LabeledStatement {
			outer = e.parent(outer)
		}
		// The name let would begin a declaration with the block's braces.
		if before := int(nodes[outer].First) - 1; before >= 0 && e.tree.Text(before) == "let" {
			return false
		}
		e.insert(nodes[outer].Start, outer, in, loop)
		e.insert(nodes[outer].End, outer, in, loopEnd)
	}
	if nodes[body].Kind == ecma.BlockStatement {
		e.insert(nodes[body].Start+1, i, in, loopHead)
	} else {
		e.insert(nodes[body].Start, i, in, loopBlock)
		e.insert(nodes[body].End, i, in, loopBlockEnd)
	}
	return true
}

// around adds the edits round an expression.
func (e *editor) around(i int, in insert) {
	open, end := around, aroundEnd
	if e.tree.Nodes[i].Kind == ecma.SequenceExpression {
		open, end = aroundList, aroundListEnd
	}
	e.insert(e.tree.Nodes[i].Start, i, in, open)
	e.insert(e.tree.Nodes[i].End, i, in, end)
	e.terminate(i)
}

func (e *editor) inner(i int, in insert) {
	e.insert(e.tree.Nodes[i].Start, i, in, inner)
	e.insert(e.tree.Nodes[i].End, i, in, innerEnd)
	e.terminate(i)
}

// terminate ends the statement that an expression ends, if the next line could continue an inserted
// call.
func (e *editor) terminate(i int) {
	if !e.final(i) {
		return
	}
	end := e.tree.Nodes[i].End
	for ; i < len(e.tree.Nodes)-1 && e.tree.Nodes[i].End == end; i = e.parent(i) {
		switch e.tree.Nodes[i].Kind {
		case ecma.ExpressionStatement, ecma.VariableDeclaration, ecma.ThrowStatement, ecma.ReturnStatement,
			ecma.PropertyDefinition, ecma.ExportDefaultDeclaration:
			if n := e.tree.Nodes[i]; n.Flags&ecma.Unterminated != 0 || n.Kind == ecma.ExportDefaultDeclaration {
				e.end(i)
			}
			return
		}
	}
}

// parent returns the parent of a node, and the root for the root.
func (e *editor) parent(i int) int {
	if e.parents == nil {
		nodes := e.tree.Nodes
		e.parents = make([]uint32, len(nodes))
		open := []uint32{uint32(len(nodes) - 1)}
		for n := len(nodes) - 1; n >= 0; n-- {
			for len(open) > 1 && nodes[open[len(open)-1]].First > uint32(n) {
				open = open[:len(open)-1]
			}
			if e.parents[n] = open[len(open)-1]; nodes[n].First < uint32(n) && n < len(nodes)-1 {
				open = append(open, uint32(n))
			}
		}
	}
	return int(e.parents[i])
}

// wrappable reports whether an expression may become the argument of a call. References that their
// places need may not, nor patterns, nor functions that their places name.
func (e *editor) wrappable(i int) bool {
	nodes := e.tree.Nodes
	named := false
	switch nodes[i].Kind {
	case ecma.FunctionExpression, ecma.ArrowFunctionExpression, ecma.ClassExpression:
		named = true
	case ecma.ThisExpression, ecma.ArrayExpression, ecma.ObjectExpression, ecma.UnaryExpression,
		ecma.UpdateExpression, ecma.BinaryExpression, ecma.LogicalExpression, ecma.AssignmentExpression,
		ecma.ConditionalExpression, ecma.CallExpression, ecma.NewExpression, ecma.MemberExpression,
		ecma.ChainExpression, ecma.SequenceExpression, ecma.YieldExpression, ecma.AwaitExpression,
		ecma.TemplateLiteral, ecma.TaggedTemplateExpression, ecma.ImportExpression:
	default:
		return false
	}
	if nodes[i].Kind == ecma.YieldExpression && nodes[i].Flags&ecma.Argument == 0 {
		return false // its insertions of calls are behind it
	}
	reference := nodes[i].Kind == ecma.MemberExpression || nodes[i].Kind == ecma.ChainExpression
	at, p := i, e.parent(i)
	for nodes[p].Kind == ecma.ParenthesizedExpression || nodes[p].Kind == ecma.ChainExpression {
		at, p = p, e.parent(p)
	}
	first := e.tree.FirstChild(p) == at
	switch nodes[p].Kind {
	case ecma.CallExpression:
		return !(first && reference) && e.keepsChain(i)
	case ecma.TaggedTemplateExpression:
		return first && !reference && e.keepsChain(i)
	case ecma.NewExpression, ecma.MemberExpression:
		return e.keepsChain(i)
	case ecma.UnaryExpression:
		return !reference || !strings.HasPrefix(e.tree.Text(p), "delete")
	case ecma.UpdateExpression, ecma.ArrayPattern, ecma.ObjectPattern, ecma.RestElement, ecma.Params,
		ecma.MethodDefinition, ecma.CatchClause:
		return nodes[p].Kind == ecma.MethodDefinition && first && !named
	case ecma.ForInStatement, ecma.ForOfStatement:
		return !first
	case ecma.AssignmentExpression, ecma.AssignmentPattern, ecma.VariableDeclarator:
		return !first && !named
	case ecma.Property:
		return !named && (first || nodes[e.parent(p)].Kind != ecma.ObjectPattern)
	case ecma.PropertyDefinition, ecma.ExportDefaultDeclaration:
		return !named
	}
	return true
}

// keepsChain reports whether a node may be wrapped at the begin of members and calls. It may not be
// a part of the callee of new, nor skip the rest of its chain.
func (e *editor) keepsChain(i int) bool {
	nodes := e.tree.Nodes
	isChain := func(k ecma.Kind) bool {
		return k == ecma.MemberExpression || k == ecma.CallExpression || k == ecma.TaggedTemplateExpression
	}
	at, p := i, e.parent(i)
	for ; isChain(nodes[p].Kind) && e.tree.FirstChild(p) == at; at, p = p, e.parent(p) {
	}
	switch {
	case nodes[p].Kind == ecma.NewExpression:
		return e.tree.FirstChild(p) != at
	case nodes[p].Kind != ecma.ChainExpression || at == i:
		return true
	}
	for at := i; isChain(nodes[at].Kind); {
		object := e.tree.FirstChild(at)
		if strings.Contains(e.tree.Source[nodes[object].End:nodes[at].End], "?.") {
			return false
		}
		at = object
	}
	return true
}
