package instrument

import (
	"strings"

	"github.com/eideticker/eideticker/netsim/ecma"
)

// maxBriefNodes is the largest number of nodes of a brief function.
const maxBriefNodes = 64

// isBrief reports whether a function cannot last for milliseconds: it has no loop and no call. It
// reads and writes no property with which browsers work. Its getters count for its caller.
func (e *editor) isBrief(i int) bool {
	const suspends = ecma.Async | ecma.Generator | ecma.Suspends
	nodes := e.tree.Nodes
	if nodes[i].Flags&suspends != 0 {
		return false
	}
	for k, left := i-1, maxBriefNodes; k >= int(nodes[i].First); k, left = k-1, left-1 {
		switch n := nodes[k]; n.Kind {
		case ecma.FunctionDeclaration, ecma.FunctionExpression, ecma.ArrowFunctionExpression:
			k = int(n.First)
		case ecma.MemberExpression:
			if property := nodes[k-1]; property.End == n.End && costly[e.tree.Text(k-1)] {
				return false
			}
		case ecma.Identifier:
			if name := e.tree.Text(k); strings.HasSuffix(name, "Storage") { // it waits for a disk
				return false
			}
		case ecma.Params, ecma.BlockStatement, ecma.EmptyStatement, ecma.ExpressionStatement, ecma.ReturnStatement,
			ecma.ThrowStatement, ecma.IfStatement, ecma.SwitchStatement, ecma.SwitchCase, ecma.BreakStatement,
			ecma.TemplateLiteral, ecma.ObjectPattern, ecma.VariableDeclaration, ecma.VariableDeclarator, ecma.Literal,
			ecma.ThisExpression, ecma.UnaryExpression, ecma.UpdateExpression, ecma.BinaryExpression,
			ecma.LogicalExpression, ecma.AssignmentExpression, ecma.AssignmentPattern, ecma.ConditionalExpression,
			ecma.ParenthesizedExpression, ecma.ChainExpression, ecma.SequenceExpression, ecma.ArrayExpression,
			ecma.ObjectExpression, ecma.Property:
		default:
			return false
		}
		if left == 0 {
			return false
		}
	}
	return true
}

// costly are properties that make a browser lay out, parse, draw or wait.
var costly = setOf("" +
	"clientHeight clientLeft clientTop clientWidth contentDocument contentWindow cookie cssText height " +
	"innerHeight innerHTML innerText innerWidth layerX layerY nodeValue offsetHeight offsetLeft " +
	"offsetParent offsetTop offsetWidth offsetX offsetY outerHTML outerText response responseText " +
	"scrollHeight scrollLeft scrollTop scrollWidth scrollX scrollY selectionEnd selectionStart srcdoc " +
	"textContent width")

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(words) {
		set[word] = true
	}
	return set
}
