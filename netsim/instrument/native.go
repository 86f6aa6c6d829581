package instrument

import (
	"slices"
	"strings"

	"github.com/eideticker/eideticker/netsim/ecma"
)

// Limits of the calls that are measured in slow functions.
const (
	maxNatives   = 2000 // of a program
	maxArguments = 500  // nodes of a call, without its functions
	maxParts     = 8    // of a callee's name
)

// countNatives returns the number of calls in slow functions that may get numbers.
func countNatives(t *ecma.Tree, gate func(start uint32) Gate) (calls int) {
	if gate == nil {
		return 0
	}
	slow := false
	for _, n := range t.Nodes {
		slow = slow || n.Kind.IsFunction() && gate(n.Start) == Slow
		if n.Kind == ecma.CallExpression || n.Kind == ecma.NewExpression {
			calls++
		}
	}
	if !slow {
		return 0
	}
	return min(calls, maxNatives)
}

// native adds the edits round a call in a slow function, and lists it. Calls of the program's own
// functions are measured already.
func (e *editor) native(i int, caller uint32) {
	name, last := e.callee(i)
	if e.own == nil {
		e.own = map[string]bool{"eval": true, "super": true}
		for _, of := range names(e.tree) {
			e.own[of.text[strings.LastIndexAny(of.text, ".#")+1:]] = true
		}
	}
	if e.natives == maxNatives || e.own[strings.TrimPrefix(last, "#")] || e.suspendsIn(i) || !e.wrappable(i) {
		return
	}
	for p := e.parent(i); !e.tree.Nodes[p].Kind.IsFunction(); p = e.parent(p) {
		if e.tree.Nodes[p].Kind == ecma.PropertyDefinition { // it runs when its class is constructed
			return
		}
	}
	e.natives++
	n, id := e.tree.Nodes[i], e.plan.First+uint32(len(e.functions))
	e.functions = append(e.functions, Function{Start: n.Start, End: n.End, Caller: caller, Name: name})
	e.around(i, insert{e.gates, ofCalls, id})
}

// callee returns the name of what a call or new calls, such as JSON.parse(), and its last part. A
// name has no code but identifiers.
func (e *editor) callee(i int) (name, last string) {
	const other = "(call)"
	nodes, at := e.tree.Nodes, e.tree.FirstChild(i)
	var parts []string
	for at >= 0 {
		next, part := -1, other
		switch n := nodes[at]; n.Kind {
		case ecma.ParenthesizedExpression, ecma.ChainExpression:
			at--
			continue
		case ecma.Identifier, ecma.ThisExpression, ecma.Super:
			part = e.tree.Text(at)
		case ecma.MemberExpression:
			if k := nodes[at-1].Kind; nodes[at-1].End == n.End && len(parts) < maxParts &&
				(k == ecma.Identifier || k == ecma.PrivateIdentifier) {
				next, part = e.tree.FirstChild(at), e.tree.Text(at-1)
			}
		}
		parts, at = append(parts, part), next
	}
	last = parts[0]
	slices.Reverse(parts)
	if name = short(strings.Join(parts, ".")); last != other {
		name += "()"
	}
	if nodes[i].Kind == ecma.NewExpression {
		name = "new " + name
	}
	return name, last
}

// suspendsIn reports whether a call is suspended before it begins. Its caller's frame would leave
// the stack below it.
func (e *editor) suspendsIn(i int) bool {
	nodes := e.tree.Nodes
	for k, left := i-1, maxArguments; k >= int(nodes[i].First); k, left = k-1, left-1 {
		switch n := nodes[k]; {
		case n.Kind.IsFunction():
			k = int(n.First)
		case n.Kind == ecma.AwaitExpression, n.Kind == ecma.YieldExpression, left == 0:
			return true
		}
	}
	return false
}
